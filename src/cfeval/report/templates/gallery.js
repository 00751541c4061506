/* The gallery: filters, search, sort, links and keys over the items of a view. Rows are drawn as they come near the screen.
   What is particular to an evaluation is `study`, of the script before: its filters, sorts, texts, and an opened item. */
const STEP = 60;
const EMPTY = { view: "0", model: "", show: "", ...Object.fromEntries(study.filters.map(([name]) => [name, ""])), split: "", sort: "", words: "" };
const KEYS = [["j k", "next, previous item"], ["Enter", "open or close it"], ["l", "enlarge its images"], ["c", "copy its link"], ["/", "search"], ["Esc", "close"], ["?", "this list"]];
const state = { ...EMPTY };
const loaded = {};  // the items of each view that was shown
const list = element("div.list"), end = element("div.end"), count = element("span.count", { role: "status" });
let rows = [], shown = [], drawn = 0;

function view() { return about.views[Number(state.view)] || about.views[0]; }

function itemsOf(number) {
  loaded[number] ||= [...document.querySelectorAll(`.rows[data-view="${Number(number)}"]`)].flatMap((chunk) => JSON.parse(chunk.textContent));
  return loaded[number];
}

/* The items of a view that are beside the page. */
function beside(number) { return about.views[number].beside || []; }

function filesOf(number) { return Promise.all(beside(number).map(framed)); }

const PATIENCE = 10000;  // milliseconds: a missing file says nothing
function framed(link) {
  const frame = element("iframe", { src: link, sandbox: "allow-scripts", hidden: true, title: "Items" });
  return new Promise((told, failed) => {
    const late = setTimeout(() => failed(new Error(link)), PATIENCE);
    addEventListener("message", function heard(event) {
      if (event.source !== frame.contentWindow) return;
      clearTimeout(late);
      removeEventListener("message", heard);
      told(JSON.parse(event.data));
    });
    document.body.append(frame);
  }).finally(() => frame.remove());
}

/* Load the items of a view that are beside the page, each to its place. */
async function loadBeside() {
  const number = state.view, known = itemsOf(number), files = await filesOf(number);
  const placed = new Map(files.flatMap((file) => file.places.map((place, n) => [place, file.rows[n]])));
  for (const file of files) Object.assign(about.images, file.images);
  const rest = known[Symbol.iterator]();
  loaded[number] = Array.from({ length: about.views[number].items }, (_, place) => placed.get(place) || rest.next().value);
  about.views[number].beside = [];
  rows.view = null;
  set();
}

/* Items of the view that are beside the page. */
function unloaded() { return beside(Number(state.view)).length ? view().items - rows.length : 0; }

function moreButton() {
  if (!unloaded()) return null;
  return element("button.more", { type: "button", onclick: (event) => {
    const button = event.currentTarget;
    button.disabled = true;
    loadBeside().catch((error) => {
      button.disabled = false;
      button.textContent = `${error.message} could not be loaded; it must lie beside this page. Try again`;
    });
  } }, `Load ${unloaded()} more`);
}

const fields = {};
function field(name, label, options) {
  fields[name] = element("select", { name, onchange: (event) => { state[name] = event.target.value; changed(); } }, options.map(([value, said]) => element("option", { value }, said)));
  return element("label", {}, label, fields[name]);
}

function controlsBar() {
  const found = new Set(rows.flatMap((row) => Object.values(row.item.m).map((cell) => cell.o)));
  const endings = Object.keys(about.endings).filter((ending) => found.has(ending));
  const any = ["", "any"];
  fields.words = element("input", { type: "search", placeholder: "Search", "aria-label": "Search texts", oninput: (event) => { state.words = event.target.value; changed(); } });
  fields.split = element("input", { type: "checkbox", onchange: (event) => { state.split = event.target.checked ? "1" : ""; changed(); } });
  const bar = element("div.filters", { role: "search", "aria-label": "Filter items" },
    about.views.length > 1 && field("view", "Condition", about.views.map((one, n) => [String(n), one.title])),
    element("label.grow", {}, fields.words),
    field("model", study.model, [any, ...view().models.map((name) => [name, name])]),
    field("show", "Status", [any, ...endings.map((ending) => [ending, about.endings[ending][0]])]),
    study.filters.map(([name, label, options]) => field(name, label, [any, ...options])),
    study.split(view()) && element("label", {}, fields.split, study.split(view())),
    field("sort", "Sort", [["", study.order], ["spread", "models differ most"], ["long", "longest texts"]]),
    count, moreButton(), element("button.quiet", { type: "button", onclick: help, "aria-label": "Keyboard" }, "?"));
  const key = element("div.key", {}, endings.map((ending) => element("span", { title: about.endings[ending][1] }, sign(ending), about.endings[ending][0])));
  const heads = element("div.heads", { "aria-hidden": "true" }, element("div.cells", {}, view().models.map((name) => element("span", {}, name))));
  find("#gallery").replaceChildren(bar, key, heads, list);
  list.classList.toggle("few", view().models.length < 3);
  if (fields.view) fields.view.value = state.view;
}

function short(name) { return name.length < 7 ? name : name.split(/[-_.]/).map((part) => part.slice(0, /\d/.test(part) ? 3 : 2)).join("").slice(0, 6); }

function draw(row) {
  const item = row.item;
  row.cells = view().models.filter((name) => item.m[name]).map((name) => element("span.cell" + (name === state.model ? ".hit" : ""), { "data-model": name }, element("span.sr", {}, name + " "), sign(item.m[name].o), element("b", {}, about.endings[item.m[name].o][0]), element("span.ab", { "aria-hidden": "true" }, short(name))));
  const said = [item.ref && `right answer: ${item.ref}`, item.id, split(row) && study.split(view())].filter(Boolean).join(" · ");
  row.head = element("button.rh", { type: "button", "aria-expanded": "false", onclick: () => toggle(row) }, image(item.img, "", "th"), element("span.qq", { dir: "auto" }, item.q, element("i", {}, said)), element("span.cells", {}, row.cells));
  row.element = element("article.row", { "data-id": item.id }, row.head);
  return row.element;
}

function drawTo(number) {
  const made = document.createDocumentFragment();
  for (; drawn < Math.min(number, shown.length); drawn++) made.append(shown[drawn].element || draw(shown[drawn]));
  end.before(made);
}

function toggle(row, wanted = !row.element.classList.contains("open")) {
  if (wanted === row.element.classList.contains("open")) return;
  row.element.classList.toggle("open", wanted);
  row.head.setAttribute("aria-expanded", String(wanted));
  const copy = element("button", { type: "button", onclick: (event) => copyLink(row, event.currentTarget) }, "Copy link");
  if (wanted) row.element.append(element("div.acts", {}, copy), study.body(view(), row.item, state.model));
  else for (const part of row.element.querySelectorAll(".acts, .body")) part.remove();
  remember(wanted ? row.item.id : "");
}

function split(row) { return Object.values(row.item.m).some((cell) => study.splits(cell, view())); }

/* Whether a model's part in an item is what the filters ask for. */
function fits(cell) {
  if (state.show && cell.o !== state.show) return false;
  return (!state.split || study.splits(cell, view())) && study.fits(cell, view(), state);
}

function textOf(row) {
  row.text ||= [row.item.id, row.item.q, row.item.ref, row.item.kind, ...Object.values(row.item.m).flatMap(study.texts)].join("\n").toLowerCase();
  return row.text;
}

function apply() {
  const wanted = state.words.toLowerCase().split(/\s+/).filter(Boolean);
  const cells = (row) => state.model ? [row.item.m[state.model]].filter(Boolean) : Object.values(row.item.m);
  shown = rows.filter((row) => cells(row).some(fits) && (!wanted.length || wanted.every((word) => textOf(row).includes(word))));
  const spread = (row) => new Set(Object.values(row.item.m).map((cell) => cell.o)).size;
  if (state.sort === "spread") shown.sort((a, b) => spread(b) - spread(a) || a.place - b.place);
  if (state.sort === "long") shown.sort((a, b) => textOf(b).length - textOf(a).length || a.place - b.place);
  for (const row of rows) for (const cell of row.cells || []) cell.classList.toggle("hit", cell.dataset.model === state.model);
  drawn = 0;
  list.replaceChildren(shown.length ? end : element("p.none", {}, "No item is like this. ", element("button", { type: "button", onclick: () => { Object.assign(state, EMPTY, { view: state.view }); set(); changed(); } }, "Show all")));
  drawTo(STEP);
  const more = view().more + unloaded();
  count.textContent = more ? `${shown.length} of ${rows.length + more} items (${rows.length} are on this page)` : `${shown.length} of ${rows.length} items`;
}

/* Show what the state says: the view's items, and the filters' fields. */
function set() {
  if (rows.view !== state.view) {
    rows = itemsOf(state.view).map((item, place) => ({ item, place }));
    rows.view = state.view;
    controlsBar();
  }
  for (const name of ["model", "show", ...study.filters.map(([one]) => one), "sort"]) {
    fields[name].value = state[name];
    if (fields[name].selectedIndex < 0) { fields[name].value = ""; state[name] = ""; }
  }
  fields.words.value = state.words;
  fields.split.checked = state.split === "1";
  apply();
}

function changed() {
  if (rows.view !== state.view) Object.assign(state, EMPTY, { view: state.view, words: state.words });
  set();
  remember("");
}

/* The selection is in the address, so that it can be linked to. */
function remember(item) {
  const kept = new URLSearchParams({ view: state.view });
  for (const [name, value] of Object.entries(state)) if (value && name !== "view") kept.set(name, value);
  if (item) kept.set("item", item);
  try { history.replaceState(null, "", "#" + kept); } catch (error) { /* some browsers refuse on files */ }
}

function recall() {
  if (!location.hash.includes("=")) return;
  const asked = new URLSearchParams(location.hash.slice(1));
  for (const name of Object.keys(EMPTY)) state[name] = asked.get(name) ?? EMPTY[name];
  if (!about.views[Number(state.view)]) state.view = "0";
  set();
  const row = asked.has("item") && (shown.find((one) => one.item.id === asked.get("item")) || unfiltered(asked.get("item")));
  if (!row && asked.has("item") && beside(Number(state.view)).length) {
    loadBeside().then(recall, () => find("#items").scrollIntoView());
    return;
  }
  if (!row) { find("#items").scrollIntoView(); return; }
  drawTo(shown.indexOf(row) + STEP / 2);
  toggle(row, true);
  row.element.scrollIntoView({ block: "start" });
  row.head.focus({ preventScroll: true });
}

function unfiltered(id) {
  Object.assign(state, EMPTY, { view: state.view });
  set();
  return shown.find((row) => row.item.id === id);
}

function copyLink(row, button) {
  remember(row.item.id);
  const told = (said) => {
    button.textContent = said;
    find("#live").textContent = said;
    setTimeout(() => { button.textContent = "Copy link"; }, 1600);
  };
  (navigator.clipboard?.writeText(location.href) || Promise.reject()).then(() => told("Copied"), () => told("It is in the address bar"));
}

function help() {
  const keys = KEYS.flatMap(([key, does]) => [element("dt", {}, key.split(" ").flatMap((one) => [element("kbd", {}, one), " "])), element("dd", {}, does)]);
  find("#keys").replaceChildren(element("h2", {}, "Keyboard"), element("dl", {}, keys), element("button", { type: "button", onclick: () => find("#keys").close() }, "Close"));
  find("#keys").showModal();
}

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || find("dialog[open]")) return;
  const typing = event.target.matches("input[type=search], select"), at = shown.findIndex((row) => row.element?.contains(document.activeElement)), row = shown[at];
  if (event.key === "Escape" && typing) event.target.blur();
  else if (event.key === "Escape" && row) { toggle(row, false); row.head.focus(); }
  else if (typing) return;
  else if (event.key === "j" || event.key === "k") step(event.key === "j" ? at + 1 : at - 1);
  else if (event.key === "/") { event.preventDefault(); fields.words.focus(); }
  else if (event.key === "?") help();
  else if (row && event.key === "l") enlarge(row.item, Object.values(row.item.m).flatMap((cell) => cell.t).find((turn) => turn.img !== undefined) || null);
  else if (row && event.key === "c") { toggle(row, true); find(".acts button", row.element).click(); }
}

function step(to) {
  const row = shown[Math.max(0, Math.min(shown.length - 1, to))];
  if (!row) return;
  drawTo(shown.indexOf(row) + STEP);
  row.head.focus({ preventScroll: true });
  row.element.scrollIntoView({ block: row.element.classList.contains("open") ? "start" : "nearest" });
}

if (about.views.length) {
  new IntersectionObserver((seen) => {
    if (!seen.some((one) => one.isIntersecting) || drawn >= shown.length) return;
    drawTo(drawn + STEP);
    end.remove();
    list.append(end);
  }, { rootMargin: "1200px" }).observe(end);
  set();
  recall();
  addEventListener("hashchange", recall);
  addEventListener("keydown", pressed);
  addEventListener("beforeprint", () => { for (const image of document.querySelectorAll("img[loading=lazy]")) image.loading = "eager"; });
}
document.documentElement.dataset.ready = "1";
