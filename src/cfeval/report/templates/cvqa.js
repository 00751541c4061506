/* One pair of questions, opened: image, both questions with their right answers, and what every solver said to them. */
const SIDES = { original: "As it is", counterfactual: "Under the “if”" };

function programOf(program) {
  const steps = program.trace.map(([line, call, given, result]) => element("li", {}, `line ${line}: ${call}(${given}) → ${result}`));
  const more = program.more ? [element("li", {}, `… ${program.more} more calls in the record file`)] : [];
  const ended = program.fault ? `failed: ${program.fault}` : `returned ${program.result}`;
  return element("details.prog", {}, element("summary", {}, `Program, ${ended}`), element("pre", { tabindex: 0, "aria-label": "Program" }, program.code),
    program.fallback && element("p.say", {}, "The question was then put to the whole image."), element("ol", {}, steps, more));
}

function replyOf(item, turn) {
  const read = turn.ok === undefined ? turn.status : turn.read === null ? "not read, no score" : `read as ${turn.read}`;
  const label = SIDES[turn.side] + (turn.order ? `, options ${turn.order}` : "");
  return element("div.turn", {}, element("span.lab", {}, label),
    element("span.ans", {}, icon(turn.ok === 1 ? "yes" : turn.ok === 0 ? "no" : "open"), " ", read, element("i", {}, ` right: ${item.sides[turn.side].a}`)),
    turn.published !== undefined && element("p.say", {}, `As published, by the released rules: ${turn.published === null ? "not read, wrong" : turn.published}`),
    text(turn.text, [], "ins"), turn.why && element("p.say", {}, turn.why), turn.prog && programOf(turn.prog));
}

function solverOf(item, name, cell, hit) {
  const [ending, long] = about.endings[cell.o];
  return element("section.mod" + (hit ? ".hit" : ""), { "aria-label": name },
    element("h3", { title: long }, name, element("span.chip", {}, sign(cell.o), ending)), cell.t.map((turn) => replyOf(item, turn)));
}

function questionsOf(item) {
  const { original, counterfactual } = item.sides;
  const right = (answer) => element("i", {}, ` Right answer: ${answer}`);
  if (!original) return [element("p.ask", {}, element("span.lab", {}, SIDES.counterfactual), counterfactual.q, right(counterfactual.a)),
    element("p.meta", {}, "There is no question as it is: the set has this one alone.")];
  return [element("p.ask", {}, element("span.lab", {}, SIDES.original), original.q, right(original.a)),
    element("p.ask", {}, element("span.lab", {}, SIDES.counterfactual), marked(counterfactual.q, changedWords(original.q, counterfactual.q), "ins"), right(counterfactual.a))];
}

/* The images behind the first: those shown with it, or the changed one in its place. */
function moreImages(item) {
  return item.more.map((number, place) => {
    const name = item.changed && place === 0 ? "The changed image, shown with the second question" : `Image ${place + 2 - (item.changed ? 1 : 0)}`;
    return [element("p.meta", {}, name), image(number, `${name}: ${item.q}`)];
  }).flat();
}

const study = {
  model: "Solver",
  order: "wrong first",
  filters: [["side", "Wrong", [["original", "as it is"], ["counterfactual", "under the “if”"]]], ["fault", "Program", [["1", "failed"], ["0", "ran"]]]],
  split: () => "readers disagree",
  splits: (cell) => cell.t.some((turn) => turn.published !== undefined),
  fits(cell, view, wanted) {
    if (wanted.side && !cell.t.some((turn) => turn.side === wanted.side && turn.ok === 0)) return false;
    return !wanted.fault || cell.t.some((turn) => turn.prog && Boolean(turn.prog.fault) === (wanted.fault === "1"));
  },
  texts: (cell) => cell.t.flatMap((turn) => [turn.text, turn.read, turn.why, turn.prog && turn.prog.code, turn.prog && turn.prog.fault]),
  body(view, item, model) {
    const left = element("div.one", {}, element("div.stage", { onclick: () => enlarge(item, null) }, image(item.img, "The image: " + item.q)), moreImages(item), questionsOf(item), element("p.meta", {}, `image ${item.sha.slice(0, 10)}`));
    const solvers = view.models.filter((name) => item.m[name]).map((name) => solverOf(item, name, item.m[name], name === model));
    return element("div.body", {}, element("div.edit", {}, left, element("div.mods", {}, solvers)));
  },
};
