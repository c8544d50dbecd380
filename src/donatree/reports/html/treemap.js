// The donated state by bytes: a map that zooms into the tree.

class Treemap {
  constructor(model, name, zoomed) {
    this.model = model;
    this.places = new Places(model);
    this.painter = new Painter(this.places);
    this.zoomed = zoomed;
    this.trail = [{ node: model.top }];
    this.crumbs = make("ol");
    this.svg = draw("svg", {
      class: "map", role: "group",
      "aria-label": `treemap of ${name}: arrow keys move, Enter zooms in, Escape zooms out`,
    });
    this.svg.addEventListener("keydown", (event) => this.key(event));
    this.hint = make("p", { class: "hint dim" });
    this.legend = make("ul", { class: "legend" });
    this.element = make("div", { class: "treemap" },
      make("nav", { class: "crumbs", "aria-label": "place in the tree" }, this.crumbs),
      this.svg, this.legend, this.hint);
    new ResizeObserver(() => {
      const width = Math.floor(this.svg.getBoundingClientRect().width);
      if (width && width !== this.width) this.render();
    }).observe(this.svg);
  }

  get place() { return this.trail[this.trail.length - 1]; }

  zoom(place, focus) {
    const at = this.trail.findIndex((each) => each === place);
    const known = at >= 0 ? this.trail.slice(0, at + 1) : [...this.trail, place];
    const left = at >= 0 ? this.trail[at + 1] : null;
    this.trail = known;
    this.render();
    this.zoomed(this.places.nodes(place));
    if (focus) this.focus(left);
  }

  up() {
    if (this.trail.length > 1) this.zoom(this.trail[this.trail.length - 2], true);
  }

  focus(left) {
    const same = (cell) => left && cell.place.node === left.node && !!cell.place.rest === !!left.rest;
    const cell = this.cells.find(same) || this.cells[0];
    if (cell) this.select(cell);
  }

  select(cell) {
    for (const each of this.cells) each.element.setAttribute("tabindex", each === cell ? 0 : -1);
    cell.element.focus();
  }

  render() {
    this.width = Math.floor(this.svg.getBoundingClientRect().width) || 800;
    this.height = Math.round(Math.min(Math.max(this.width * 0.42, 240), 440));
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.svg.setAttribute("height", this.height);
    this.cells = [];
    const layer = draw("g");
    for (const { place, box } of this.places.cut(this.places.parts(this.place), 0, 0, this.width, this.height)) {
      const element = draw("g", { class: "cell", role: "button", tabindex: "-1" });
      element.append(draw("title", { text: this.places.title(place) }));
      element.setAttribute("aria-label", this.places.title(place));
      this.painter.paint(element, place, box, 0);
      element.append(draw("rect", { class: "edge", ...grown(box, -1) }));
      element.addEventListener("click", () => this.enter(place));
      this.cells.push({ place, box, element });
      layer.append(element);
    }
    if (this.cells.length) this.cells[0].element.setAttribute("tabindex", 0);
    this.svg.replaceChildren(layer);
    this.trace();
    this.tell();
  }

  enter(place) {
    const whole = !place.rest && place.node === this.place.node;
    if (!whole) this.zoom(place, true);
  }

  // The way back, and the legend of what is seen.
  trace() {
    this.crumbs.replaceChildren(...this.trail.map((place, i) => {
      const last = i === this.trail.length - 1;
      const text = this.places.label(place);
      if (last) return make("li", {}, make("span", { "aria-current": "location", text }));
      const back = make("button", { type: "button", text });
      back.addEventListener("click", () => this.zoom(place, true));
      return make("li", {}, back);
    }));
    const bytes = this.places.shares(this.place);
    const numbers = KINDS.map(() => 0);
    for (const node of this.places.nodes(this.place)) {
      for (let i = this.model.start[node]; i < this.model.end[node]; i++) {
        numbers[this.model.kind[i]]++;
      }
    }
    this.legend.replaceChildren(...numbers.map((number, kind) => number && make("li", {},
      swatch(kind), make("span", { text: kindLabel(kind) + (kind === OPEN ? ` (${OPEN_MEANS})` : "") }),
      make("span", { class: "dim", text: `${size(bytes[kind])}, ${leafCount(number)}` })))
      .filter(Boolean));
  }

  // What the picture cannot show: lost leaves that are too small.
  tell() {
    const total = this.places.shares(this.place).reduce((sum, share) => sum + share, 0);
    const scale = total ? (this.width * this.height) / total : 0;
    let unseen = 0;
    for (const node of this.places.nodes(this.place)) {
      for (let i = this.model.start[node]; i < this.model.end[node]; i++) {
        if (isLost(this.model.kind[i]) && this.model.data.bytes[i] * scale < 12) unseen++;
      }
    }
    const words = [];
    if (!total) words.push("these leaves have no bytes, so there is nothing to draw");
    else if (unseen) {
      words.push(`${leafCount(unseen)} that ${unseen === 1 ? "was" : "were"} lost ` +
        `${unseen === 1 ? "is" : "are"} too small to be seen here; the table has ` +
        `${unseen === 1 ? "it" : "them"}`);
    }
    this.svg.classList.toggle("empty", !total);
    this.hint.textContent = words.join("");
    this.hint.hidden = !words.length;
  }

  key(event) {
    const at = this.cells.findIndex((cell) => cell.element === document.activeElement);
    if (at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    if (event.key in moves) this.move(this.cells[at], ...moves[event.key]);
    else if (event.key === "Home") this.select(this.cells[0]);
    else if (event.key === "End") this.select(this.cells[this.cells.length - 1]);
    else if (event.key === "Enter" || event.key === " ") this.enter(this.cells[at].place);
    else if (event.key === "Escape" || event.key === "Backspace") this.up();
    else return;
    event.preventDefault();
  }

  // To the nearest cell in a direction.
  move(from, right, down) {
    const middle = ({ box }) => [box.x + box.width / 2, box.y + box.height / 2];
    const [x, y] = middle(from);
    let best = null;
    let least = Infinity;
    for (const cell of this.cells) {
      const [cx, cy] = middle(cell);
      const along = (cx - x) * right + (cy - y) * down;
      const across = Math.abs((cx - x) * down) + Math.abs((cy - y) * right);
      const far = along + 2 * across;
      if (along > 1 && far < least) { least = far; best = cell; }
    }
    if (best) this.select(best);
  }
}
