// Small helpers. Text of the program gets into the page through textContent alone.
const SVG = "http://www.w3.org/2000/svg";

function put(element, attributes, children) {
  for (const name in attributes) {
    if (name === "text") element.textContent = attributes[name];
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), attributes[name]);
    else if (attributes[name] !== null) element.setAttribute(name, attributes[name]);
  }
  for (const child of children) if (child) element.append(child);
  return element;
}

const make = (tag, attributes = {}, ...children) =>
  put(document.createElement(tag), attributes, children);

const draw = (tag, attributes = {}, ...children) =>
  put(document.createElementNS(SVG, tag), attributes, children);

const count = (n, one, many) => `${n.toLocaleString("en-US")} ${n === 1 ? one : many}`;
const leafCount = (n) => count(n, "leaf", "leaves");

// As the sizes of the rest of the report: exact below 10,000, else in a binary unit.
function size(n) {
  if (n < 10000) return count(n, "byte", "bytes");
  let scaled = n;
  for (const unit of ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]) {
    scaled /= 1024;
    if (scaled < 1023.995 || unit === "EiB") {
      const digits = { minimumFractionDigits: 2, maximumFractionDigits: 2 };
      return `${scaled.toLocaleString("en-US", digits)} ${unit}`;
    }
  }
}

const KINDS = [
  "passed", "asked", "kept", "matched", "granted", "in_place", "honoured", "open", "absent",
];
const KIND_NAMES = {
  passed: "passed", asked: "asked", kept: "kept", matched: "matched", granted: "granted",
  in_place: "in place", honoured: "honoured", open: "open", absent: "not donated",
};
const isLost = (kind) => kind > 0 && kind < 7;
const OPEN = 7;
const OPEN_MEANS = "granted, not known whether the bytes stay saved";

function kindLabel(kind) {
  return isLost(kind) ? `lost at ${KIND_NAMES[KINDS[kind]]}` : KIND_NAMES[KINDS[kind]];
}

// The sign that stands for a kind beside its colour.
const mark = (kind) => (isLost(kind) ? "\u2717" : kind === 0 ? "\u2713" : kind === OPEN ? "?" : "-");

function swatch(kind) {
  const name = KINDS[kind];
  return draw("svg", { class: "swatch", width: 16, height: 16, "aria-hidden": "true" },
    draw("rect", { class: `gate ${name}`, width: 16, height: 16, rx: 2 }),
    draw("rect", { class: `hatch ${name}`, width: 16, height: 16, rx: 2 }));
}
