"""Code on which no result rests changes none: small steps run with it as it is and with it changed, byte by byte.

The models are behind a server on this machine, so that calls travel too.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from bench.edits import WORDS

from cfeval.core import loaded_code
from cfeval.core.loaded_code import path_of
from tests.loopback.server import loopback
from tests.loopback.site import Loopback

PROJECT = Path(__file__).parents[2]
KEY = "canary-5f1c"
TRANSPORT = (
    ("inference/remote/rate_limit.py", "_BACK_OFF = 0.5", "_BACK_OFF = 0.01"),
    ("inference/remote/client.py", "_LOOK = 0.2", "_LOOK = 0.05"),
    ("inference/remote/client.py", "ALIKE = 3", "ALIKE = 9"),
    ("inference/remote/cache_db.py", "PATIENCE = 60.0", "PATIENCE = 30.0"),
    ("inference/remote/rate_limit.py", "MARGIN = 2.0", "MARGIN = 1.5"),
    ("inference/remote/settings.py", "EVERY = 5.0", "EVERY = 0.01"),
    ("inference/remote/http.py", "_CONNECT = 10.0", "_CONNECT = 5.0"),
    ("core/errors.py", "did you mean", "perhaps"),
    ("core/progress.py", "_EVERY_SECONDS = 5.0", "_EVERY_SECONDS = 0.0"),
    ("core/hashes.py", "_SETTLED_NS = 2_", "_SETTLED_NS = 3_"),
)
"""By file: what is changed. The rest of what is changed are the words of `bench.edits`."""
_RUN = """
import json, sys
from cfeval import cli
from cfeval.inference.remote import settings
told = json.loads(sys.stdin.read())
from cfeval.config import parse
settings.use(parse(told["params"]).calls)
for words in told["steps"]:
    if cli.run(words):
        sys.exit(" ".join(words))
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with loopback(key=KEY) as server:
        yield server


def params(server: Loopback) -> dict[str, Any]:
    """A study of three items whose models are called, through faults that pass."""

    def model(name: str) -> dict[str, Any]:
        where = {"provider": "openrouter", "base_url": server.openrouter, "key_env": "OPENROUTER_API_KEY"}
        return {"plugin": "openai", "model": f"lab/{name}", "temperature": 0.7, **where}

    condition = {"dataset": ["world"], "vlm": ["v"], "writer": ["w"], "editor": ["e"], "judge": ["j"]}
    return {
        "shards": 1,
        "calls": {"timeout": 5, "deadline": 60, "max_retries": 9},
        "edct": {
            "items": 3,
            "seed": 7,
            "datasets": {"world": {"plugin": "world"}},
            "vlms": {"v": model("vlm")},
            "instruction_writers": {"w": {"plugin": "chat", "model": model("writer")}},
            "editors": {"e": {"plugin": "bfl", "base_url": server.bfl, "key_env": "BFL_API_KEY", "poll": 0.02}},
            "judges": {"j": {"plugin": "chat", "model": model("judge")}},
            "verifiers": {},
            "tables": {"table1": [condition]},
            "known": {},
            "judge_error": [],
            "interval": {"method": "wilson", "level": 0.95, "resamples": 100, "seed": 0},
        },
    }


def steps(edct: dict[str, Any]) -> list[list[str]]:
    """The steps from items to verdicts, as the rules would call them."""
    files = {name: f"results/{name}.jsonl" for name in ("items", "baselines", "instructions", "edits", "requeries")}
    samples, baselines = ("--samples", files["items"]), ("--baselines", files["baselines"])
    edited, instructions = ("--counterfactuals", files["edits"]), ("--instructions", files["instructions"])
    its = {name: json.dumps(next(iter(edct[name].values()))) for name in ("datasets", "vlms", "editors", "judges")}
    writer = json.dumps(edct["instruction_writers"]["w"])
    protocol = ("--protocol", "edct-2025")
    commands = (
        ("items", ("--dataset", its["datasets"], "--items", "3"), files["items"]),
        ("baselines", (*samples, "--vlm", its["vlms"]), files["baselines"]),
        ("instructions", (*protocol, *samples, *baselines, "--writer", writer, "--edits", "2"), files["instructions"]),
        ("counterfactuals", (*protocol, *samples, *instructions, "--editor", its["editors"]), files["edits"]),
        ("checks", (*protocol, *samples, *instructions, *edited, "--verifier="), "results/checks.jsonl"),
        ("requeries", (*protocol, *samples, *edited, "--vlm", its["vlms"]), files["requeries"]),
        (
            "verdicts",
            (
                *protocol,
                *baselines,
                *instructions,
                *edited,
                "--requeries",
                files["requeries"],
                "--judge",
                its["judges"],
            ),
            "results/verdicts.jsonl",
        ),
    )
    return [["edct", name, *words, "--seed", "7", "--out", out] for name, words, out in commands]


def results(folder: Path, source: Path, content: dict[str, Any]) -> dict[str, bytes]:
    """The files of steps that are run in a folder by some code."""
    folder.mkdir()
    (folder / "data").symlink_to(PROJECT / "data")
    keys = dict.fromkeys(("OPENROUTER_API_KEY", "BFL_API_KEY"), KEY)
    environment = {**os.environ, **keys, "PYTHONPATH": str(source)}
    environment.pop("CFEVAL_CALLS", None)
    command = [sys.executable, "-c", _RUN]
    told = json.dumps({"params": content, "steps": steps(content["edct"])})
    done = subprocess.run(command, cwd=folder, env=environment, input=told, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    files = [path for path in (folder / "results").rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


@pytest.mark.slow
def test_steps_give_the_same_bytes_whatever_code_outside_says(server: Loopback, tmp_path: Path) -> None:
    changed = tmp_path / "src"
    shutil.copytree(PROJECT / "src", changed)  # with the bytecode of what is not changed
    (tmp_path / "data").symlink_to(PROJECT / "data")
    (tmp_path / "pyproject.toml").touch()
    for edit in WORDS:
        if edit.file.startswith("src/"):
            edit.apply(tmp_path)
    for file, old, new in TRANSPORT:
        path = changed / "cfeval" / file
        text = path.read_text()
        assert old in text, file
        path.write_text(text.replace(old, new))
    content = params(server)
    server.random(0.1, ["http_500", "http_503"], seed=3)
    one = results(tmp_path / "one", PROJECT / "src", content)
    server.reset()
    server.random(0.2, ["http_500", "http_503"], seed=4)
    other = results(tmp_path / "other", changed, content)
    assert len(one) > 15
    assert one == other


def test_what_is_outside_is_there() -> None:
    """A module that moved would be inside again, unnoticed."""
    assert [name for name in loaded_code.OUTSIDE if path_of(name) is None] == []


def test_no_plug_in_record_statistic_or_prompt_is_outside() -> None:
    parts = (
        *("cfeval.core.registry", "cfeval.core.plugin", "cfeval.core.records", "cfeval.stats", "cfeval.report"),
        *("cfeval.datasets", "cfeval.edct", "cfeval.vce", "cfeval.cvqa", "cfeval_testbed"),
    )
    assert [name for name in loaded_code.OUTSIDE if name.startswith(parts)] == []
