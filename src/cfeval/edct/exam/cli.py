"""Examine a judge or verifier by cases of known truth: measure its error by kind of case, and say whether it is fit.

A verifier's sensitivity is the share of right edits that it accepts, its specificity the share of wrong ones that it
rejects; an edit of which it cannot tell counts for neither. Wilson intervals with the scenes as clusters.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from cfeval.core import registry
from cfeval.core.cli_options import TableOut, plugin_spec
from cfeval.core.errors import CfevalError, InputError, PluginError
from cfeval.core.jsonl import write_csv
from cfeval.core.progress import track
from cfeval.core.records import Binary, Record, Status
from cfeval.edct.exam.cases import (
    EDITS,
    EditCase,
    ExamCase,
    case_request,
    comparison_request,
    edit_cases,
    edited,
    editors,
    exam_cases,
    judge_request,
    scenes,
    stratified,
)
from cfeval.edct.exam.table import (
    ALL,
    NOBODY,
    ExamReply,
    ExamRow,
    Identity,
    counted,
    examined_note,
    identity,
    interval,
    outcome,
    render,
    right_share,
    rows,
    share_of,
)
from cfeval.edct.exam.verdict import VERIFIER, Task, Verdict, verdict
from cfeval.edct.interfaces import Judge, JudgeReply, Verifier, VerifyReply
from cfeval.edct.metrics import ccs
from cfeval.inference.batching import map_requests
from cfeval.inference.remote.settings import Offline, use_offline_cache
from cfeval.report.files import write_table
from cfeval.report.tables import Figure, RenderedTable, figures_of, intervals, markdown, with_interval
from cfeval.stats.intervals import rounded

VERIFIER_BATCH = 64


class VerifierReply(Record):
    """What a verifier gave for a case, next to the truth; `accepted` is empty where it cannot tell."""

    id: str
    kind: str
    scene: int
    right: Binary
    accepted: Binary | None = None
    reason: str = ""
    completion: str = ""


class VerifierRow(Identity):
    """One kind of cases; shares in [0, 1], None where there is no such case."""

    kind: str
    n: int
    n_scored: int
    sensitivity: Figure = None
    """The share of right edits that are accepted."""
    sensitivity_lo: Figure = None
    sensitivity_hi: Figure = None
    n_right: int = 0
    size_right: Figure = None
    """As how many independent edits they count: one scene has several."""
    specificity: Figure = None
    """The share of wrong edits that are rejected."""
    specificity_lo: Figure = None
    specificity_hi: Figure = None
    n_wrong: int = 0
    size_wrong: Figure = None
    ci: str = ""
    cases: int = 0
    """How many cases the exam was to have in all: one that was stopped has fewer in the row of all."""


def examine_verifier(verifier: Verifier, cases: Sequence[EditCase], seed: int) -> Iterator[VerifierReply]:
    """What a verifier says of every case, in order."""
    shown, made_by = scenes(), editors(cases)

    async def verify(case: EditCase) -> VerifyReply:
        scene = shown[case.scene]
        image = await edited(case, scene, made_by.get(case.kind))
        return await verifier.verify(case_request(case, scene, image, seed))

    for case, reply in map_requests(cases, lambda case: case, verify, VERIFIER_BATCH):
        # An edit of what is not there does not count, whatever else is said of it.
        decided = reply.verified is not None or reply.absent
        accepted: Binary | None = (1 if reply.verified and not reply.absent else 0) if decided else None
        yield VerifierReply(
            id=case.id,
            kind=case.kind,
            scene=case.scene,
            right=case.right,
            accepted=accepted,
            reason=" ".join(reply.reason.split()),
            completion=reply.completion,
        )


def call_failed(reply: VerifierReply) -> bool:
    """Whether there is no verdict because a call failed."""
    return reply.accepted is None and str(Status.TRANSPORT_ERROR) in reply.reason


def verifier_rows(
    replies: Sequence[VerifierReply], cases: Sequence[EditCase], examined: Identity = NOBODY
) -> list[VerifierRow]:
    """A row for all cases, then one for each kind."""
    kinds = [kind for kind in EDITS if any(reply.kind == kind for reply in replies)]
    chosen = {ALL: list(replies)} | {kind: [reply for reply in replies if reply.kind == kind] for kind in kinds}
    own = {**examined.model_dump(), "cases": len(cases)}
    return [_row(kind, some).model_copy(update=own) for kind, some in chosen.items()]


def _row(kind: str, replies: Sequence[VerifierReply]) -> VerifierRow:
    scored = [reply for reply in replies if reply.accepted is not None]
    right, wrong = ([reply for reply in scored if reply.right == truth] for truth in (1, 0))
    shares = {
        name: right_share([(reply.accepted == reply.right, str(reply.scene)) for reply in some])
        for name, some in (("right", right), ("wrong", wrong))
    }
    figures = {"sensitivity": interval(shares["right"]), "specificity": interval(shares["wrong"])}
    sizes = {f"size_{name}": rounded(share.size) for name, share in shares.items() if share}
    counts = {"n": len(replies), "n_scored": len(scored), "n_right": len(right), "n_wrong": len(wrong)}
    return VerifierRow.model_validate({"kind": kind, **counts, **sizes, **figures_of(figures)})


def verifier_outcome(table: Sequence[VerifierRow]) -> Verdict:
    """Whether the verifier has passed: see `cfeval.edct.exam.verdict`."""
    whole = next(row for row in table if row.kind == ALL)
    sensitivity = share_of(whole.sensitivity, whole.n_right, whole.size_right)
    specificity = share_of(whole.specificity, whole.n_wrong, whole.size_wrong)
    return verdict({"": Task(whole.n, whole.n_scored, "", sensitivity, specificity)}, VERIFIER)


def render_verifier(table: Sequence[VerifierRow]) -> RenderedTable:
    """The table for readers."""
    headings = ("Edits", "Shown", "Told", "Right ones accepted", "Wrong ones rejected")
    body = tuple(
        (
            row.kind.replace("_", " "),
            str(row.n),
            str(row.n_scored),
            counted(with_interval(row, "sensitivity"), row.n_right),
            counted(with_interval(row, "specificity"), row.n_wrong),
        )
        for row in table
    )
    notes = (
        "In brackets: how many such edits have a verdict. " + intervals(table).strip(),
        *examined_note(table),
        "Edits: " + "; ".join(f"{kind.replace('_', ' ')}: {what}" for kind, what in EDITS.items()) + ".",
    )
    return RenderedTable("edct_exam", "Verifier exam: edits of drawn scenes, right and wrong", headings, body, notes)


R = TypeVar("R", bound=Record)
T = TypeVar("T", bound=Record)
BATCH = 32
ExamSeed = Annotated[
    int, typer.Option("--seed", min=0, help="Seed of the replies, and of the part that --cases takes.")
]
Cases = Annotated[
    int | None,
    typer.Option("--cases", help="Take so many cases: the kinds in proportion, at least one of each. Default: all."),
]


def run(
    out: TableOut,
    judge: Annotated[str, typer.Option(help="The judge, as JSON: its plugin and options.")] = "",
    verifier: Annotated[str, typer.Option(help="Or a verifier, likewise.")] = "",
    cases: Cases = None,
    seed: ExamSeed = 0,
    offline: Offline = False,
) -> None:
    """Examine a judge or verifier by cases of known truth, and say whether it is fit for use.

    Like `cfeval exam`, which takes one of the parameter file and tells what is written.
    """
    use_offline_cache(offline)
    if bool(judge) == bool(verifier):
        raise InputError("name either --judge or --verifier, as JSON: its plugin and options")
    if judge:
        write_exam(plugin_spec("judges", judge, "--judge"), out, seed, cases)
    else:
        write_verifier_exam(plugin_spec("verifiers", verifier, "--verifier"), out, seed, cases)


def write_exam(spec: Mapping[str, Any], out: Path, seed: int, count: int | None = None) -> None:
    """Examine a judge, write its replies and the table next to each other, print the table and the verdict.

    What was answered is written also where the exam is stopped or calls fail; the same command goes on, as calls that
    were answered are in the response cache.

    Args:
        out: the table, without ending.
        count: how many cases it is shown; None: all.

    Raises:
        InputError: the judge looks at images, or there is no such part; nothing is asked.
        CfevalError: calls have failed, so that there is no verdict.
        Exit: with status 1 where the judge has failed.
    """
    cases = stratified(exam_cases(), count, seed, lambda case: case.ccs)
    judge: Judge = registry.build("judges", spec)
    if judge.needs_image:
        raise InputError("the exam has texts only, and this judge looks at images; choose a judge of texts")
    examined = identity("judges", spec)
    replies, table = _written(
        out,
        track(examine(judge, cases, seed), len(cases), "exam"),
        (ExamReply, ExamRow),
        lambda replies: rows(replies, cases, examined),
        render,
    )
    ends = [end for reply in replies for end in ((reply.status, reply.reason), (reply.compared, reply.compared_reason))]
    failed = [reason or str(status) for status, reason in ends if status == Status.TRANSPORT_ERROR]
    _end(failed, 2 * len(cases), out, outcome(table))


def write_verifier_exam(spec: Mapping[str, Any], out: Path, seed: int, count: int | None = None) -> None:
    """The same for a verifier, by edits of drawn scenes; see `write_exam`."""
    cases = stratified(edit_cases(), count, seed, lambda case: case.right)
    verifier: Verifier = registry.build("verifiers", spec)
    examined = identity("verifiers", spec)
    replies, table = _written(
        out,
        track(examine_verifier(verifier, cases, seed), len(cases), "exam"),
        (VerifierReply, VerifierRow),
        lambda replies: verifier_rows(replies, cases, examined),
        render_verifier,
    )
    _end([reply.reason for reply in replies if call_failed(reply)], len(cases), out, verifier_outcome(table))


def _written(
    out: Path,
    arriving: Iterator[R],
    kinds: tuple[type[R], type[T]],
    rows_of: Callable[[Sequence[R]], list[T]],
    render: Callable[[Sequence[T]], RenderedTable],
) -> tuple[list[R], list[T]]:
    """Write all replies and the table, and print the table; where replies end early, those that came are written."""
    replies: list[R] = []

    def write() -> list[T]:
        write_csv(Path(f"{out}-replies.csv"), kinds[0], replies)
        table = rows_of(replies)
        write_table(out, kinds[1], table, render(table))
        return table

    try:
        for reply in arriving:
            replies.append(reply)
    except BaseException:
        if replies:
            write()
        raise
    table = write()
    print(markdown(render(table)), end="")
    return replies, table


def _end(failed: Sequence[str], calls: int, out: Path, verdict: Verdict) -> None:
    if failed:
        raise CfevalError(
            f"{len(failed)} of {calls} calls failed ({failed[0]}), so that there is no verdict; {out}.csv holds the "
            "others, and the same command asks only these again"
        )
    print(f"\n{verdict.sentence}")
    if not verdict.passed:
        raise typer.Exit(1)


def examine(judge: Judge, cases: Sequence[ExamCase], seed: int) -> Iterator[ExamReply]:
    """What a judge gives for every case, in order: its scores, and whether it finds that the answer changed."""

    async def both(case: ExamCase) -> tuple[JudgeReply, JudgeReply]:
        # one stream of requests has one client, whose limit of calls at once holds for both
        return await asyncio.gather(judge.judge(judge_request(case, seed)), judge.judge(comparison_request(case, seed)))

    for case, (reply, compared) in map_requests(cases, lambda case: case, both, BATCH):
        gold: dict[str, Any] = {
            "id": case.id,
            "kind": case.kind,
            "gold_pcs": case.pcs,
            "gold_ncc": case.ncc,
            "gold_ccs": case.ccs,
        }
        gold |= {"gold_answer_changed": case.answer_changed}
        scores: dict[str, Any] = {}
        if reply.status == Status.OK and set(reply.scores) != {"pcs", "ncc"}:
            raise PluginError(f"the judge gave scores {sorted(reply.scores)} for case '{case.id}', not pcs and ncc")
        if reply.status == Status.OK:
            scores = {**reply.scores, "ccs": ccs(reply.scores["pcs"], reply.scores["ncc"])}
        if compared.status == Status.OK and "answer_moved" not in compared.scores:
            raise PluginError(f"the judge gave scores {sorted(compared.scores)} for case '{case.id}', not answer_moved")
        if compared.status == Status.OK:
            scores |= {"answer_changed": compared.scores["answer_moved"]}
        yield ExamReply(
            **gold,
            **scores,
            status=reply.status,
            reason=reply.reason,
            completion=reply.completion,
            compared=compared.status,
            compared_reason=compared.reason,
            compared_completion=compared.completion,
        )
