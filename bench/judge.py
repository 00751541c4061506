"""One judge changed: a sentence more in its prompt

A study of 120 items, six calls each: both turns, the edit instruction, both turns on the counterfactual image, the
verdict; every call answered after 0.5 s, 16 at once. It is run, then a sentence is added to the judge's prompt and it
is run again. cfeval runs the whole of it by Snakemake, tables and report included, the edits by a local editor; the
peers do the six calls and stop there, each with the cache that it comes with.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from tests.workflow.study import PARAMS, Study
from tests.workflow.study import lay_out as study_in

from bench.processes import run
from bench.remote import Remote, serving
from bench.subjects import AT_ONCE, Subject, environment, lay_out, not_run, spec
from bench.table import Table
from cfeval.inference.prompts import prompt_file

ITEMS, LATENCY = 120, 0.5
SENTENCE = "Be strict."
COLUMNS = ("", "first run: calls", "first run, s", "prompt changed: calls sent", "then, s")
SNAKEMAKE, VERB = "**cfeval**, `snakemake`", "**cfeval**, `cfeval edct verdicts` alone"
PLAIN = Subject("AsyncOpenAI, its file of finished items removed by hand", "plain.py")
PEERS = (
    PLAIN,
    Subject("LangGraph, cache of nodes", "graph.py"),
    Subject("LangGraph, cache of nodes, own key for the judge", "graph.py", "prompt-in-key"),
    Subject("inspect-ai, its cache", "inspection.py"),
)
NOTES = (
    "Seconds are of the whole command, start-up included. What decides whether a call is sent again: cfeval, the hash "
    "of the full request, and before it Snakemake, which runs only the jobs behind the prompt; AsyncOpenAI has no "
    "cache; LangGraph's cache of nodes is keyed on the node's name and its input, so that a prompt that stands in the "
    "code or in a file is not seen: no call is sent and **the old verdicts stand**, unless the node is given a key "
    "function that names the prompt; inspect-ai keys on messages, model and settings.",
)


@dataclass(frozen=True)
class Sent:
    """One run: calls by model, seconds; or what failed."""

    calls: Mapping[str, int]
    seconds: float
    failed: str = ""


Two = tuple[Sent | None, Sent]
"""Before and after the change; the first None where only the second was run."""


def tables() -> list[Table]:
    """Run every study twice."""
    with serving() as server, tempfile.TemporaryDirectory() as scratch:
        server.steer("latency", seconds=LATENCY)
        found = by_snakemake(server, Path(scratch) / "study")
        for number, subject in enumerate(PEERS):
            found[subject.name] = by_peer(server, subject, Path(scratch) / f"peer-{number}")
    return [table(found)]


def by_snakemake(server: Remote, folder: Path) -> dict[str, Two]:
    """The study of cfeval, by the workflow; then the judge's step alone, with another sentence."""
    study, keys = study_in(folder, params(server)), {"OPENROUTER_API_KEY": "none"}
    study.import_samples(ITEMS)
    own = study.root / "own"
    own.mkdir()
    for name in ("judge", "judge_repair"):
        shutil.copy2(prompt_file(name, protocol="edct-2025", folder=None), own)
    first = timed(server, lambda: study.run("snakemake", **keys))
    study.edit("own/judge.md", SENTENCE)
    second = timed(server, lambda: study.run("snakemake", **keys))
    study.edit("own/judge.md", SENTENCE)
    alone = timed(server, lambda: study.run(*_judge(study), **keys))
    return {SNAKEMAKE: (first, second), VERB: (None, alone)}


def by_peer(server: Remote, subject: Subject, folder: Path) -> Two:
    """The six calls by a peer."""
    if why := subject.missing():
        return None, Sent({}, 0, why)
    lay_out(folder, ITEMS)
    prompt, where = folder / "judge.md", environment(folder)
    prompt.write_text(prompt_file("judge", protocol="edct-2025", folder=None).read_text(encoding="utf-8"))

    def once(out: str) -> Sent:
        command = subject.command("study", server.openrouter, folder, out, str(prompt))
        failed: list[str] = []

        def work() -> None:
            ran = run(command, where, folder)
            failed.extend([ran.said] if ran.status else [])

        sent = timed(server, work)
        return Sent(sent.calls, sent.seconds, "".join(failed))

    first = once("first.jsonl")
    if subject is PLAIN:
        shutil.rmtree(folder / "state")
    prompt.write_text(f"{prompt.read_text(encoding='utf-8')}\n{SENTENCE}\n", encoding="utf-8")
    return first, once("second.jsonl")


def params(server: Remote) -> dict[str, object]:
    """The small study of the tests, its models behind the server, its editor on this machine."""
    content = deepcopy(PARAMS)
    names = {"dataset": ["mine"], "vlm": ["v"], "writer": ["w"], "editor": ["e"], "judge": ["j"]}
    content |= {"shards": 1, "calls": {"max_connections": AT_ONCE}}
    content["edct"] |= {
        "edits": 1,
        "vlms": {"v": spec(server.openrouter, "vlm")},
        "instruction_writers": {"w": {"plugin": "chat", "model": spec(server.openrouter, "writer")}},
        "editors": {"e": {"plugin": "mock"}},
        "judges": {"j": {"plugin": "chat", "model": spec(server.openrouter, "judge"), "prompts": "own"}},
        "tables": {"table1": [names], "table2": []},
        "known": {},
    }
    return content


def timed(server: Remote, work: Callable[[], object]) -> Sent:
    """What some work sent, and how long it took."""
    server.steer("reset")
    start = time.perf_counter()
    work()
    return Sent(server.summary()["models"], time.perf_counter() - start)


def table(found: Mapping[str, Two]) -> Table:
    """A row each."""
    title = f"{ITEMS} items × 6 calls at {LATENCY} s, {AT_ONCE} at once; the judge's prompt changed"
    return Table(title, COLUMNS, [_row(name, *two) for name, two in found.items()], NOTES)


def _row(name: str, first: Sent | None, second: Sent) -> list[str]:
    for sent in (first, second):
        if sent is not None and sent.failed:
            return not_run(name, sent.failed, COLUMNS)
    before = ("", "") if first is None else (str(sum(first.calls.values())), f"{first.seconds:.1f}")
    return [name, *before, _named(second.calls), f"{second.seconds:.1f}"]


def _named(calls: Mapping[str, int]) -> str:
    """Calls, and by which models."""
    each = ", ".join(f"{count} {model}" for model, count in sorted(calls.items()))
    return f"{sum(calls.values())} ({each})" if calls else "0"


def _judge(study: Study) -> list[str]:
    edct = study.params()["edct"]
    files = {
        "baselines": "results/edct/baselines/mine/v.jsonl",
        "instructions": "results/edct/instructions/mine/v/w/edct-2025.jsonl",
        "counterfactuals": "results/edct/counterfactuals/mine/v/w/e/edct-2025.jsonl",
        "requeries": "results/edct/requeries/mine/v/w/e/edct-2025.jsonl",
        "out": "alone.jsonl",
    }
    given = [part for name, file in files.items() for part in (f"--{name}", file)]
    return [
        "cfeval",
        "edct",
        "verdicts",
        "--protocol",
        "edct-2025",
        *given,
        "--judge",
        json.dumps(edct["judges"]["j"]),
        "--seed",
        str(edct["seed"]),
    ]
