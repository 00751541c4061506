/* A given pair, opened: both images, and what every target said about each. */
function saidOf(label, answer, explanation, named, right, before) {
  const chips = [named !== undefined && (named ? "names the change" : "does not name it"), right !== undefined && (right ? "right" : "wrong")].filter(Boolean).join(" · ");
  return element("div.turn", {}, element("span.lab", {}, label),
    element("span.ans", {}, answer || "no answer", chips && element("i", {}, " " + chips)),
    text(explanation, changedWords(before || explanation || "", explanation || ""), "ins"));
}

function targetOf(name, cell, hit) {
  const [ending, long] = about.endings[cell.o];
  return element("section.mod" + (hit ? ".hit" : ""), { "aria-label": name },
    element("h4", { title: long }, name, element("span.chip", {}, sign(cell.o), ending)),
    saidOf("First image", cell.a0, cell.e0, cell.n0, cell.r0),
    saidOf("Second image", cell.a1, cell.e1, cell.n1, cell.r1, cell.e0),
    cell.why && element("details", {}, element("summary", {}, "What the judge replied"), element("p.say", {}, cell.why)));
}

const study = {
  model: "Model",
  order: "by id",
  filters: [["kind", "Change", [["object", "object"], ["attribute", "attribute"], ["count", "count"], ["relation", "relation"], ["background", "background"], ["other", "other"]]]],
  split: () => "explanations disagree",
  splits: (cell) => cell.n0 !== undefined && cell.n1 !== undefined && cell.n0 !== cell.n1,
  fits: (cell, view, wanted) => !wanted.kind || cell.kind === wanted.kind,
  texts: (cell) => [cell.a0, cell.e0, cell.a1, cell.e1, cell.why],
  body(view, item, model) {
    const turn = { ...item.after, text: item.what };
    const left = element("div.one", {}, element("h3", {}, item.what), compare(item, turn, false),
      element("p.meta", {}, `${item.checked ? "Checked by " + item.checked : "Nobody is said to have checked it"} · first ${item.sha.slice(0, 10)} · second ${turn.sha.slice(0, 10)}`));
    const names = view.models.filter((name) => item.m[name]);
    return element("div.body", {}, element("div.edit", {}, element("div", {}, left), element("div.mods", {}, names.map((name) => targetOf(name, item.m[name], name === model)))));
  },
};
