// Starts what the page needs: explorers when they are first seen, the theme, links into folds.
function explore(section) {
  const place = section.querySelector(".explorer");
  if (!place || place.dataset.made) return;
  place.dataset.made = "yes";
  const source = document.getElementById(place.dataset.from);
  const model = new Model(JSON.parse(source.textContent));
  const { name } = place.dataset;
  let table = null;
  const map = new Treemap(model, name, (nodes) => table.within(nodes));
  table = new LeafTable(model, name, place.dataset.from, () => map.render());
  place.append(map.element, table.element);
  map.render();
  section.classList.add("explored");
  const prepare = () => model.prepare();
  if (window.requestIdleCallback) requestIdleCallback(prepare); else setTimeout(prepare, 50);
}

function theme() {
  const root = document.documentElement;
  const button = document.getElementById("theme");
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const show = () => {
    button.setAttribute("aria-pressed", dark());
    button.textContent = dark() ? "light" : "dark";
    button.setAttribute("aria-label", "dark colours");
  };
  const store = (value) => { try { localStorage.setItem("donatree-theme", value); } catch { /* not allowed here */ } };
  try {
    const kept = localStorage.getItem("donatree-theme");
    if (kept === "dark" || kept === "light") root.dataset.theme = kept;
  } catch { /* not allowed here */ }
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    store(root.dataset.theme);
    show();
  });
  system.addEventListener("change", show);
  button.hidden = false;
  show();
}

// A link to something inside a closed fold opens it.
function reveal() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (!target) return;
  for (let each = target; each; each = each.parentElement) if (each.tagName === "DETAILS") each.open = true;
  target.scrollIntoView();
}

function printed() {
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...document.querySelectorAll("details.printed:not([open])")];
    for (const each of closed) each.open = true;
  });
  addEventListener("afterprint", () => { for (const each of closed) each.open = false; });
}

theme();
printed();
addEventListener("hashchange", reveal);
for (const section of document.querySelectorAll("details.program")) {
  // After the first paint, which shows the overview and the findings.
  const start = () => { if (section.open) explore(section); };
  section.addEventListener("toggle", start);
  requestAnimationFrame(() => setTimeout(start));
}
reveal();
