"""The study that the tests of provenance start from: a judge that reads all kinds of things and can be held.

Files beside the study tell the judge what to do: `hold` lets its jobs wait, and each says by `seen-…` that it has read
all that it reads; each file in `fail` is a pattern, and an item that it fits makes its job fail.
"""

import shutil
from copy import deepcopy
from pathlib import Path
from typing import Any

from tests.workflow.study import CONDITION, PARAMS, Study, lay_out, offer

PLUG_IN = "packages/cfeval_testbed/cfeval_testbed/plugins/judges_watched.py"
HELPER = "packages/cfeval_testbed/cfeval_testbed/watching.py"
PROMPT = "own/judge.md"
_PLUG_IN = '''"""A judge whose verdicts follow from a hash of all that it reads: for tests."""

import hashlib
from pathlib import Path

import fakelib

from cfeval.core import plugin
from cfeval.edct.interfaces import JudgeReply
from cfeval.edct.protocols.rules import RULES
from cfeval_testbed import watching


class Plugin(plugin.Plugin):
    """What it reads."""

    threshold: float = 0.5
    prompt: str = "own/judge.md"
    weights: str = ""
    beside: str = ""
    """A file that it reads and does not name, as notes."""

    def dependencies(self):
        """The prompt and the weights."""
        return (self.prompt, *((self.weights,) if self.weights else ()))

    def build(self):
        """The judge."""
        return Watched(self)


class Watched:
    """Draws scores by hash."""

    needs_image = False

    def __init__(self, options):
        self.options = options
        read = [path for path in (options.prompt, options.weights, options.beside) if path]
        self.known = "".join(Path(path).read_text() for path in read)

    async def judge(self, request):
        """Wait while the judge is held, then draw a verdict."""
        watching.pause()
        watching.fail(f"{self.options.threshold} {request.item} {request.new_answer}")
        text = f"{self.known}{fakelib.salt()}{request.item}{request.new_answer}{request.new_explanation}"
        digest = hashlib.sha256(text.encode()).digest()
        first, second = (watching.share(byte) < self.options.threshold for byte in digest[:2])
        names = RULES[request.protocol].scores
        return JudgeReply(scores={names[0]: int(first), names[1]: int(second)}, completion=digest.hex()[:9])
'''
_HELPER = '''"""What the watched judge computes with, and how a test can hold it."""

import os
import re
import time
from pathlib import Path


def share(byte):
    """A byte as a share of 256."""
    return byte / 256


def pause():
    """Wait as long as there is a file `hold` beside the study."""
    if os.path.exists("../hold"):
        Path(f"../seen-{os.getpid()}").touch()
    while os.path.exists("../hold"):
        time.sleep(0.02)


def fail(what):
    """Break the job where a pattern in the folder `fail` fits."""
    if os.path.isdir("../fail") and any(re.search(pattern, what) for pattern in os.listdir("../fail")):
        raise RuntimeError(f"told to fail on {what}")
'''
SHARDS = 2
WATCHED: dict[str, Any] = deepcopy(PARAMS)
"""Two targets, each with a judge of its own: `j`, which is watched, and `k`, which a test leaves alone."""
WATCHED["shards"] = SHARDS
WATCHED["edct"] |= {
    "judges": {
        "j": {"plugin": "watched", "threshold": 0.5, "prompt": PROMPT},
        "k": {"plugin": "mock", "threshold": 0.5},
    },
    "tables": {"table1": [CONDITION, CONDITION | {"vlm": ["mb"], "judge": ["k"]}]},
    "known": {},
}
JUDGED = {"verdicts": 2, "scores": 1}
AFTER = {"tables": 1, "figures": 1, "report": 1}
"""What is made from all scores."""
EVERYTHING = {
    "items": 2,
    "baselines": 4,
    "instructions": 4,
    "counterfactuals": 4,
    "checks": 4,
    "requeries": 4,
    "verdicts": 4,
    "scores": 2,
    "calls": 1,
} | AFTER
VERDICTS = [f"results/edct/verdicts/mine/ma/w/ea/j/{shard:03}" for shard in range(SHARDS)]
"""The outputs of the watched judge's jobs."""
VERDICT = VERDICTS[0]
OTHERS = VERDICT.replace("/ma/", "/mb/").replace("/j/", "/k/")
"""Verdicts of the judge that is left alone."""
FILE = "edct-2025.jsonl"
"""The record file in an output of one protocol."""


def watched(root: Path) -> Study:
    """The study, nothing run yet."""
    study = lay_out(root, WATCHED)
    offer(root, "judges", "watched", _PLUG_IN)
    (root / HELPER).write_text(_HELPER)
    (root / "own").mkdir()
    (root / PROMPT).write_text("You judge what changed.\n")
    install(study, "1.0")
    return study


def install(study: Study, version: str) -> None:
    """Install a distribution of one module, which says the same in each version."""
    lib = study.home / "lib"
    shutil.rmtree(lib, ignore_errors=True)
    about = lib / f"fakelib-{version}.dist-info"
    about.mkdir(parents=True)
    (lib / "fakelib.py").write_text('def salt():\n    return "salt"\n')
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: fakelib\nVersion: {version}\n")
    (about / "top_level.txt").write_text("fakelib\n")


def hold(study: Study) -> None:
    """Let every job of the watched judge wait from now on, once it has read what it reads."""
    for seen in study.home.glob("seen-*"):
        seen.unlink()
    (study.home / "hold").touch()


def waiting(study: Study) -> bool:
    """Whether a job waits."""
    return any(study.home.glob("seen-*"))


def let_go(study: Study) -> None:
    """Let the jobs go on."""
    (study.home / "hold").unlink()
