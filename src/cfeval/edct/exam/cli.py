"""Examine a judge or verifier by cases of known truth: measure its error by kind of case, and say whether it is fit."""

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
from cfeval.core.records import Status
from cfeval.edct.exam import verifier as verifier_exam
from cfeval.edct.exam.cases import ExamCase, comparison_request, exam_cases, judge_request
from cfeval.edct.exam.edits import edit_cases
from cfeval.edct.exam.identity import identity
from cfeval.edct.exam.part import stratified
from cfeval.edct.exam.table import ExamReply, ExamRow, outcome, render, rows
from cfeval.edct.exam.verdict import Verdict
from cfeval.edct.exam.verifier import VerifierReply, VerifierRow
from cfeval.edct.interfaces import Judge, JudgeReply, Verifier
from cfeval.edct.metrics import ccs
from cfeval.inference.batching import map_requests
from cfeval.inference.remote.settings import Offline, use_offline_cache
from cfeval.report.files import write_table
from cfeval.report.tables import markdown

R = TypeVar("R")
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
        spec: the judge's plugin and options.
        out: the table, without ending.
        seed: of its replies, and of the part.
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

    def write(replies: Sequence[ExamReply]) -> list[ExamRow]:
        write_csv(Path(f"{out}-replies.csv"), ExamReply, replies)
        table = rows(replies, cases, examined)
        write_table(out, ExamRow, table, render(table))
        return table

    replies = _collected(track(examine(judge, cases, seed), len(cases), "exam"), write)
    table = write(replies)
    print(markdown(render(table)), end="")
    _end([reason for reply in replies for reason in _failed_calls(reply)], 2 * len(cases), out, outcome(table))


def write_verifier_exam(spec: Mapping[str, Any], out: Path, seed: int, count: int | None = None) -> None:
    """The same for a verifier, by edits of drawn scenes; see `write_exam`."""
    cases = stratified(edit_cases(), count, seed, lambda case: case.right)
    verifier: Verifier = registry.build("verifiers", spec)
    examined = identity("verifiers", spec)

    def write(replies: Sequence[VerifierReply]) -> list[VerifierRow]:
        write_csv(Path(f"{out}-replies.csv"), VerifierReply, replies)
        table = verifier_exam.rows(replies, cases, examined)
        write_table(out, VerifierRow, table, verifier_exam.render(table))
        return table

    replies = _collected(track(verifier_exam.examine(verifier, cases, seed), len(cases), "exam"), write)
    table = write(replies)
    print(markdown(verifier_exam.render(table)), end="")
    failed = [reply.reason for reply in replies if verifier_exam.call_failed(reply)]
    _end(failed, len(cases), out, verifier_exam.outcome(table))


def _collected(arriving: Iterator[R], keep: Callable[[Sequence[R]], object]) -> list[R]:
    """All replies; where they end early, those that came are kept first."""
    replies: list[R] = []
    try:
        for reply in arriving:
            replies.append(reply)
    except BaseException:
        if replies:
            keep(replies)
        raise
    return replies


def _end(failed: Sequence[str], calls: int, out: Path, verdict: Verdict) -> None:
    """Print the verdict, and end with its status."""
    if failed:
        raise CfevalError(
            f"{len(failed)} of {calls} calls failed ({failed[0]}), so that there is no verdict; {out}.csv holds the "
            "others, and the same command asks only these again"
        )
    print(f"\n{verdict.sentence}")
    if not verdict.passed:
        raise typer.Exit(1)


def _failed_calls(reply: ExamReply) -> Iterator[str]:
    for status, reason in ((reply.status, reply.reason), (reply.compared, reply.compared_reason)):
        if status == Status.TRANSPORT_ERROR:
            yield reason or str(status)


def examine(judge: Judge, cases: Sequence[ExamCase], seed: int) -> Iterator[ExamReply]:
    """What a judge gives for every case, in order: its scores, and whether it finds that the answer changed."""

    async def both(case: ExamCase) -> tuple[JudgeReply, JudgeReply]:
        # one stream of requests has one client, whose limit of calls at once holds for both
        return await asyncio.gather(judge.judge(judge_request(case, seed)), judge.judge(comparison_request(case, seed)))

    for case, (reply, compared) in map_requests(cases, lambda case: case, both, BATCH):
        yield _reply(case, reply, compared)


def _reply(case: ExamCase, reply: JudgeReply, compared: JudgeReply) -> ExamReply:
    gold = {"id": case.id, "kind": case.kind, "gold_pcs": case.pcs, "gold_ncc": case.ncc, "gold_ccs": case.ccs}
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
    told = {"status": reply.status, "reason": reply.reason, "completion": reply.completion}
    told |= {"compared": compared.status, "compared_reason": compared.reason}
    told |= {"compared_completion": compared.completion}
    return ExamReply.model_validate({**gold, **scores, **told})
