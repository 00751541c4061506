/* One item, opened: each edit with its images, and the models that cited this. */
const show = (value) => value === null || value === undefined ? "–" : String(value);

/* CCS of an edit by a judge; null where it gave no scores. */
function ccsOf(turn, judge) {
  const scores = turn && turn.j && turn.j[judge];
  return scores && scores[0] !== null && scores[1] !== null ? Math.min(scores[0], scores[1]) : null;
}

function disagree(cell, judges) {
  return cell.t.some((turn) => new Set(judges.map((judge) => ccsOf(turn, judge)).filter((score) => score !== null)).size > 1);
}

function verdicts(view, turn) {
  const names = view.judges.filter((judge) => turn.j && turn.j[judge]);
  if (!names.length) return null;
  const graded = names.some((judge) => turn.j[judge][2] !== null);
  const head = ["Judge", ...view.scores, ...(graded ? ["grade"] : [])];
  const rows = names.flatMap((judge) => [element("tr", {}, element("th", { scope: "row" }, judge),
    turn.j[judge].slice(0, graded ? 3 : 2).map((score) => element("td", { class: score === 0 ? "low" : null }, show(score)))),
  turn.j[judge][3] && element("tr", {}, element("td.why", { colspan: head.length }, text(turn.j[judge][3], [], "ins")))]);
  return element("table.jd", {}, element("thead", {}, element("tr", {}, head.map((name) => element("th", { scope: "col" }, name)))), element("tbody", {}, rows));
}

function turnOf(view, cell, turn, number) {
  const before = number ? cell.t[number - 1] : { a1: cell.a0, e1: cell.e0 };
  const label = cell.t.length > 1 ? `After edit ${number + 1}` : "After the edit";
  if (turn.a1 === undefined) return element("div.turn", {}, element("span.lab", {}, label), element("p.say", {}, [turn.status, turn.stage, turn.why].filter(Boolean).join(": ") || "No second answer."), verdicts(view, turn));
  const was = before.a1 || "", explained = before.e1 || "";
  const same = was === turn.a1 && explained === (turn.e1 || "");
  return element("div.turn", {}, element("span.lab", {}, label),
    element("span.ans", { dir: "auto" }, marked(turn.a1, changedWords(was, turn.a1), "ins")),
    text(turn.e1, changedWords(explained, turn.e1 || ""), "ins"),
    same && element("span.same", {}, "= both texts unchanged, word for word"),
    turn.status && element("p.say", {}, [turn.status, turn.stage, turn.why].filter(Boolean).join(": ")),
    verdicts(view, turn));
}

function controls(cell) {
  if (!cell.k) return null;
  return element("ul.ctl", {}, cell.k.map(([kind, what, answer, changed]) => {
    const good = changed === null ? "open" : Boolean(changed) === (kind === "blank image") ? "yes" : "no";
    const said = changed === null ? "no outcome" : changed ? `answer changed: “${answer}”` : "answer stayed";
    return element("li", {}, icon(good), element("span", {}, element("i", {}, kind + " "), said, what && element("i", {}, " " + what.split(". Keep")[0])));
  }));
}

function modelOf(view, name, cell, hit) {
  const [ending, long] = about.endings[cell.o];
  const cites = cell.t.flatMap((turn) => turn.cites || []);
  const absent = cell.t.flatMap((turn) => turn.absent || []);
  return element("section.mod" + (hit ? ".hit" : ""), { "aria-label": name },
    element("h4", { title: long }, name, element("span.chip", {}, sign(cell.o), ending)),
    element("div.turn", {}, element("span.lab", {}, "Before"), element("span.ans", { dir: "auto" }, cell.a0 || "no answer", cell.right === 0 && element("i", {}, " wrong")), text(cell.e0, citedWords(cell.e0 || "", cites), "mark"), cell.rep && element("p.say", {}, "The explanation only repeats the answer"),
      absent.length > 0 && element("p.say", {}, "Not in the image: " + absent.join(", "))),
    cell.t.map((turn, number) => turnOf(view, cell, turn, number)), controls(cell));
}

/* What is known of an edit: whether it was verified, what a gate tried, seed and hashes. */
function edited(item, turn) {
  const state = turn.ok === 1 ? "Edit verified. " : turn.ok === 0 ? `Edit failed its check${turn.flaw ? ": " + turn.flaw : ""}. ` : "Edit not verified. ";
  const hashes = [turn.seed !== undefined && `seed ${turn.seed}`, `original ${item.sha.slice(0, 10)}`, turn.sha && `edited ${turn.sha.slice(0, 10)}`].filter(Boolean).join(" · ");
  const tries = (turn.tries || []).map(([number, seed, ok, why], n) => element("li", {}, image(number, `Attempt ${n + 1}`), `${ok === 1 ? "accepted" : "rejected"}, seed ${seed}${why ? ": " + why : ""}`));
  return [element("p.meta", {}, element("span", { class: turn.ok === 1 ? null : "bad" }, state), turn.read && `Reader: ${turn.read[0]} → ${turn.read[1]}. `, hashes), tries.length > 0 && element("details", {}, element("summary", {}, `${tries.length} attempts behind the gate`), element("ul.tries", {}, tries))];
}

/* The models of an item in groups that share their edits, the largest group first. */
function groups(view, item) {
  const found = new Map();
  for (const name of view.models.filter((model) => item.m[model])) {
    const key = item.m[name].t.map((turn) => turn.sha || "").join(" ");
    found.set(key, [...(found.get(key) || []), name]);
  }
  return [...found.values()].sort((a, b) => b.length - a.length);
}

function bodyOf(view, item, model) {
  return element("div.body", {}, groups(view, item).map((names) => {
    const turns = item.m[names[0]].t.filter((turn) => turn.img !== undefined);
    const left = turns.map((turn) => element("div.one", {}, element("h3", {}, (turn.text || "").split(". Keep")[0]), turn.gone && element("p.say", {}, "Must be gone: " + turn.gone), compare(item, turn, false), edited(item, turn)));
    const none = element("div.one", {}, element("h3", {}, "No edit was made"), element("div.stage", { onclick: () => enlarge(item, null) }, image(item.img, "Original image: " + item.q)));
    return element("div.edit", {}, element("div", {}, left.length ? left : none), element("div.mods", {}, names.map((name) => modelOf(view, name, item.m[name], name === model))));
  }));
}

function same(cell, turn) { return turn.a1 === cell.a0 && turn.e1 === cell.e0; }

const study = {
  model: "Model",
  order: "by id",
  filters: [
    ["score", "CCS", [["1", "1"], ["0", "0"], ["none", "none"], ["same", "1, text unchanged"]]],
    ["ok", "Edit", [["1", "verified"], ["0", "failed its check"], ["none", "not verified"]]],
  ],
  split: (view) => view.judges.length > 1 && "judges disagree",
  splits: (cell, view) => disagree(cell, view.judges),
  fits(cell, view, wanted) {
    const first = cell.t[0], score = ccsOf(first, view.judges[0]);
    const ok = first && first.ok !== undefined ? String(first.ok) : "none";
    if (wanted.ok && ok !== wanted.ok) return false;
    if (wanted.score === "same") return score === 1 && same(cell, first);
    return !wanted.score || String(score === null ? "none" : score) === wanted.score;
  },
  texts: (cell) => [cell.a0, cell.e0, ...cell.t.flatMap((turn) => [turn.text, turn.a1, turn.e1, turn.why, ...Object.values(turn.j || {}).map((said) => said[3])])],
  body: bodyOf,
};
