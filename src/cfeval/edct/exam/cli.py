"""Examine a judge: have it score cases whose scores are known, and measure its error by kind of case."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from cfeval.core.cli_options import TableOut, build
from cfeval.core.errors import InputError, PluginError
from cfeval.core.jsonl import write_csv
from cfeval.core.progress import track
from cfeval.core.records import Status
from cfeval.edct.exam.cases import ExamCase, comparison_request, exam_cases, judge_request
from cfeval.edct.exam.table import ExamReply, ExamRow, render, rows
from cfeval.edct.interfaces import Judge, JudgeReply
from cfeval.edct.metrics import ccs
from cfeval.inference.batching import map_requests
from cfeval.inference.remote.settings import Offline, use_offline_cache
from cfeval.report.tables import markdown, write_table

BATCH = 64
ExamSeed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the judge's replies.")]


def run(
    out: TableOut,
    judge: Annotated[str, typer.Option(help="The judge, as JSON: its plugin and options.")],
    seed: ExamSeed = 0,
    offline: Offline = False,
) -> None:
    """Examine a judge: let it score text cases with known scores, and show its sensitivity and specificity.

    Writes the table (OUT.csv, OUT.md, OUT.tex) and OUT-replies.csv, a row for each case, and prints the table. A reply
    without a score is counted as missing, never as an error. A judge is asked twice about each case: for its scores,
    and whether the answer changed. `cfeval exam` takes a judge of the parameter file.
    """
    use_offline_cache(offline)
    write_exam(build("judges", judge, "--judge"), out, seed)


def write_exam(judge: Judge, out: Path, seed: int) -> None:
    """Examine a judge, write its replies and the table next to each other, and print the table.

    Raises:
        InputError: the judge looks at images; nothing is asked.
    """
    if judge.needs_image:
        raise InputError("the exam has texts only, and this judge looks at images; choose a judge of texts")
    cases = exam_cases()
    replies = list(track(examine(judge, cases, seed), len(cases), "exam"))
    table = rows(replies, cases)
    write_csv(Path(f"{out}-replies.csv"), ExamReply, replies)
    write_table(out, ExamRow, table, render(table))
    print(markdown(render(table)), end="")


def examine(judge: Judge, cases: Iterable[ExamCase], seed: int) -> Iterator[ExamReply]:
    """What a judge gives for every case, in order: its scores, and whether it finds that the answer changed."""
    every = list(cases)
    scored = map_requests(every, lambda case: judge_request(case, seed), judge.judge, BATCH)
    compared = map_requests(every, lambda case: comparison_request(case, seed), judge.judge, BATCH)
    for (case, reply), (_, other) in zip(scored, compared, strict=True):
        yield _reply(case, reply, other)


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
