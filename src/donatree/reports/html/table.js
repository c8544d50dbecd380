// Every leaf: searched, filtered, sorted; a page of rows at a time, so that many stay quick.
const PAGE = 50;

class LeafTable {
  constructor(model, name, id, retarget) {
    this.model = model;
    this.id = id;
    this.scope = null;
    this.page = 0;
    this.sort = { column: null, down: false };
    this.rows = new Rows(model);
    this.columns = this.rows.columns;
    this.search = make("input", {
      type: "search", id: `${id}-search`, autocomplete: "off", spellcheck: "false",
      oninput: () => this.changed(),
    });
    this.gate = make("select", { id: `${id}-gate`, onchange: () => this.changed() });
    this.cause = make("select", { id: `${id}-cause`, onchange: () => this.changed() });
    this.target = make("select", {
      id: `${id}-target`,
      onchange: () => { model.use(Number(this.target.value)); this.options(); this.changed(); retarget(); },
    });
    this.reset = make("button", { type: "button", text: "clear", onclick: () => this.clear() });
    this.status = make("p", { class: "status", role: "status", "aria-live": "polite" });
    this.body = make("tbody");
    this.heads = this.columns.map((column, i) => this.head(column, i));
    this.back = make("button", { type: "button", text: "previous", onclick: () => this.turn(-1) });
    this.on = make("button", { type: "button", text: "next", onclick: () => this.turn(1) });
    this.pager = make("nav", { class: "pager", "aria-label": "pages of leaves" }, this.back, this.on);
    this.fillTargets();
    this.options();
    this.element = make("div", { class: "leaves" },
      make("div", { class: "tools", role: "search", "aria-label": `leaves of ${name}` },
        labelled("search", this.search), labelled("gate", this.gate),
        labelled("cause", this.cause), model.several && labelled("target", this.target), this.reset),
      this.status,
      make("div", { class: "scroll", role: "region", tabindex: "0", "aria-label": `table of leaves of ${name}` },
        make("table", { class: "every" },
          make("caption", { text: `every leaf of ${name}` }),
          make("thead", {}, make("tr", {}, ...this.heads)), this.body)),
      this.pager);
    this.changed();
  }

  head(column, i) {
    const kind = column.figure ? "figure" : null;
    if (!column.key) return make("th", { scope: "col", class: kind, text: column.name });
    const button = make("button", { type: "button", text: column.name, onclick: () => this.order(i) });
    return make("th", { scope: "col", class: kind, "aria-sort": "none" }, button);
  }

  fillTargets() {
    const names = [["-1", "any target"], ...this.model.targets.map((each, i) => [String(i), each.name])];
    this.target.replaceChildren(...names.map(([value, text]) => make("option", { value, text })));
    this.target.value = "-1";
  }

  // What can be chosen, with how many leaves it has.
  options() {
    const { model } = this;
    const kinds = KINDS.map(() => 0);
    const codes = new Map();
    let lost = 0;
    for (let i = 0; i < model.size; i++) {
      kinds[model.kind[i]]++;
      if (isLost(model.kind[i])) lost++;
      for (const code of this.codes(i)) codes.set(code, (codes.get(code) || 0) + 1);
    }
    const number = (n) => n.toLocaleString("en-US");
    choose(this.gate, [["", `all (${number(model.size)})`], ["lost", `lost at any gate (${number(lost)})`],
      ...KINDS.map((name, kind) => [name, `${kindLabel(kind)} (${number(kinds[kind])})`])
        .filter((_, kind) => kinds[kind])]);
    choose(this.cause, [["", "all"], ...[...codes].sort()
      .map(([code, n]) => [code, `${code} (${number(n)})`])]);
  }

  codes(leaf) {
    const { model } = this;
    const targets = model.target >= 0 ? [model.target] : model.targets.map((_, t) => t);
    return new Set(targets.map((target) => model.code(leaf, target)).filter(Boolean));
  }

  clear() {
    this.search.value = this.gate.value = this.cause.value = "";
    this.changed();
    this.search.focus();
  }

  // Keeps to the leaves below some nodes.
  within(nodes) {
    this.scope = null;
    if (!(nodes.length === 1 && nodes[0] <= this.model.top)) {
      this.scope = new Uint8Array(this.model.size);
      for (const node of nodes) this.scope.fill(1, this.model.start[node], this.model.end[node]);
    }
    const leaf = nodes.length === 1 && this.model.first[nodes[0]] < 0;
    if (leaf) this.rows.opened.add(this.model.start[nodes[0]]);
    this.changed();
  }

  order(column) {
    const same = this.sort.column === column;
    const first = !!this.columns[column].figure; // figures: the largest first
    this.sort = { column, down: same ? !this.sort.down : first };
    this.heads.forEach((head, i) => {
      if (!this.columns[i].key) return;
      head.setAttribute("aria-sort", i !== column ? "none" : this.sort.down ? "descending" : "ascending");
    });
    this.changed();
  }

  // The leaves in order, made once for each choice of order.
  sorted() {
    const { model } = this;
    const { column, down } = this.sort;
    const made = `${column}/${down}/${model.target}`;
    if (this.made === made) return this.ranked;
    const rows = Array.from({ length: model.size }, (_, i) => i);
    const place = model.order ? (i) => model.order[i] : (i) => i;
    if (column === null) {
      const bytes = model.data.bytes;
      const lost = Uint8Array.from(model.kind, (kind) => (isLost(kind) ? 1 : 0));
      rows.sort((a, b) => lost[b] - lost[a] || bytes[b] - bytes[a] || place(a) - place(b));
    } else {
      const keys = rows.map(this.columns[column].key);
      const turn = down ? -1 : 1;
      rows.sort((a, b) => turn * (keys[a] < keys[b] ? -1 : keys[a] > keys[b] ? 1 : 0) || place(a) - place(b));
    }
    this.made = made;
    this.ranked = rows;
    return rows;
  }

  changed() {
    const { model } = this;
    const words = this.search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const gate = this.gate.value;
    const kind = KINDS.indexOf(gate);
    const cause = this.cause.value;
    const matchers = words.map((word) => model.matcher(word));
    this.found = this.sorted().filter((i) =>
      (!this.scope || this.scope[i]) &&
      (!gate || (gate === "lost" ? isLost(model.kind[i]) : model.kind[i] === kind)) &&
      (!cause || this.codes(i).has(cause)) &&
      matchers.every((matches) => matches(i)));
    this.page = 0;
    this.reset.disabled = !(words.length || gate || cause);
    this.render();
  }

  turn(by) {
    this.page += by;
    this.render();
    this.body.closest(".scroll").scrollIntoView({ block: "nearest" });
  }

  render() {
    const { found, model } = this;
    const start = this.page * PAGE;
    const shown = found.slice(start, start + PAGE);
    this.body.replaceChildren(...shown.flatMap((i) => this.rows.row(i)));
    const bytes = found.reduce((sum, i) => sum + model.data.bytes[i], 0);
    const of = found.length === model.size ? "" : ` of ${model.size.toLocaleString("en-US")}`;
    const rows = found.length > PAGE
      ? `; rows ${(start + 1).toLocaleString("en-US")} to ${(start + shown.length).toLocaleString("en-US")} are shown` : "";
    const number = found.length.toLocaleString("en-US");
    const noun = model.size === 1 || (found.length === 1 && !of) ? "leaf" : "leaves";
    this.status.textContent = found.length ? `${number}${of} ${noun}, ${size(bytes)}${rows}` : `no leaf is like that`;
    this.pager.hidden = found.length <= PAGE;
    this.back.disabled = this.page === 0;
    this.on.disabled = start + PAGE >= found.length;
  }

}

function labelled(text, control) {
  return make("div", { class: "tool" }, make("label", { for: control.id, text }), control);
}

function choose(select, options) {
  const before = select.value;
  select.replaceChildren(...options.map(([value, text]) => make("option", { value, text })));
  select.value = options.some(([value]) => value === before) ? before : "";
}
