// The rows of the table of leaves: a cell a column, and what was read of a leaf when asked.
class Rows {
  constructor(model) {
    this.model = model;
    this.opened = new Set();
    this.columns = this.describe();
  }

  describe() {
    const model = this.model;
    const padded = (path) => path.replace(/\d+/g, (digits) => digits.padStart(12, "0"));
    const columns = [
      { name: "path", key: (i) => padded(model.paths[i]), cell: (i) => this.path(i) },
      { name: "type", key: (i) => model.aval(i), cell: (i) => make("td", { class: "type", text: model.aval(i) }) },
      { name: model.data.perDevice ? "bytes" : "global bytes", figure: true, key: (i) => model.data.bytes[i], cell: (i) => this.bytes(i) },
    ];
    if (model.several) {
      model.targets.forEach((target, t) => columns.push({
        name: target.name, key: (i) => rank(target.kind[i]), cell: (i) => this.verdict(i, t, true),
      }));
    } else {
      columns.push(
        { name: "slot", key: (i) => padded(model.slot(i, 0)) || "\uffff", cell: (i) => this.slot(i) },
        { name: "gate", key: (i) => rank(model.kind[i]), cell: (i) => this.verdict(i, 0, false) },
        { name: "cause", key: (i) => model.code(i, 0) || "\uffff", cell: (i) => make("td", {}, ...this.causes(i, 0, true)) });
    }
    columns.push({ name: "evidence", cell: (i) => this.opener(i) });
    return columns;
  }

  row(leaf) {
    const row = make("tr", {}, ...this.columns.map((column) => column.cell(leaf)));
    return this.opened.has(leaf) ? [row, this.detail(leaf)] : [row];
  }

  path(leaf) { return make("th", { scope: "row", class: "mono", text: this.model.paths[leaf] }); }

  bytes(leaf) {
    const { bytes, global } = this.model.data;
    const beside = global && global[leaf] !== bytes[leaf] ? `${size(global[leaf])} global` : "";
    return make("td", { class: "figure", text: size(bytes[leaf]) }, beside && make("div", { class: "dim", text: beside }));
  }

  slot(leaf) {
    const after = this.model.after(leaf, 0);
    const slot = this.model.slot(leaf, 0);
    return make("td", { class: "mono" }, make("span", { class: slot ? null : "dim", text: slot || "none" }), after && make("div", { class: "care", text: after }));
  }

  verdict(leaf, target, causes) {
    const kind = this.model.targets[target].kind[leaf];
    const style = isLost(kind) ? "bad" : kind === 0 ? "good" : kind === OPEN ? "care" : "dim";
    return make("td", { class: "verdict" }, swatch(kind),
      make("span", { class: style, text: `${mark(kind)} ${this.model.word(leaf, target)}` }),
      ...(causes ? this.causes(leaf, target, false) : []));
  }

  // The code, which leads to the finding that speaks of the leaf, and what the code says.
  causes(leaf, target, title) {
    const code = this.model.code(leaf, target);
    if (!code) return [];
    const finding = this.model.targets[target].finding[leaf];
    const shown = finding ? make("a", { class: "code", href: `#finding-${finding}`, text: code }) : make("span", { class: "code", text: code });
    const said = title && this.model.data.names[code];
    return [document.createTextNode(" "), shown, said && make("span", { class: "dim", text: ` ${said}` })];
  }

  opener(leaf) {
    const known = this.model.targets.some((each) => each.read[leaf].length);
    if (!known && !this.model.several) return make("td", { class: "dim", text: "none" });
    const button = make("button", {
      type: "button", class: "opener", "aria-expanded": this.opened.has(leaf), text: "show",
      "aria-label": `evidence of ${this.model.paths[leaf]}`,
      onclick: () => this.toggle(leaf, button),
    });
    if (this.opened.has(leaf)) button.textContent = "hide";
    return make("td", {}, button);
  }

  toggle(leaf, button) {
    const row = button.closest("tr");
    const open = !this.opened.has(leaf);
    if (open) {
      this.opened.add(leaf);
      row.after(this.detail(leaf));
    } else {
      this.opened.delete(leaf);
      row.nextElementSibling.remove();
    }
    button.setAttribute("aria-expanded", open);
    button.textContent = open ? "hide" : "show";
  }

  detail(leaf) {
    const { model } = this;
    const lists = model.targets.map((target, t) => {
      const facts = model.evidence(leaf, t);
      if (model.several) {
        const own = target.own ? target.own[leaf] : model.data.bytes[leaf];
        const slot = model.slot(leaf, t);
        facts.unshift(["bytes", `${size(own)} per device`], ...(slot ? [["slot", slot]] : []));
      }
      const after = model.after(leaf, t);
      if (after) facts.push(["result", after]);
      return make("div", {}, model.several && make("h5", { text: target.name }),
        make("dl", {}, ...facts.map(([word, text]) => make("div", {}, make("dt", { text: word }), make("dd", { text })))));
    });
    return make("tr", { class: "detail" }, make("td", { colspan: this.columns.length }, ...lists));
  }
}

// Lost leaves first, then what is open, then what passed.
const rank = (kind) => (isLost(kind) ? kind : kind === 0 ? 9 : kind);
