// Draws places into their boxes, a tree of boxes in boxes.
const LEAST_INNER = 900; // square pixels: an inner node that is smaller is shown as its shares
const DEEPEST = 24;
const CHARACTER = 7.3; // pixels

class Painter {
  constructor(places) {
    this.places = places;
    this.model = places.model;
  }

  paint(into, place, box, depth) {
    if (box.width < 0.5 || box.height < 0.5) return;
    const inner = !place.rest && this.model.first[place.node] >= 0;
    const area = box.width * box.height;
    if (!inner || area < LEAST_INNER || depth > DEEPEST || box.width < 12 || box.height < 12) {
      this.fill(into, place, box);
      return;
    }
    into.append(draw("rect", { class: "inner", ...grown(box, -0.5) }));
    const head = box.width > 48 && box.height > 40 ? 18 : 0;
    if (head) this.write(into, this.places.short(place), box, 13, "head");
    const pad = depth > 1 ? 1.5 : 3;
    const parts = this.places.cut(this.model.children(place.node), box.x + pad, box.y + pad + head,
      box.width - 2 * pad, box.height - 2 * pad - head);
    for (const part of parts) this.paint(into, part.place, part.box, depth + 1);
  }

  // A leaf in the colour and the pattern of what became of it; of several leaves their shares.
  fill(into, place, box) {
    const shares = this.places.shares(place);
    const total = shares.reduce((sum, share) => sum + share, 0);
    const wide = box.width >= box.height;
    let offset = 0;
    shares.forEach((share, kind) => {
      if (!share) return;
      const part = share / total;
      const piece = wide
        ? { x: box.x + offset * box.width, y: box.y, width: part * box.width, height: box.height }
        : { x: box.x, y: box.y + offset * box.height, width: box.width, height: part * box.height };
      offset += part;
      const drawn = grown(piece, -0.5);
      into.append(draw("rect", { class: `gate ${KINDS[kind]}`, ...drawn }));
      if (kind) into.append(draw("rect", { class: `hatch ${KINDS[kind]}`, ...drawn }));
    });
    const kind = shares.findIndex((share) => share > 0);
    const one = shares.filter((share) => share > 0).length === 1;
    const lines = [this.places.short(place), size(total), one && kind ? `${mark(kind)} ${KIND_NAMES[KINDS[kind]]}` : ""];
    const backed = !one || isLost(kind);
    lines.filter(Boolean).slice(0, Math.floor((box.height - 4) / 15)).forEach((text, i) =>
      this.write(into, text, box, 14 + 15 * i, i ? "bytes" : "leaf", backed));
  }

  // A line of text as far as there is room; on a pattern it gets a ground of its own.
  write(into, text, box, down, name, backed) {
    const room = Math.floor((box.width - 10) / CHARACTER);
    if (room < 3) return;
    const shown = text.length > room ? `${text.slice(0, room - 1)}\u2026` : text;
    const ground = { x: box.x + 3, y: box.y + down - 11, width: shown.length * CHARACTER + 5, height: 15 };
    if (backed) into.append(draw("rect", { class: "ground", ...ground }));
    into.append(draw("text", { class: name, x: box.x + 5, y: box.y + down, text: shown }));
  }
}

function grown(box, by) {
  return {
    x: (box.x - by).toFixed(2), y: (box.y - by).toFixed(2),
    width: Math.max(box.width + 2 * by, 0.2).toFixed(2),
    height: Math.max(box.height + 2 * by, 0.2).toFixed(2),
  };
}
