"""The table of a judge exam: how often a judge gives the gold score, by score and kind of case; and whom it examined.

The last score is of the comparison: whether the judge tells that an answer changed, which decides FIT where the texts
alone do not.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cfeval.core import registry
from cfeval.core.errors import InputError
from cfeval.core.folder import quoted
from cfeval.core.hashes import Hashes, digest
from cfeval.core.jsonl import read_csv
from cfeval.core.records import Binary, Record, Status
from cfeval.edct.exam.cases import KINDS, ExamCase
from cfeval.edct.exam.verdict import LEVEL, ExamError, Task, Verdict, task_faults, verdict
from cfeval.edct.protocols.rules import EDCT_2025, NULL_EDIT
from cfeval.inference.remote.request import canonical
from cfeval.report.tables import Figure, RenderedTable, figures_of, intervals, with_interval
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import rounded
from cfeval.stats.misclassification import JudgeError
from cfeval.stats.proportions import Share, share, wilson

# Under which a judge is examined: for its scores, and for its comparison of answers.
PROTOCOLS = (EDCT_2025, NULL_EDIT)
_DIGITS = 16


class Identity(Record):
    """A plugin with all that its replies depend on; empty: the table does not say."""

    plugin: str = ""
    model: str = ""
    """The models that it asks, as they are called in its options, by commas."""
    options: str = ""
    """The first 16 hexadecimal digits of the SHA-256 of its options and those of its parts."""
    prompts: str = ""
    """The same of the contents of its prompts and other files."""


NOBODY = Identity()


def identity(family: str, spec: Mapping[str, Any]) -> Identity:
    """The identity of a judge or verifier.

    Options count as they work: one that is written out and has its default value is the same as one that is left out.

    Args:
        family: `judges` or `verifiers`.

    Raises:
        ParamsError: no such plugin or option.
    """
    parts = list(registry.components(family, spec))
    files, hashes = registry.dependencies(family, spec, PROTOCOLS), Hashes()
    contents = [hashes.path(file) or "" for file in files]
    chats = [part for family_of_part, part in parts if family_of_part == "chat"]
    models = [str(getattr(registry.plugin_of("chat", part), "model", part["plugin"])) for part in chats]
    return Identity(
        plugin=str(spec["plugin"]),
        model=", ".join(dict.fromkeys(models)),
        options=_short([_options(part, part_spec) for part, part_spec in parts]),
        prompts=_short(contents) if contents else "",
    )


def _options(family: str, spec: Mapping[str, Any]) -> list[Any]:
    """A part's own options; how many parts it has itself tells where they end in the list of all."""
    plugin = registry.plugin_of(family, spec)
    own = plugin.model_dump(mode="json", exclude_defaults=True)
    schemas = {name: field.json_schema_extra for name, field in type(plugin).model_fields.items()}
    nested = {name for name, schema in schemas.items() if isinstance(schema, Mapping) and "family" in schema}
    kept = {name: value for name, value in own.items() if name not in nested}
    return [family, spec["plugin"], kept, len(plugin.components())]


def _short(content: Any) -> str:
    return digest(canonical(content).encode())[:_DIGITS]


def differences(examined: Identity, wanted: Identity) -> list[str]:
    """In what another judge was examined, as a reader is told: what the table says, and what the study has."""
    reasons = []
    for name in ("plugin", "model"):
        old, new = getattr(examined, name), getattr(wanted, name)
        if old != new:
            reasons.append(f"its {name} is {new or 'none'}, and {old or 'none'} was examined")
    if not reasons and examined.options != wanted.options:
        reasons.append("its options are others now")
    if examined.prompts != wanted.prompts and examined.plugin == wanted.plugin:
        reasons.append("its prompts or other files are others now")
    return reasons


COMPARED = "answer_changed"
# The scores, and what they are called.
SCORES = {"pcs": "PCS", "ncc": "NCC", "ccs": "CCS", COMPARED: "Answer changed"}
# All cases; and, of the comparison, those whose answers are word for word the same.
ALL, IDENTICAL = "all", "identical"


class ExamReply(Record):
    """What a judge gave for a case, next to the gold scores; no scores where the status is not ok."""

    id: str
    kind: str
    gold_pcs: Binary
    gold_ncc: Binary
    gold_ccs: Binary
    gold_answer_changed: Binary
    pcs: Binary | None = None
    ncc: Binary | None = None
    ccs: Binary | None = None
    answer_changed: Binary | None = None
    status: Status
    """Of PCS, NCC and CCS."""
    reason: str = ""
    completion: str = ""
    compared: Status
    """Of the comparison of answers."""
    compared_reason: str = ""
    compared_completion: str = ""


class ExamRow(Identity):
    """One score on one kind of cases; shares in [0, 1], None where there is no such case."""

    score: str
    kind: str
    n: int
    n_scored: int
    missing: str = ""
    """Why cases have no score, and how many."""
    sensitivity: Figure = None
    sensitivity_lo: Figure = None
    sensitivity_hi: Figure = None
    n_gold_1: int = 0
    """Scored cases whose gold score is 1."""
    size_gold_1: Figure = None
    """As how many independent cases they count: one question has several."""
    specificity: Figure = None
    specificity_lo: Figure = None
    specificity_hi: Figure = None
    n_gold_0: int = 0
    size_gold_0: Figure = None
    ci: str = ""
    cases: int = 0
    """How many cases the exam was to have in all: one that was stopped has fewer in the row of all."""


def rows(replies: Sequence[ExamReply], cases: Sequence[ExamCase], examined: Identity = NOBODY) -> list[ExamRow]:
    """A row for each score over all cases, then for each score and kind; last one of the answers that are the same.

    Args:
        replies: what the judge gave, in the order of the cases; fewer where the exam was stopped.
        cases: those that it was to be shown.
    """
    questions = {case.id: case.question for case in cases}
    same = {case.id for case in cases if case.identical}
    kinds = [kind for kind in KINDS if any(reply.kind == kind for reply in replies)]
    chosen = {ALL: list(replies)} | {kind: [reply for reply in replies if reply.kind == kind] for kind in kinds}
    table = [_row(score, kind, some, questions) for kind, some in chosen.items() for score in SCORES]
    table.append(_row(COMPARED, IDENTICAL, [reply for reply in replies if reply.id in same], questions))
    return [row.model_copy(update={**examined.model_dump(), "cases": len(cases)}) for row in table]


def _row(score: str, kind: str, replies: Sequence[ExamReply], questions: Mapping[str, str]) -> ExamRow:
    scored = [reply for reply in replies if getattr(reply, score) is not None]
    ones, zeros = ([reply for reply in scored if getattr(reply, f"gold_{score}") == gold] for gold in (1, 0))
    ended = "compared" if score == COMPARED else "status"
    missing = Counter(str(getattr(reply, ended)) for reply in replies if getattr(reply, score) is None)
    right = {1: _right(ones, score, questions), 0: _right(zeros, score, questions)}
    estimates = {"sensitivity": interval(right[1]), "specificity": interval(right[0])}
    return ExamRow.model_validate(
        {
            "score": score,
            "kind": kind,
            "n": len(replies),
            "n_scored": len(scored),
            "missing": ", ".join(f"{status} {count}" for status, count in sorted(missing.items())),
            "n_gold_1": len(ones),
            "n_gold_0": len(zeros),
            **{f"size_gold_{gold}": rounded(counts.size) for gold, counts in right.items() if counts},
            **figures_of(estimates),
        }
    )


def _right(replies: Sequence[ExamReply], score: str, questions: Mapping[str, str]) -> Share | None:
    return right_share(
        [(getattr(reply, score) == getattr(reply, f"gold_{score}"), questions[reply.id]) for reply in replies]
    )


def right_share(right: Sequence[tuple[bool, str]]) -> Share | None:
    """The share of cases that are right, each with its cluster; None where there is no case."""
    return share([float(flag) for flag, _ in right], [cluster for _, cluster in right]) if right else None


def interval(accuracy: Share | None) -> Estimate:
    """A share with its Wilson interval; no figure where there is no share."""
    return wilson(accuracy, LEVEL) if accuracy else Estimate(None)


def outcome(table: Sequence[ExamRow]) -> Verdict:
    """Whether the judge has passed: see `cfeval.edct.exam.verdict`."""
    whole = {row.score: row for row in table if row.kind == ALL}
    return verdict({SCORES[score]: _task(whole[score]) for score in ("ccs", COMPARED)})


def _task(row: ExamRow) -> Task:
    error = _error(row)
    return Task(row.n, row.n_scored, row.missing, error.sensitivity, error.specificity)


def exam_error(table: Path, judge: str = "", wanted: Identity | None = None) -> ExamError:
    """What the table of an exam says of a judge over all cases.

    Args:
        wanted: who it is there; None: any judge's table is taken.

    Raises:
        InputError: there is no such table, it is another one or not whole, or it is that of another judge.
    """
    again = f"`cfeval exam{f' --judge {quoted(judge)}' if judge else ''} --out {quoted(table.with_suffix(''))}`"
    if not table.is_file():
        raise InputError(f"{table}: no such file; {again} writes it")
    read = read_csv(table, ExamRow)
    rows_of_kind = {row.kind: row for row in read if row.score == "ccs"}
    if ALL not in rows_of_kind:
        raise InputError(f"{table}: no row of CCS over all cases; name a table that `cfeval exam` wrote")
    whole = rows_of_kind.pop(ALL)
    if wanted is not None:
        examined = Identity.model_validate({name: getattr(whole, name) for name in Identity.model_fields})
        if examined == NOBODY and wanted != NOBODY:
            raise InputError(f"{table}: does not say which judge was examined, as older tables do not; {again} says it")
        if examined != wanted:
            reasons = " and ".join(differences(examined, wanted))
            raise InputError(f"{table}: another judge was examined: {reasons}; {again} examines this one")
    if whole.n < whole.cases or str(Status.TRANSPORT_ERROR) in whole.missing:
        raise InputError(f"{table}: the exam is not whole, calls failed or it was stopped; {again} goes on with it")
    wrong = {
        kind: count
        for kind, row in rows_of_kind.items()
        if (count := round((1 - (row.sensitivity or 0)) * row.n_gold_1 + (1 - (row.specificity or 0)) * row.n_gold_0))
    }
    by_kind = ", ".join(
        f"{kind.replace('_', ' ')} {count} of {rows_of_kind[kind].n_scored}" for kind, count in wrong.items()
    )
    compared = next((row for row in read if (row.score, row.kind) == (COMPARED, ALL)), None)
    error = _error(whole)
    return ExamError(
        error.sensitivity,
        error.specificity,
        by_kind,
        compared=_error(compared) if compared else None,
        faults=tuple(task_faults(_task(whole))),
        compared_faults=tuple(task_faults(_task(compared))) if compared else (),
    )


def _error(row: ExamRow) -> JudgeError:
    return JudgeError(
        share_of(row.sensitivity, row.n_gold_1, row.size_gold_1),
        share_of(row.specificity, row.n_gold_0, row.size_gold_0),
    )


def share_of(value: Figure, n: int, size: Figure) -> Share | None:
    """The share that a row holds: its value, its cases, and as how many independent ones they count."""
    return None if value is None or size is None else Share(value, n, size)


def render(table: Sequence[ExamRow]) -> RenderedTable:
    """The table for readers."""
    headings = ("Score", "Cases", "Scored", "Sensitivity", "Specificity", "Missing")
    body = tuple(
        (
            SCORES[row.score],
            row.kind.replace("_", " "),
            f"{row.n_scored} of {row.n}",
            counted(with_interval(row, "sensitivity"), row.n_gold_1),
            counted(with_interval(row, "specificity"), row.n_gold_0),
            row.missing,
        )
        for row in table
    )
    notes = (
        "Sensitivity: share of 1s where the gold score is 1; specificity: share of 0s where it is 0; in brackets how "
        "many such cases are scored. Cases without a score count for neither. " + intervals(table).strip(),
        "Answer changed: whether another answer is told from the one before, without the edit; it decides FIT where "
        "the texts alone do not. Identical: the answer is word for word the same.",
        *examined_note(table),
        "Kinds: " + "; ".join(f"{kind.replace('_', ' ')}: {what}" for kind, what in KINDS.items()) + ".",
    )
    return RenderedTable("edct_exam", "Judge exam: error of a judge on cases of known scores", headings, body, notes)


def examined_note(table: Sequence[Any]) -> Iterator[str]:
    """Who was examined, and how far."""
    for row in table[:1]:
        if row.plugin:
            model = f", model {row.model}" if row.model else ""
            yield f"Examined: plugin {row.plugin}{model}, options {row.options}, prompts {row.prompts or 'none'}."
        if row.n < row.cases:
            yield f"Stopped after {row.n} of {row.cases} cases: the same command goes on."


def counted(figure: str, n: int) -> str:
    """A figure and, in brackets, how many cases it rests on."""
    return f"{figure} ({n})" if figure else ""
