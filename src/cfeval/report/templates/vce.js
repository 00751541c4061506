/* One image and target class, opened: the counterfactual for every classifier, and what it and the oracles see. */
const share = (value) => value === null || value === undefined ? "–" : value.toFixed(2);

function factsOf(item, turn) {
  const seen = Object.entries(turn.oracles || {}).map(([name, label]) => [name, label, label === item.target]);
  const rows = [
    ["says", `${turn.says} (before: ${turn.before})`, turn.says === item.target],
    ["P(target), P(source)", `${share(turn.pt)}, ${share(turn.ps)}`, true],
    ...seen.map(([name, label, right]) => ["oracle " + name, label, right]),
    ...Object.entries(turn.d || {}).map(([name, value]) => [name, share(value), true]),
  ];
  return element("table.facts", {}, element("tbody", {}, rows.map(([name, said, right]) => element("tr", {}, element("th", { scope: "row" }, name), element("td", { class: right ? null : "low" }, said)))));
}

function madeFor(item, name, cell, hit) {
  const [ending, long] = about.endings[cell.o];
  return element("section.mod" + (hit ? ".hit" : ""), { "aria-label": name },
    element("h3", { title: long }, name, element("span.chip", {}, sign(cell.o), ending)),
    cell.t.map((turn) => turn.img === undefined
      ? element("p.say", {}, [turn.status, turn.stage, turn.why].filter(Boolean).join(": "))
      : [compare(item, turn, false), factsOf(item, turn), element("p.meta", {}, `original ${item.sha.slice(0, 10)} · counterfactual ${turn.sha.slice(0, 10)}`)]));
}

const study = {
  model: "Classifier",
  order: "by id",
  filters: [["pair", "Target class", [["ideal", "ideal"], ["other", "another"]]]],
  split: () => "oracles disagree",
  splits: (cell) => cell.t.some((turn) => new Set(Object.values(turn.oracles || {})).size > 1),
  fits: (cell, view, wanted) => !wanted.pair || cell.pair === wanted.pair,
  texts: (cell) => cell.t.flatMap((turn) => [turn.says, turn.why, turn.status, ...Object.values(turn.oracles || {})]),
  body(view, item, model) {
    const made = element("div.body", {}, element("div.mods", {}, view.models.filter((name) => item.m[name]).map((name) => madeFor(item, name, item.m[name], name === model))));
    made.addEventListener("input", (event) => {  // one slider moves all, so that classifiers are compared at one place
      for (const range of made.querySelectorAll("input[type=range]")) if (range !== event.target) { range.value = event.target.value; range.dispatchEvent(new Event("input")); }
    });
    return made;
  },
};
