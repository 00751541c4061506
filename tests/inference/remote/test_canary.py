"""No key is in any file that a run leaves, nor in what it says, however often servers repeat it."""

import base64
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.jsonl import write_jsonl
from cfeval.datasets.sample import Sample
from tests.conftest import Run
from tests.images import image
from tests.inference.remote.conftest import Configure
from tests.inference.remote.keys import KEY, KEY_ENV
from tests.loopback.fault import Kind
from tests.loopback.site import Loopback
from tests.slow import first_fast

ECHOES = ("http_400_echo", "http_500_echo", "http_200_echo")

pytestmark = pytest.mark.usefixtures("hurry")


def spellings() -> list[bytes]:
    """The key, and every run of its base64 that does not depend on what stands before and after."""
    plain = KEY.encode()
    encoded = [base64.b64encode(b"x" * shift + plain).decode()[(shift * 8 + 5) // 6 + 1 :] for shift in range(3)]
    return [plain, plain.hex().encode(), *(text.rstrip("=")[:-1].encode() for text in encoded)]


def found(text: bytes) -> list[bytes]:
    return [spelling for spelling in spellings() if spelling in text]


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    path = tmp_path / "samples.jsonl"
    (tmp_path / "samples").mkdir()
    rows = []
    for number in range(12):
        shown = image(number, (30, 45))
        (tmp_path / "samples" / f"i{number}.png").write_bytes(shown.png)
        rows.append(Sample(id=f"i{number}", image=shown.ref(f"i{number}.png"), question="What is this?"))
    write_jsonl(path, iter(rows))
    return path


def run_study(cfeval: Run, samples: Path, server: Loopback, editor: dict[str, Any]) -> str:
    """Run every verb of the study, the first calls of each well; returns all that it said.

    Calls that all fail alike from the first on would end the run.
    """
    folder, scripted = samples.parent, json.dumps({"plugin": "mock"})
    vlm = json.dumps({"plugin": "openai", "model": "vlm", "base_url": server.openrouter, "key_env": KEY_ENV})
    seed = ("--seed", 1)
    baseline, instructions = ("--baselines", folder / "b.jsonl"), ("--instructions", folder / "i.jsonl")
    counterfactuals, requery = ("--counterfactuals", folder / "c.jsonl"), ("--requeries", folder / "r.jsonl")
    steps = [
        ("baselines", "--samples", samples, "--vlm", vlm, "--out", baseline[1]),
        ("instructions", "--samples", samples, *baseline, "--writer", scripted, "--out", instructions[1]),
        (
            "counterfactuals",
            "--samples",
            samples,
            *instructions,
            "--editor",
            json.dumps(editor),
            "--out",
            counterfactuals[1],
        ),
        ("requeries", "--samples", samples, *counterfactuals, "--vlm", vlm, "--out", requery[1]),
        (
            "verdicts",
            *baseline,
            *instructions,
            *counterfactuals,
            *requery,
            "--judge",
            scripted,
            "--out",
            folder / "v.jsonl",
        ),
    ]
    said = []
    for verb, *options in steps:
        for kind in (Kind.CHAT, Kind.IMAGE, Kind.EDIT, Kind.SUBMIT):
            server.script([None] * 3, at=kind)
        status, out, err = cfeval("edct", verb, *options, *seed)
        assert status == 0, err
        said += [out, err]
    return "".join(said)


@pytest.mark.parametrize(
    "editor",
    first_fast(
        [
            {"plugin": "mock"},
            {"plugin": "bfl", "poll": 0.01},
            {"plugin": "openrouter_image"},
            {"plugin": "openai_image"},
        ],
        1,
    ),
    ids=lambda editor: editor["plugin"],
)
def test_a_study_whose_servers_repeat_the_key_leaves_it_nowhere(
    server: Loopback, configure: Configure, samples: Path, cfeval: Run, editor: dict[str, Any]
) -> None:
    cache = configure(max_retries=1)
    addresses = {"bfl": server.bfl, "openrouter_image": server.openrouter, "openai_image": server.openai}
    if editor["plugin"] in addresses:
        editor = {**editor, "base_url": addresses[editor["plugin"]], "key_env": KEY_ENV}
    server.random(0.6, ECHOES)
    keeps_the_log = sqlite3.connect(cache)
    keeps_the_log.execute("SELECT 1")
    said = run_study(cfeval, samples, server, editor)
    cfeval("cache", "export", "--out", samples.parent / "calls.zip")
    said += "".join(cfeval("cache", "stats")[1:])
    assert sum(server.faults().values()) >= 10
    files = [path for path in samples.parent.rglob("*") if path.is_file()]
    assert {"calls.sqlite", "calls.sqlite-wal", "c.jsonl", "calls.zip"} <= {path.name for path in files}
    assert {path.name: found(path.read_bytes()) for path in files if found(path.read_bytes())} == {}
    assert found(said.encode()) == []
    everything = b"".join(path.read_bytes() for path in files)
    assert b"[key]" in everything, "answers that repeated it were stored"
    keeps_the_log.close()


@pytest.mark.parametrize("fault", ["http_401_echo", "http_400_echo"])
def test_a_run_that_ends_with_an_error_does_not_tell_the_key(
    server: Loopback, configure: Configure, samples: Path, cfeval: Run, fault: str
) -> None:
    configure(max_retries=1)
    server.random(1.0, [fault])
    vlm = json.dumps({"plugin": "openai", "model": "vlm", "base_url": server.openrouter, "key_env": KEY_ENV})
    arguments = ("--samples", samples, "--vlm", vlm, "--seed", 1, "--out", samples.parent / "b.jsonl")
    status, out, err = cfeval("edct", "baselines", *arguments)
    assert status == 2
    assert err.splitlines()[-1].startswith("cfeval: ")
    assert "[key]" in err
    assert found((out + err).encode()) == []
    assert [path for path in samples.parent.rglob("*") if path.is_file() and found(path.read_bytes())] == []


def test_the_scan_would_find_it() -> None:
    for prefix in (b"", b"B", b"Be"):
        assert found(base64.b64encode(prefix + KEY.encode() + b"xyz"))
    assert found(f"Bearer {KEY}".encode())
    assert not found(b"Bearer [key]")
