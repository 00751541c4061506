"""Those that do the same work: cfeval and its peers, each a command; the peers run in an environment of their own."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.images import image

from cfeval.core.config import Calls
from cfeval.core.jsonl import write_jsonl
from cfeval.datasets.sample import Sample
from cfeval.inference.remote.settings import VARIABLE

ROOT = Path(__file__).parent.parent
PEERS = ROOT / ".venv-peers/bin/python"
"""The interpreter of the peers' environment; `make peers` makes it."""
AT_ONCE = 16


@dataclass(frozen=True)
class Subject:
    """One way to do the work; `script` is a file of bench/peers, empty for cfeval itself."""

    name: str
    script: str = ""
    variant: str = ""

    def missing(self) -> str:
        """Why it cannot run here; empty where it can."""
        return "" if not self.script or PEERS.is_file() else "not installed (`make peers`)"

    def command(self, work: str, base_url: str, folder: Path, out: str, judge: str = "") -> list[str]:
        """The command that does the work ("turns" or "study") on the items of a folder and writes `folder/out`."""
        if not self.script:
            return baseline(base_url, folder / "samples.jsonl", folder / out)
        files = ("--items", str(folder / "items.jsonl"), "--state", str(folder / "state"), "--out", str(folder / out))
        told = ("--base-url", base_url, "--at-once", str(AT_ONCE), *(("--judge", judge) if judge else ()))
        wanted = ("--variant", self.variant) if self.variant else ()
        return [str(PEERS), str(ROOT / "bench/peers" / self.script), work, *told, *files, *wanted]


CFEVAL = Subject("**cfeval**")
TWO_TURNS = (
    CFEVAL,
    Subject("AsyncOpenAI, a semaphore round each item", "plain.py"),
    Subject("AsyncOpenAI, a semaphore round each call", "plain.py", "call"),
    Subject("LangGraph, SQLite checkpoints", "graph.py"),
    Subject("LangGraph, nothing kept", "graph.py", "bare"),
    Subject("inspect-ai", "inspection.py"),
    Subject("inspect-ai, all samples open", "inspection.py", "samples"),
)


def baseline(base_url: str, samples: Path, out: Path) -> list[str]:
    """The command of the two turns by cfeval."""
    vlm = json.dumps(spec(base_url, "vlm"))
    step = ("edct", "baselines", "--samples", str(samples), "--vlm", vlm, "--seed", "1", "--out", str(out))
    return [sys.executable, "-m", "cfeval.cli", *step]


def spec(base_url: str, name: str) -> dict[str, Any]:
    """A chat model behind a server, as cfeval is told of it."""
    return {"plugin": "openai", "model": name, "base_url": base_url, "seed": True}


def environment(folder: Path) -> Mapping[str, str]:
    """Of every process: one thread, one's own home, the same calls at once; nothing of the user's settings."""
    users = ("LANG", "OPENAI", "INSPECT", "XDG", "CFEVAL", "OMP")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(users)}
    home = folder / "home"
    home.mkdir(exist_ok=True)
    calls = Calls(cache=str(folder / "calls.sqlite"), max_connections=AT_ONCE).model_dump_json()
    return kept | {"HOME": str(home), "LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", VARIABLE: calls}


def lay_out(folder: Path, count: int) -> Path:
    """Items in a folder, for cfeval and for its peers: a small image, another for after the edit, and a question."""
    (folder / "samples").mkdir(parents=True)
    samples, items = [], []
    for number in range(count):
        shown, edited = (image((number + 128 * after) % 256, (64, 64)) for after in (0, 1))
        for ending, one in (("", shown), ("-edited", edited)):
            (folder / f"samples/i{number}{ending}.png").write_bytes(one.png)
        question = f"Item {number}: what is it?"
        samples.append(Sample(id=f"i{number}", image=shown.ref(f"i{number}.png"), question=question))
        images = {"image": f"samples/i{number}.png", "edited": f"samples/i{number}-edited.png"}
        items.append({"id": f"i{number}", "question": question, **images})
    write_jsonl(folder / "samples.jsonl", iter(samples))
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(item)}\n" for item in items), encoding="utf-8")
    return folder


def not_run(row: str, why: str, columns: Sequence[str]) -> list[str]:
    """The row of one that did not run: why, in the first cell of figures."""
    return [row, why, *[""] * (len(columns) - 2)]
