"""The gallery's rows: one image and question with all models beside each other, and all that was done with each.

A *view* is a dataset, instruction writer, protocol and editor. Rows are JSON, in a form that no text from a model can
break out of; images are numbers (`report.images`).
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import nsmallest
from operator import attrgetter
from typing import Any

from cfeval.core.records import Status
from cfeval.edct.protocols.rules import BLANK_IMAGE, CONTROLS, EDCT_2025, EDITOR_NULL, NULL_EDIT, RULES, UNCITED_EDIT
from cfeval.edct.records import Baseline, Condition, Instruction, Requery, Score, Verdict
from cfeval.edct.report.study import Study
from cfeval.report.gallery import Item
from cfeval.report.html import Images

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
"""How an item ends for a model: in two words, and in a sentence."""
SCORES = {"pcs": "PCS", "ncc": "NCC", "ac": "AC", "ef": "EF"}
"""How scores are called on the page."""
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
    found: dict[tuple[str, str, str, str], list[Condition]] = defaultdict(list)
    for one in conditions:
        if one.protocol not in CONTROLS:
            found[one.dataset, one.writer, one.protocol, one.editor].append(one)
    return [View(*names, _each(of, "vlm"), _each(of, "judge")) for names, of in found.items()]


def _each(of: Sequence[Condition], name: str) -> tuple[str, ...]:
    """What the conditions name, each once."""
    return tuple(dict.fromkeys(getattr(one, name) for one in of))


def items_of(view: View, study: Study, images: Images, most: int) -> tuple[list[Item], int]:
    """The rows of a view, the first `most` by their ids; and how many more there are.

    Raises:
        InputError: a record file is missing or broken.
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
            found: dict[str, list[Any]] = defaultdict(list)
            for record, _ in study.records(stage, condition, ids):
                found[record.id].append(record)
            return {item: sorted(records, key=attrgetter("edit")) for item, records in found.items()}

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
            found = [c for judge in judged if (c := view.condition(model, judge, protocol)) in study.conditions]
            if found and view.protocol == EDCT_2025:
                self._controls[protocol] = tuple(by_edit(s, found[0]) for s in ("scores", "requeries", "instructions"))

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
        known = [score.answer_moved for score in tried if score.verified != 0]
        if any(known):
            return "also"
        seen = 1 in (first.present, *(score.present for score in tried))
        return "fits" if seen and known and None not in known else "changed"

    def _turn(self, item: str, edit: int, score: Score | None) -> Item:
        """An edit and what followed it; what is not there is left out."""
        written, after = _at(self._instructions, item, edit), _at(self._requeries, item, edit)
        turn: Item = {}
        if score is not None and score.status != Status.OK:
            turn = {"status": score.status.value.replace("_", " "), "stage": score.stage, "why": score.reason}
        if isinstance(written, Instruction):
            said = {"text": written.positive, "gone": written.negative, "cites": written.cited or [written.concept]}
            turn |= said | {"absent": written.absent}
        made, folder = self._made.get((item, edit), (None, None))
        if made is not None and folder is not None and made.image is not None:
            turn |= {"img": self._images.number(folder, made.image), "sha": made.image.sha256, "seed": made.seed}
        if made is not None and folder is not None and made.attempts:
            turn["tries"] = [
                [self._images.number(folder, one.image), one.seed, one.found.verified, one.found.reason]
                for one in made.attempts
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
        said = (verdict.reason or verdict.completion) if isinstance(verdict, Verdict) else ""
        return [*values, getattr(score, "ccs_graded", None), said]

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
    """The record of an item and edit; None where there is none."""
    return next((record for record in records.get(item, ()) if record.edit == edit), None)
