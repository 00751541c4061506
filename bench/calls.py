"""`make bench-calls`: time, CPU and repeats of calls to models outside, against a server on this machine.

Beside it, on the same faults, the bare `openai` client with its own two retries. About a minute.
"""

import asyncio
import io
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import openai
from tests.conftest import picture
from tests.loopback import FAULTS, Fault, Kind, Reaction

from bench.remote import Remote, serving
from cfeval.backends import registry
from cfeval.backends.chat.base import ChatReply, ChatRequest, Turn
from cfeval.calls.settings import VARIABLE, use
from cfeval.calls.store import Store
from cfeval.cli import main as command
from cfeval.io.prompts import prompt_file
from cfeval.io.records import write_jsonl
from cfeval.params.sections import Calls
from cfeval.records.common import Status
from cfeval.records.edct import Sample
from cfeval.studies.edct.conversation import Asked, Prompts, converse

ITEMS, AT_ONCE, LATENCY = 120, 16, 0.5
IDEAL = ITEMS * 2 / AT_ONCE * LATENCY
CALLS = 500
SLOWEST = 15.0
"""Seconds after which the bare client is not waited for any longer."""
Row = tuple[str, str, str, str]
PROMPTS = Prompts("Item {question}: what is it?", "Why?")


def main() -> None:
    """Run every part and print the table."""
    parts = (speed, faults, killed, repeated)
    rows: list[Row] = []
    for part in parts:
        print(f"bench-calls: {(part.__doc__ or '').splitlines()[0]}", file=sys.stderr)
        with serving() as server, tempfile.TemporaryDirectory() as folder:
            rows += part(server, Path(folder))
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, openai {openai.__version__}\n")
    print("| | cfeval | aim | bare openai client, 2 retries |\n|---|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def speed(server: Remote, folder: Path) -> list[Row]:
    """120 items x 2 turns at 0.5 s latency, 16 at once."""
    server.steer("latency", seconds=LATENCY)
    asked = [Asked(f"i{n}", picture(n, (64, 64)), str(n), n) for n in range(ITEMS)]
    walls, cpus = [], []
    for repeat in range(3):
        use(Calls(store=str(folder / f"{repeat}.sqlite"), at_once=AT_ONCE))
        wall, cpu = time.perf_counter(), time.process_time()
        with quiet():
            said = converse(model(server), asked, PROMPTS, "baseline")
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
        assert all(one["status"] == Status.OK for one in said)
    wall, cpu = statistics.median(walls), statistics.median(cpus)
    what = f"{ITEMS} items x 2 calls, {LATENCY} s each, {AT_ONCE} at once"
    return [
        (f"{what}: wall over the ideal {IDEAL} s", f"{wall / IDEAL:.3f} ({wall:.2f} s)", "≤ 1.10", ""),
        (f"{what}: the client's CPU", f"{cpu:.2f} s, {1000 * cpu / (2 * ITEMS):.1f} ms a call", "small", ""),
    ]


def faults(server: Remote, folder: Path) -> list[Row]:
    """500 calls, every fault of the table that a chat call can meet among them, and the bare client on the same.

    Left out are those that rightly end the run (no key, no credit), harmless oddities, and the wait of 300 seconds.
    """
    played = [row for row in FAULTS.values() if _plays(row)]
    script = _spread(played)
    requests = [ChatRequest(f"i{n}", (Turn("user", f"Item {n}?"),), n) for n in range(CALLS)]
    healthy = [reply.text for reply in _ask(server, folder / "healthy.sqlite", requests)]
    healthy_bare = asyncio.run(_bare(server, requests))
    server.steer("reset")
    server.steer("script", faults=script)
    replies = _ask(server, folder / "faulty.sqlite", requests)
    hit = Counter(server.summary()["faults"])
    server.steer("reset")
    server.steer("script", faults=script)
    bare = asyncio.run(_bare(server, requests))
    raised = Counter(type(end).__name__ for end in bare if isinstance(end, Exception))
    good_bare = sum(end == text for end, text in zip(bare, healthy_bare, strict=True))

    passing = sum(hit[row.name] for row in played if row.reaction == Reaction.RETRIED)
    stand = [row for row in played if row.reaction == Reaction.RECORDED]
    standing = Counter(str(row.status) for row in stand for _ in range(hit[row.name]))
    recorded = Counter(str(reply.status) for reply in replies if reply.status != Status.OK)
    right = sum((recorded & standing).values())
    lost = sum((recorded - standing).values())
    good = sum(reply.status == Status.OK and reply.text == text for reply, text in zip(replies, healthy, strict=True))
    bad = len(replies) - good - recorded.total()
    what = f"{CALLS} calls, {sum(hit.values())} faults of {len(hit)} kinds ({sum(hit.values()) / CALLS:.0%})"
    return [
        (f"{what}: passing faults recovered", f"{passing - lost} of {passing}", "all", ""),
        (f"{what}: standing faults recorded", f"{right} of {standing.total()}", "all", ""),
        (f"{what}: good answers", str(good), "", str(good_bare)),
        (f"{what}: failed, with a status or an exception", _named(recorded), "", _named(raised)),
        (f"{what}: silently bad", str(bad), "0", str(len(bare) - good_bare - raised.total())),
    ]


def killed(server: Remote, folder: Path) -> list[Row]:
    """A run of 120 items x 2 calls is killed at half (kill -9) and run again."""
    samples = _samples(folder, ITEMS)
    whole, resumed = folder / "whole.jsonl", folder / "resumed.jsonl"
    _wait(_job(server, samples, whole, folder / "whole.sqlite"))
    server.steer("reset")
    server.steer("latency", seconds=0.1)
    first = _job(server, samples, resumed, folder / "killed.sqlite")
    while server.sent() < ITEMS:
        time.sleep(0.005)
    first.kill()
    first.wait()
    store = Store(folder / "killed.sqlite")
    in_flight = int(str(store.ledger()[0]["lost"]))
    store.close()
    _wait(_job(server, samples, resumed, folder / "killed.sqlite"))
    same = whole.read_bytes() == resumed.read_bytes()
    return [
        ("kill -9 at half: calls sent again / in flight at the kill", f"{server.again()} / {in_flight}", "≤ 1", ""),
        ("kill -9 at half: records of the undisturbed run", "equal" if same else "DIFFERENT", "equal", ""),
    ]


def repeated(server: Remote, folder: Path) -> list[Row]:
    """A study is run again, unchanged and with another prompt of the judge."""
    samples, store = _samples(folder, 24), folder / "calls.sqlite"
    use(Calls(store=str(store)))
    _study(server, samples, folder / "first", "")
    first = server.summary()["models"]
    server.steer("reset")
    _study(server, samples, folder / "second", "")
    nothing = server.summary()["models"]
    _study(server, samples, folder / "third", _other_prompts(folder / "prompts"))
    changed = server.summary()["models"]
    return [
        ("24 items: calls of the whole study", _counts(first), "", ""),
        ("the same again: calls sent", _counts(nothing), "0", ""),
        ("another prompt of the judge: calls sent", _counts(changed), "the judge's only", ""),
    ]


def model(server: Remote, name: str = "vlm") -> Any:
    """A chat model behind the server."""
    return registry.build("chat", _spec(server, name))


def _spec(server: Remote, name: str) -> dict[str, Any]:
    return {"backend": "openai", "model": name, "base_url": server.openrouter, "seed": True}


def _plays(row: Fault) -> bool:
    """Whether a fault fits a chat call, and ends in time, and leaves other calls alone."""
    fits = Kind.CHAT in row.where and row.reaction in (Reaction.RETRIED, Reaction.RECORDED)
    return fits and (row.wait is None or row.wait < SLOWEST)


def _spread(played: Sequence[Fault]) -> list[str | None]:
    """Every fault once, evenly among the calls."""
    step = CALLS // len(played)
    return [played[n // step].name if n % step == 0 and n // step < len(played) else None for n in range(CALLS)]


def _ask(server: Remote, store: Path, requests: Sequence[ChatRequest]) -> list[ChatReply]:
    use(Calls(store=str(store), at_once=AT_ONCE, timeout=2, deadline=60))
    with quiet():
        replies: list[ChatReply] = model(server, "echo").chat(requests)
    return replies


async def _bare(server: Remote, requests: Sequence[ChatRequest]) -> list[str | Exception]:
    """What the openai client makes of each call: the text, or an exception; `str` of whatever else it returns."""
    slots = asyncio.Semaphore(AT_ONCE)

    async def one(client: openai.AsyncOpenAI, request: ChatRequest) -> str | Exception:
        messages: Any = [{"role": "user", "content": request.turns[0].text}]
        async with slots:
            try:
                async with asyncio.timeout(SLOWEST):
                    said: Any = await client.chat.completions.create(model="echo", messages=messages, seed=request.seed)
            except Exception as error:
                return error
        try:
            return str(said.choices[0].message.content)
        except (AttributeError, TypeError, IndexError):
            return str(said)

    async with openai.AsyncOpenAI(base_url=server.openrouter, api_key="none", max_retries=2, timeout=2) as client:
        return await asyncio.gather(*(one(client, request) for request in requests))


def _samples(folder: Path, count: int) -> Path:
    """A samples file with its pictures."""
    (folder / "samples").mkdir()
    rows = []
    for number in range(count):
        shown, name = picture(number, (30, 45)), f"i{number}.png"
        (folder / "samples" / name).write_bytes(shown.png)
        rows.append(Sample(id=f"i{number}", image=shown.ref(name), question="What is this?"))
    write_jsonl(folder / "samples.jsonl", iter(rows))
    return folder / "samples.jsonl"


def _baseline(server: Remote, samples: Path, out: Path) -> list[str]:
    vlm = json.dumps(_spec(server, "vlm"))
    return ["edct", "baseline", "--samples", str(samples), "--vlm", vlm, "--seed", "1", "--out", str(out)]


def _job(server: Remote, samples: Path, out: Path, store: Path) -> "subprocess.Popen[bytes]":
    """The baseline stage as a process of its own."""
    environment = {**os.environ, VARIABLE: Calls(store=str(store), at_once=AT_ONCE).model_dump_json()}
    code = "import sys; from cfeval.cli.main import run; sys.exit(run(sys.argv[1:]))"
    arguments = [sys.executable, "-c", code, *_baseline(server, samples, out)]
    return subprocess.Popen(arguments, env=environment, stderr=subprocess.DEVNULL)


def _wait(process: "subprocess.Popen[bytes]") -> None:
    if process.wait() != 0:
        raise SystemExit("bench-calls: a job failed; run the stage by hand to see why")


def _study(server: Remote, samples: Path, folder: Path, prompts: str) -> None:
    """Every stage with calls; a judge with these prompts."""
    folder.mkdir()
    scripted = json.dumps({"backend": "scripted"})
    judge = json.dumps({"backend": "chat", "model": _spec(server, "judge"), "prompts": prompts})
    b, i, c, r = (str(folder / f"{stage}.jsonl") for stage in ("baseline", "instructions", "edits", "requery"))
    source, seed = ("--samples", str(samples)), ("--seed", "1")
    vlm = ("--vlm", json.dumps(_spec(server, "vlm")))
    for step in (
        ("baseline", *source, *vlm, "--out", b),
        ("instruct", "--baseline", b, "--writer", scripted, "--out", i),
        ("edit", *source, "--instructions", i, "--editor", scripted, "--out", c),
        ("requery", *source, "--counterfactuals", c, *vlm, "--out", r),
        ("judge", "--baseline", b, "--instructions", i, "--requery", r, "--judge", judge, "--out", f"{folder}/v.jsonl"),
    ):
        with quiet() as said:
            status = command.run(["edct", *step, *seed])
        if status:
            raise SystemExit(said.getvalue())


def _other_prompts(folder: Path) -> str:
    """The judge's templates with one sentence more."""
    folder.mkdir()
    for name in ("judge", "judge_repair"):
        shutil.copy(prompt_file(name, protocol="edct-2025", folder=None), folder)
    template = folder / "judge.md"
    template.write_text(f"Be strict.\n\n{template.read_text(encoding='utf-8')}", encoding="utf-8")
    return str(folder)


def _named(counts: Mapping[str, int]) -> str:
    return f"{sum(counts.values())} ({_counts(counts)})"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items())) or "0"


@contextmanager
def quiet() -> Iterator[io.StringIO]:
    """Without the lines about progress."""
    said = io.StringIO()
    with redirect_stderr(said), redirect_stdout(said):
        yield said


if __name__ == "__main__":
    main()
