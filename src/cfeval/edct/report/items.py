"""The gallery's rows, one image and question with all models beside each other, and the trust cards above them.

A *view* is a dataset, instruction writer, protocol and editor. Rows are JSON, in a form that no text from a model can
break out of; images are numbers (`report.html`). A card says what may be claimed, what was refuted, and shows three
items.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from operator import attrgetter
from typing import Any

from markupsafe import Markup

from cfeval.core.records import Status
from cfeval.edct.faithfulness.claims import ABOVE, CLAIMS, Letter
from cfeval.edct.protocols.rules import BLANK_IMAGE, CONTROLS, EDCT_2025, EDITOR_NULL, NULL_EDIT, RULES, UNCITED_EDIT
from cfeval.edct.records import Baseline, Condition, Instruction, Requery, Score, Verdict
from cfeval.edct.report.evidence import Study
from cfeval.edct.report.finding import Line
from cfeval.edct.tables.card import FIELDS, bound_of
from cfeval.report.bars import interval_bar
from cfeval.report.digits import two
from cfeval.report.gallery import Item
from cfeval.report.html import Images

# How an item ends for a model: in two words, and in a sentence.
ENDINGS: Mapping[str, tuple[str, str]] = {
    "fits": ("passes FIT", "The answer changed with the cited thing and with nothing that is not cited"),
    "changed": ("changed", "The answer changed with the cited thing; whether other things change it is not known"),
    "also": ("uncited too", "The answer changed with the cited thing, and with something that is not cited"),
    "stayed": ("stayed", "The cited thing was changed and the answer stayed"),
    "one": ("CCS 1", "The judge found answer and explanation consistent with the edit"),
    "zero": ("CCS 0", "The judge found the answer or the explanation inconsistent with the edit"),
    "absent": ("not there", "What the explanation cites is not in the image"),
    "missing": ("no score", "The item has no score: a text, an edit or a verdict is missing"),
}
# How scores are called on the page.
SCORES = {"pcs": "PCS", "ncc": "NCC", "ac": "AC", "ef": "EF"}
_KINDS: Mapping[str, str] = {
    NULL_EDIT: "null edit",
    EDITOR_NULL: "null edit by the editor",
    BLANK_IMAGE: "blank image",
}


@dataclass(frozen=True)
class View:
    """What one gallery shows, and which of its models and judges in which order."""

    dataset: str
    writer: str
    protocol: str
    editor: str
    models: tuple[str, ...]
    judges: tuple[str, ...]

    @property
    def title(self) -> str:
        """Its names in one line."""
        return " · ".join((self.dataset, self.protocol, self.editor, self.writer))

    def condition(self, model: str, judge: str, protocol: str = "") -> Condition:
        """The condition of a model and judge; of a control, if `protocol` names one."""
        names = {"dataset": self.dataset, "writer": self.writer, "editor": self.editor}
        return Condition(vlm=model, judge=judge, protocol=protocol or self.protocol, **names)

    def as_json(self) -> Item:
        """What the page's script knows of it."""
        names = [SCORES[score] for score in RULES[self.protocol].scores]
        return {"title": self.title, "models": self.models, "judges": self.judges, "scores": names}


def views(conditions: Sequence[Condition]) -> list[View]:
    """The views of a study's conditions, in their order; controls are part of the items that they control."""
    by_view: dict[tuple[str, str, str, str], list[Condition]] = defaultdict(list)
    for condition in conditions:
        if condition.protocol not in CONTROLS:
            by_view[condition.dataset, condition.writer, condition.protocol, condition.editor].append(condition)
    shown = []
    for names, of_view in by_view.items():
        models, judges = [condition.vlm for condition in of_view], [condition.judge for condition in of_view]
        shown.append(View(*names, tuple(dict.fromkeys(models)), tuple(dict.fromkeys(judges))))
    return shown


def items_of(view: View, study: Study, images: Images, most: int) -> tuple[list[Item], int]:
    """The rows of a view, the first `most` by their ids; and how many more there are; InputError where a record file is
    missing or broken.
    """
    had = [
        view.condition(model, judge)
        for model in view.models
        for judge in view.judges
        if view.condition(model, judge) in study.conditions
    ]
    ids, others = _first(had[0], study, most)
    samples = {sample.id: (sample, folder) for sample, folder in study.records("items", had[0], ids)}
    models = {model: _Model(view, model, study, images, ids) for model in view.models}
    rows = [
        {
            "id": item,
            "q": samples[item][0].question,
            "kind": samples[item][0].kind,
            "ref": samples[item][0].reference,
            "img": images.number(samples[item][1], samples[item][0].image),
            "sha": samples[item][0].image.sha256,
            "m": {name: cell for name, model in models.items() if (cell := model.cell(item))},
        }
        for item in sorted(ids)
    ]
    return rows, others


def _first(condition: Condition, study: Study, most: int) -> tuple[set[str], int]:
    """The first ids of a condition, whatever the order of its files; and how many more there are."""
    seen = 0

    def ids() -> Iterator[str]:
        nonlocal seen
        for sample, _ in study.records("items", condition):
            seen += 1
            yield sample.id

    first = set(nsmallest(most, ids()))
    return first, seen - len(first)


class _Model:
    """All records of one model in a view, of the items that are shown."""

    def __init__(self, view: View, model: str, study: Study, images: Images, ids: Collection[str]) -> None:
        self._view, self._images = view, images
        judged = [judge for judge in view.judges if view.condition(model, judge) in study.conditions]
        self._there = bool(judged)
        if not judged:
            return

        def by_edit(stage: str, condition: Condition) -> dict[str, list[Any]]:
            by_stage: dict[str, list[Any]] = defaultdict(list)
            for record, _ in study.records(stage, condition, ids):
                by_stage[record.id].append(record)
            return {item: sorted(records, key=attrgetter("edit")) for item, records in by_stage.items()}

        first = view.condition(model, judged[0])
        self._baselines: dict[str, Baseline] = {r.id: r for r, _ in study.records("baselines", first, ids)}
        self._instructions = by_edit("instructions", first)
        self._requeries = by_edit("requeries", first)
        self._made = _folders(study, "counterfactuals", first, ids)
        self._checks = _folders(study, "checks", first, ids)
        self._scores = {judge: by_edit("scores", view.condition(model, judge)) for judge in judged}
        self._verdicts = {judge: by_edit("verdicts", view.condition(model, judge)) for judge in judged}
        self._controls: dict[str, tuple[dict[str, list[Any]], ...]] = {}
        for protocol in CONTROLS:
            by_stage = [c for judge in judged if (c := view.condition(model, judge, protocol)) in study.conditions]
            if by_stage and view.protocol == EDCT_2025:
                self._controls[protocol] = tuple(
                    by_edit(s, by_stage[0]) for s in ("scores", "requeries", "instructions")
                )

    def cell(self, item: str) -> Item | None:
        """What a model did with an item, as JSON; None where it was not asked."""
        if not self._there or item not in self._baselines:
            return None
        first = next(iter(self._scores.values())).get(item, [])
        before = self._baselines[item]
        cell: Item = {"o": self._ending(item, first), "a0": before.answer, "e0": before.explanation}
        scores = {score.edit: score for score in first}
        written = [record.edit for record in self._instructions.get(item, ())]  # of a run at work, without scores
        cell["t"] = [self._turn(item, edit, scores.get(edit)) for edit in scores or written]
        if before.repeats_answer:
            cell["rep"] = 1
        if first and first[0].correct is not None:
            cell["right"] = first[0].correct
        if controls := list(self._tried(item)):
            cell["k"] = controls
        return cell

    def _ending(self, item: str, scores: Sequence[Score]) -> str:
        first = scores[0] if scores else None
        if first is None or first.verified == 0:
            return "missing"
        if first.status == Status.CITATION_ABSENT or first.present == 0:
            return "absent"
        if first.answer_moved is None:
            return "missing" if first.ccs is None else "one" if first.ccs else "zero"
        if not first.answer_moved:
            return "stayed"
        tried = self._controls.get(UNCITED_EDIT, ({},))[0].get(item, [])
        outcomes = [score.answer_moved for score in tried if score.verified != 0]
        if any(outcomes):
            return "also"
        seen = 1 in (first.present, *(score.present for score in tried))
        return "fits" if seen and outcomes and None not in outcomes else "changed"

    def _turn(self, item: str, edit: int, score: Score | None) -> Item:
        """An edit and what followed it; what is not there is left out."""
        written, after = _at(self._instructions, item, edit), _at(self._requeries, item, edit)
        turn: Item = {}
        if score is not None and score.status != Status.OK:
            turn = {"status": score.status.value.replace("_", " "), "stage": score.stage, "why": score.reason}
        if isinstance(written, Instruction):
            turn |= {"text": written.positive, "gone": written.negative}
            turn |= {"cites": written.cited or [written.concept], "absent": written.absent}
        made, folder = self._made.get((item, edit), (None, None))
        if made is not None and folder is not None and made.image is not None:
            turn |= {"img": self._images.number(folder, made.image), "sha": made.image.sha256, "seed": made.seed}
        if made is not None and folder is not None and made.attempts:
            turn["tries"] = [
                [self._images.number(folder, attempt.image), attempt.seed, attempt.found.verified, attempt.found.reason]
                for attempt in made.attempts
            ]
        checked, folder = self._checks.get((item, edit), (None, None))
        if checked is not None and checked.found is not None:
            turn |= {"ok": checked.found.verified, "flaw": checked.found.reason}
            if folder is not None:
                shown = checked.found.images.items()
                turn["see"] = {name: self._images.number(folder, ref) for name, ref in shown}
        if checked is not None and checked.reader is not None:
            turn["read"] = [checked.reader.before or "no answer", checked.reader.after or "no answer"]
        if checked is not None and checked.changed_share is not None:
            turn["share"] = checked.changed_share
        if isinstance(after, Requery) and after.status == Status.OK:
            turn |= {"a1": after.answer, "e1": after.explanation}
        turn["j"] = {judge: self._verdict(judge, item, edit) for judge in self._scores}
        return {name: value for name, value in turn.items() if value not in ("", None, {}, [], ())}

    def _verdict(self, judge: str, item: str, edit: int) -> list[Any]:
        """Both scores, the grade, and the judge's reason or why it gave no score."""
        score, verdict = _at(self._scores[judge], item, edit), _at(self._verdicts[judge], item, edit)
        names = RULES[self._view.protocol].scores
        values = [getattr(score, name, None) for name in names]
        text = (verdict.reason or verdict.completion) if isinstance(verdict, Verdict) else ""
        return [*values, getattr(score, "ccs_graded", None), text]

    def _tried(self, item: str) -> Iterator[list[Any]]:
        """The controls of an item: kind, what was changed, the answer, and whether it changed."""
        for protocol, (scores, requeries, instructions) in self._controls.items():
            for score in scores.get(item, []):
                after, written = _at(requeries, item, score.edit), _at(instructions, item, score.edit)
                kind = _KINDS.get(protocol) or f"uncited {score.evidence or 'edit'}"
                what = written.positive if isinstance(written, Instruction) else ""
                answer = after.answer if isinstance(after, Requery) else ""
                yield [kind, what, answer, score.answer_moved]


def _folders(study: Study, stage: str, condition: Condition, ids: Collection[str]) -> dict[tuple[str, int], Any]:
    """The records of a stage by item and edit, each with the folder of its images."""
    return {(record.id, record.edit): (record, folder) for record, folder in study.records(stage, condition, ids)}


def _at(records: Mapping[str, Sequence[Any]], item: str, edit: int) -> Any:
    return next((record for record in records.get(item, ()) if record.edit == edit), None)


EXAMPLES = 3
# Of a bar, in pixels.
_WIDTH = 200.0


@dataclass(frozen=True)
class ShownClaim:
    """A claim of the card."""

    letter: Letter
    title: str
    word: str
    """`supported`, `refuted`, `not shown`, `empty` or `not tested`."""
    note: str
    rate: str
    """`0.99, 0.98 to 1.00`; empty where there is none."""
    bar: Markup


@dataclass(frozen=True)
class Example:
    """An item that shows how a model ends."""

    view: int
    item: Item
    ending: str
    share: str
    """How many of the items on the page end so."""

    @property
    def cell(self) -> Item:
        """What the model did."""
        cell: Item = self.item["cell"]
        return cell

    @property
    def turn(self) -> Item:
        """The first edit."""
        turns = self.cell["t"]
        return turns[0] if turns else {}


def claims(line: Line) -> list[ShownClaim]:
    """The claims of a line's card; none where it has none."""
    shown = []
    for letter, name in CLAIMS.items() if line.card is not None else ():
        field, bound = FIELDS[letter], bound_of(line.card, letter)
        value, low, high = (getattr(line.card, field + end) for end in ("", "_lo", "_hi"))
        word, _, note = str(getattr(line.card, f"{field}_says")).partition(" (")
        need = f"must be {'above' if letter in ABOVE else 'below'} {bound:.2f}"
        measured = value is not None and low is not None and high is not None
        rate = f"{two(value)}, {two(low)} to {two(high)}" if measured else ""
        label = f"{name}: {rate or 'no figure'}; {need}"
        drawn = bar((value, low, high) if measured else None, bound, letter in ABOVE, label)
        shown.append(ShownClaim(letter, name, word, note.removesuffix(")") or need, rate, drawn))
    return shown


def bar(
    estimate: tuple[float, float, float] | None, bound: float, above: bool, label: str, width: float = _WIDTH
) -> Markup:
    """A rate with its interval on the line from 0 to 1, as SVG; where the claim holds is shaded."""
    return interval_bar(estimate, bound, (bound, 1) if above else (0, bound), label, width)


def summary(shown_claims: Sequence[ShownClaim]) -> Mapping[str, str]:
    """What may be claimed, was refuted and was not shown, as lists of claims."""
    by = {word: "; ".join(c.title for c in shown_claims if c.word == word) for word in ("supported", "refuted")}
    rest = "; ".join(claim.title for claim in shown_claims if claim.word not in by)
    return {"May be claimed": by["supported"] or "nothing", "Refuted": by["refuted"], "Not shown": rest}


def examples(model: str, view: int, rows: Sequence[Item]) -> list[Example]:
    """Three items: of each way in which the model ends, the most frequent first; those with an image before others."""
    mine = [{**row, "cell": row["m"][model]} for row in rows if model in row["m"]]
    counts = Counter(row["cell"]["o"] for row in mine)
    order = [ending for ending, _ in counts.most_common()]
    queues = {
        ending: sorted(
            (row for row in mine if row["cell"]["o"] == ending),
            key=lambda row: not any("img" in turn for turn in row["cell"]["t"]),
        )
        for ending in order
    }
    picked = [
        Example(view, queues[ending][turn], ENDINGS[ending][1], f"{counts[ending]:,} of {len(mine):,}")
        for turn in range(EXAMPLES)
        for ending in order
        if turn < len(queues[ending])
    ]
    return picked[:EXAMPLES]
