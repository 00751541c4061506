"""The trust panel: what backs the figures of the first screen, and what does not, with the command that would."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any, Literal

from cfeval.edct.faithfulness.claims import BOUNDS
from cfeval.edct.faithfulness.instruments import LEAST_CHECKED, MOST_FALSE_EDITS
from cfeval.edct.report.evidence import Count
from cfeval.edct.report.finding import Line
from cfeval.edct.tables.faithfulness import LEAST_SHAM, LEAST_SPECIFICITY
from cfeval.report.digits import percent

# `run`: what came of it says something of the models, and is neither good nor bad for the figures.
State = Literal["backed", "run", "partly", "not run", "fails"]
GOOD: tuple[State, ...] = ("backed", "run")
BAD: tuple[State, ...] = ("not run", "fails")


@dataclass(frozen=True)
class Check:
    """One thing that the figures rest on."""

    title: str
    state: State
    text: str
    command: str
    """What would back it."""

    @property
    def bad(self) -> bool:
        """Whether nothing backs the figures here."""
        return self.state in BAD


def checks(lines: Sequence[Line], instrument: Iterable[Any]) -> list[Check]:
    """The six checks of these lines."""
    if not lines:
        return []
    return [
        _edits(lines),
        _judge(lines, list(instrument)),
        _sham(lines),
        _floor(lines),
        _controls(lines),
        _texts(lines),
    ]


def _edits(lines: Sequence[Line]) -> Check:
    made, verified = sum(line.evidence.edits for line in lines), _sum(line.evidence.verified for line in lines)
    each = [
        line.evidence.verified.n >= LEAST_CHECKED * line.evidence.edits > 0
        and (line.card is not None and line.card.false_edits is not None and line.card.false_edits < MOST_FALSE_EDITS)
        for line in lines
    ]
    wrong = verified.n and verified.found < LEAST_CHECKED * verified.n
    if not verified.n:
        text = f"Nobody checked whether the {made:,} edits show what was asked and nothing else."
    else:
        text = f"The verifier found {_share_text(verified)} checked edits made as asked, with nothing else changed"
        text += "." if verified.n == made else f"; {made - verified.n:,} were not checked."
        shown = [line for line in lines if line.card is not None and line.card.n_sham_edits]
        most = max((line.card.false_edits for line in shown), default=1.0)
        text += (
            f" By the sham edits that it was shown, at most {percent(most)} of those were not made."
            if shown
            else " It was shown no sham edits, so it may accept anything."
        )
        if absent := sum(line.card.n_absent for line in shown):
            seen = sum(round((line.card.absent_seen or 0) * line.card.n_absent) for line in shown)
            text += f" Asked about {absent:,} things that are not in the images, it saw {seen:,} of them."
        wrong = wrong or (bool(shown) and most >= MOST_FALSE_EDITS)
    cards = [line.card for line in lines if line.card is not None]
    if read := sum(card.n_read for card in cards):
        moved = sum(card.n_reader_moved for card in cards)
        text += f" The answer of a second model, the reader, changed after {moved:,} of {read:,} cited edits."
    datasets = dict.fromkeys(line.condition.dataset for line, done in zip(lines, each, strict=True) if not done)
    verifiers = {name: {"plugin": "semantic", "model": {"plugin": "…", "model": "…"}} for name in datasets}
    return Check("Edits verified", "fails" if wrong else _state(each), text, _again({"verifiers": verifiers}))


def _judge(lines: Sequence[Line], instrument: Sequence[Any]) -> Check:
    texts, each, weak = [], [], False
    judges = dict.fromkeys(line.condition.judge for line in lines)
    for judge in judges:
        error = _error_of(judge, lines, instrument)
        each.append(bool(error))
        if error:
            source, sensitivity, specificity = error
            rates = [f"{percent(sensitivity)} of what is right"] if sensitivity is not None else []
            rates += [f"{percent(1 - specificity)} of what is wrong"] if specificity is not None else []
            texts.append(f"{judge} scored 1 on {' and '.join(rates)}, {source}.")
            weak |= specificity is not None and specificity < LEAST_SPECIFICITY
        else:
            texts.append(f"Nobody knows how often {judge} is wrong.")
    exam = "\n".join(f"cfeval exam --judge {judge} --out results/exam-{judge}" for judge in judges)
    files = {judge: f"results/exam-{judge}.csv" for judge in judges}
    state: State = "fails" if weak else _state(each)
    return Check("Judge's error known", state, " ".join(texts), f"{exam}\n{_again({'exams': files})}")


def _error_of(
    judge: str, shown_lines: Sequence[Line], instrument: Sequence[Any]
) -> tuple[str, float | None, float | None] | None:
    """How a judge's error was measured, its sensitivity and specificity: by the exam, else on test models."""
    lines = [line for line in shown_lines if line.condition.judge == judge]
    for line in lines:
        row = line.faithfulness
        if row is not None and row.exam_specificity is not None:
            return "in the judge exam", row.exam_sensitivity, row.exam_specificity
    protocols = {line.condition.protocol for line in lines}
    for row in instrument:
        if row.judge == judge and row.protocol in protocols and row.specificity is not None:
            return f"on test models ({row.measured_on})", row.sensitivity, row.specificity
    return None


def _sham(lines: Sequence[Line]) -> Check:
    sham = _sum(line.evidence.sham for line in lines)
    text = "Nobody showed the judge edits that were never made."
    if sham.n:
        text = f"Shown an edit that was never made, the judge scored 1 on {_share_text(sham)}."
    weak = any(line.evidence.sham.found > (1 - LEAST_SPECIFICITY) * line.evidence.sham.n for line in lines)
    each = [line.evidence.sham.n >= LEAST_SHAM for line in lines]
    if sham.n and not all(each):
        text += f" {LEAST_SHAM} for each model are needed."
    return Check("Sham edits", "fails" if weak else _state(each), text + _lack(lines, each), _controls_command(lines))


def _floor(lines: Sequence[Line]) -> Check:
    null, each = _sum(line.evidence.null for line in lines), [line.evidence.null.n > 0 for line in lines]
    text = "Nobody showed a model the same image twice."
    if null.n:
        text = f"Shown the same image again, {_share_text(null)} answers changed."
    if (by_editor := _sum(line.evidence.editor_null for line in lines)).n:
        text += f" Shown what the editor made of it when told to change nothing, {_share_text(by_editor)} did."
    cards = [line.card for line in lines if line.card is not None and line.card.n_again]
    if cards:
        again, answered, withdrawn = (
            sum(getattr(card, f"n_{name}") for card in cards) for name in ("again", "answered", "withdrawn")
        )
        text += (
            f" Asked once more by another seed {again:,} times, a model answered {answered:,} times where it had not, "
            f"and {withdrawn:,} times its answer no longer differed."
        )
    high = any(line.evidence.null.found > BOUNDS["D"] * line.evidence.null.n for line in lines)
    return Check("Noise floor", "fails" if high else _state(each), text + _lack(lines, each), _controls_command(lines))


def _controls(lines: Sequence[Line]) -> Check:
    kinds: Mapping[str, Count] = {
        "an uncited object": _sum(line.evidence.uncited["object"] for line in lines),
        "an uncited background": _sum(line.evidence.uncited["background"] for line in lines),
        "a blank image": _sum(line.evidence.blank for line in lines),
    }
    each = [line.evidence.controlled for line in lines]
    text = "No edit of an uncited thing and no blank image was shown."
    if any(count.n for count in kinds.values()):
        counts = "; ".join(f"{kind}: {_share_text(count)}" for kind, count in kinds.items())
        text = f"The answer changed after {counts}."
    state: State = "run" if all(each) else _state(each)
    return Check("Controls", state, text + _lack(lines, each), _controls_command(lines))


def _texts(lines: Sequence[Line]) -> Check:
    same = _sum(line.evidence.unchanged for line in lines)
    judges = dict.fromkeys(line.condition.judge for line in lines if line.evidence.unchanged.found)
    text = f"{_share_text(same)} items scored 1 have the very texts that they had before the edit."
    if not same.n:
        text = "No item of the 2025 protocol scored 1."
    command = "\n".join(f"cfeval exam --judge {judge} --out results/exam-{judge}" for judge in judges)
    return Check("Text unchanged among those scored 1", "fails" if same.found else "backed", text, command)


def _lack(lines: Sequence[Line], each: Sequence[bool]) -> str:
    """Which models a check does not cover, where it covers some."""
    lacking = list(dict.fromkeys(line.model for line, done in zip(lines, each, strict=True) if not done))
    return f" Not run: {', '.join(lacking)}." if any(each) and lacking else ""


def _state(each: Sequence[bool]) -> State:
    return "backed" if all(each) else "partly" if any(each) else "not run"


def _controls_command(lines: Sequence[Line]) -> str:
    """What runs the controls of every line; lines that differ in the model alone are one block."""
    blocks: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        names = line.condition
        models = blocks.setdefault((names.dataset, names.writer, names.editor, names.judge), [])
        models += [names.vlm] * (names.vlm not in models)
    fields = ("dataset", "writer", "editor", "judge")
    made = [
        {"vlm": models, **{field: [name] for field, name in zip(fields, names, strict=True)}}
        for names, models in blocks.items()
    ]
    return _again({"tables": {"controls": made}})


def _again(edct: Mapping[str, Any]) -> str:
    return f"snakemake --config edct='{json.dumps(edct, ensure_ascii=False)}'"


def _sum(counts: Iterable[Count]) -> Count:
    return reduce(add, counts, Count())


def _share_text(count: Count) -> str:
    return f"{count.found:,} of {count.n:,}"
