// The leaves of one program, read from its data. Leaves are numbered in the order of the tree, so
// that those below a node are a range.
class Model {
  constructor(data) {
    this.data = data;
    this.size = data.bytes.length;
    this.targets = data.targets;
    this.several = data.targets.length > 1;
    const { labels, parents } = data;
    const nodes = labels.length;
    this.start = new Int32Array(nodes);
    this.end = new Int32Array(nodes);
    this.first = new Int32Array(nodes).fill(-1);
    this.next = new Int32Array(nodes).fill(-1);
    this.nodePath = new Array(nodes);
    this.leafNode = new Int32Array(this.size);
    this.paths = new Array(this.size);
    let leaf = 0;
    for (let i = 0; i < nodes; i++) {
      const label = data.texts[labels[i]];
      this.nodePath[i] = i === 0 ? "" : this.nodePath[parents[i]] + label;
      this.start[i] = leaf;
      const inner = i + 1 < nodes && parents[i + 1] === i;
      if (!inner && i > 0) {
        this.paths[leaf] = this.nodePath[i];
        this.leafNode[leaf] = i;
        leaf++;
      }
      this.end[i] = leaf;
    }
    for (let i = nodes - 1; i > 0; i--) {
      const parent = parents[i];
      if (this.end[parent] < this.end[i]) this.end[parent] = this.end[i];
      this.next[i] = this.first[parent];
      this.first[parent] = i;
    }
    this.order = data.order;
    this.use(-1);
  }

  // Chooses the target whose verdicts count; -1 is any of them: lost where one has lost it.
  use(target) {
    this.target = target;
    if (target >= 0 || !this.several) {
      this.kind = Uint8Array.from(this.targets[Math.max(target, 0)].kind);
    } else {
      this.kind = new Uint8Array(this.size);
      for (let leaf = 0; leaf < this.size; leaf++) this.kind[leaf] = this.worst(leaf);
    }
    this.sums = KINDS.map(() => new Float64Array(this.size + 1));
    const bytes = this.data.bytes;
    for (let leaf = 0; leaf < this.size; leaf++) {
      for (let kind = 0; kind < KINDS.length; kind++) {
        this.sums[kind][leaf + 1] = this.sums[kind][leaf];
      }
      this.sums[this.kind[leaf]][leaf + 1] += bytes[leaf];
    }
  }

  worst(leaf) {
    let found = 0;
    for (const { kind } of this.targets) {
      if (isLost(kind[leaf])) return kind[leaf];
      if (kind[leaf] > found) found = kind[leaf];
    }
    return found;
  }

  label(node) {
    const text = this.data.texts[this.data.labels[node]];
    return (this.data.parents[node] > 0 ? text.replace(/^\./, "") : text) || "(itself)";
  }

  // A label as it is written in a cell, where room is short: keys without brackets and quotes.
  short(node) {
    const text = this.label(node).replace(/\['([^'\\]*)'\]/g, "/$1").replace(/^\//, "");
    return text || this.label(node);
  }

  // Where the map starts: below the arguments, where there is only one.
  get top() {
    const children = this.children(0);
    return children.length === 1 ? children[0] : 0;
  }

  children(node) {
    const found = [];
    for (let i = this.first[node]; i >= 0; i = this.next[i]) found.push(i);
    return found;
  }

  shares(node) {
    return this.sums.map((sum) => sum[this.end[node]] - sum[this.start[node]]);
  }

  bytes(node) {
    let total = 0;
    for (const sum of this.sums) total += sum[this.end[node]] - sum[this.start[node]];
    return total;
  }

  aval(leaf) { return this.data.texts[this.data.aval[leaf]]; }

  code(leaf, target) {
    const code = this.targets[target].code[leaf];
    return code < 0 ? "" : this.data.texts[code];
  }

  word(leaf, target) { return this.data.texts[this.targets[target].word[leaf]]; }

  after(leaf, target) {
    const after = this.targets[target].after[leaf];
    return after < 0 ? "" : this.data.texts[after];
  }

  slot(leaf, target) {
    const { slot, tail } = this.targets[target];
    if (slot[leaf] < 0) return "";
    const path = this.paths[leaf];
    return this.data.texts[slot[leaf]] + path.slice(path.length - tail[leaf]);
  }

  // What was read of a leaf: pairs of a gate and the text.
  evidence(leaf, target) {
    const [pattern, ...numbers] = this.targets[target].read[leaf];
    if (pattern === undefined) return [];
    let used = 0;
    return this.data.patterns[pattern].map(([gate, text]) =>
      [gate, text.replace(/\0/g, () => numbers[used++])]);
  }

  // The paths in small letters; texts that many leaves share are searched once, not for each.
  prepare() {
    if (this.lowPaths) return;
    this.lowPaths = this.paths.map((path) => path.toLowerCase());
    this.lowTexts = this.data.texts.map((text) => text.toLowerCase());
  }

  // A test whether a leaf's path, type, slot, gate or code has a word, given in small letters.
  matcher(word) {
    this.prepare();
    const { lowPaths, lowTexts, data, targets } = this;
    const has = lowTexts.map((text) => text.includes(word));
    // Where the word begins in a slot's head and ends in the path that follows it.
    const across = lowTexts.map((text) => {
      const lengths = [];
      for (let n = 1; n < word.length; n++) if (text.endsWith(word.slice(0, n))) lengths.push(n);
      return lengths;
    });
    const spans = (leaf, { slot, tail }) => {
      const path = lowPaths[leaf];
      return across[slot[leaf]].some((n) => path.startsWith(word.slice(n), path.length - tail[leaf]));
    };
    return (leaf) =>
      lowPaths[leaf].includes(word) || has[data.aval[leaf]] || targets.some((target) =>
        has[target.word[leaf]] || has[target.code[leaf]] ||
        (target.slot[leaf] >= 0 && (has[target.slot[leaf]] || spans(leaf, target))));
  }
}
