// What a place on the map stands for: a node, or the rest of several that are too small to be told
// apart.
const LEAST_CELL = 160; // square pixels: what is smaller is shown together

class Places {
  constructor(model) {
    this.model = model;
  }

  // The nodes that a place stands for: one, or several that are too small to be told apart.
  nodes(place) { return place.rest || [place.node]; }

  parts(place) {
    if (place.rest) return place.rest;
    const children = this.model.children(place.node);
    return children.length ? children : [place.node];
  }

  label(place) {
    if (place.rest) return `${place.rest.length.toLocaleString("en-US")} more`;
    return place.node === 0 ? "all" : this.model.label(place.node);
  }

  short(place) { return place.rest ? this.label(place) : this.model.short(place.node); }

  shares(place) {
    const sums = KINDS.map(() => 0);
    for (const node of this.nodes(place)) {
      this.model.shares(node).forEach((share, kind) => { sums[kind] += share; });
    }
    return sums;
  }

  leaves(place) {
    return this.nodes(place).reduce((n, i) => n + this.model.end[i] - this.model.start[i], 0);
  }

  title(place) {
    const shares = this.shares(place);
    const total = shares.reduce((sum, share) => sum + share, 0);
    const path = place.rest ? this.label(place) : this.model.nodePath[place.node];
    const told = shares.map((share, kind) => (share ? `${size(share)} ${kindLabel(kind)}` : ""));
    const many = this.leaves(place);
    const number = many > 1 ? `${leafCount(many)}, ` : "";
    return `${path}: ${number}${size(total)}; ${told.filter(Boolean).join(", ")}`;
  }

  // Cells for some nodes; those too small to be seen are one cell together.
  cut(nodes, x, y, width, height) {
    const sized = nodes.map((node) => ({ node, bytes: this.model.bytes(node) }))
      .filter((each) => each.bytes > 0)
      .sort((a, b) => b.bytes - a.bytes || a.node - b.node);
    const total = sized.reduce((sum, each) => sum + each.bytes, 0);
    const scale = (width * height) / total;
    let shown = sized.findIndex((each) => each.bytes * scale < LEAST_CELL);
    if (shown < 0 || sized.length - shown < 2) shown = sized.length;
    const least = Math.floor((width * height) / (4 * LEAST_CELL));
    if (shown < sized.length) shown = Math.max(shown, Math.min(least, sized.length - 2));
    const values = sized.slice(0, shown).map((each) => each.bytes);
    const places = sized.slice(0, shown).map((each) => ({ node: each.node }));
    if (shown < sized.length) {
      const rest = sized.slice(shown);
      values.push(rest.reduce((sum, each) => sum + each.bytes, 0));
      places.push({ rest: rest.map((each) => each.node) });
    }
    const boxes = squarify(values, x, y, width, height);
    return places.map((place, i) => ({ place, box: boxes[i] })).filter((each) => each.box);
  }
}
