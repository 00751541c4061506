"""`--offline`: what was asked once is answered from the cache, without a key or a server; and `try` with a provider."""

import json
from pathlib import Path
from typing import Any

import pytest

from cfeval.datasets.sample import RawSample, file_samples
from tests.conftest import Run
from tests.images import image
from tests.loopback.server import loopback
from tests.loopback.site import Loopback
from tests.provider_study import CANARY, KEY_ENV, params, target, written

VERBS = ("baselines", "instructions", "counterfactuals", "requeries", "verdicts")


@pytest.fixture
def calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache lies in `tmp_path`."""
    settings = {"cache": str(tmp_path / "calls.sqlite"), "max_retries": 0}
    monkeypatch.setenv("CFEVAL_CALLS", json.dumps(settings))


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    path = tmp_path / "samples.jsonl"
    file_samples(path, [RawSample(f"s{n}", image(n), "What is it?") for n in range(3)])
    return path


def stages(samples: Path, out: Path, model: dict[str, Any], *more: str) -> list[list[object]]:
    """The study's stages as commands: target, writer and judge are the model."""
    asked, edited = json.dumps(model), json.dumps({"plugin": "mock"})
    speaking = json.dumps({"plugin": "chat", "model": model})
    files = {verb: out / f"{verb}.jsonl" for verb in VERBS}
    texts = ["--baselines", files["baselines"]]
    wanted = ["--instructions", files["instructions"]]
    made = ["--counterfactuals", files["counterfactuals"]]
    options: dict[str, list[object]] = {
        "baselines": ["--samples", samples, "--vlm", asked],
        "instructions": ["--samples", samples, *texts, "--writer", speaking],
        "counterfactuals": ["--samples", samples, *wanted, "--editor", edited],
        "requeries": ["--samples", samples, *made, "--vlm", asked],
        "verdicts": [*texts, *wanted, *made, "--requeries", files["requeries"], "--judge", speaking],
    }
    return [["edct", verb, *options[verb], "--seed", 1, "--out", files[verb], *more] for verb in VERBS]


def test_a_finished_study_is_made_again_offline_byte_for_byte(
    cfeval: Run, samples: Path, tmp_path: Path, calls: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_ENV, CANARY)
    with loopback(key=CANARY) as running:
        model = target(running.openai)
        for command in stages(samples, tmp_path / "first", model):
            status, out, err = cfeval(*command)
            assert status == 0, err
            assert CANARY not in out + err
        assert running.sent()
    monkeypatch.delenv(KEY_ENV)
    for command in stages(samples, tmp_path / "again", model, "--offline"):
        status, _, err = cfeval(*command)
        assert status == 0, err
    for verb in VERBS:
        assert (tmp_path / "again" / f"{verb}.jsonl").read_bytes() == (
            tmp_path / "first" / f"{verb}.jsonl"
        ).read_bytes()
    assert "s2" in (tmp_path / "first" / "verdicts.jsonl").read_text()
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and CANARY.encode() in file.read_bytes()]


def test_offline_names_the_first_call_that_is_missing(
    cfeval: Run, samples: Path, tmp_path: Path, calls: None, server: Loopback
) -> None:
    command = stages(samples, tmp_path, target(server.openai), "--offline")[0]
    status, _, err = cfeval(*command)
    assert status == 2
    assert "offline: item 's0' needs a call to gpt-4o" in err.splitlines()[-1]
    assert not server.log
    assert not (tmp_path / "baselines.jsonl").exists()


def test_the_overlay_for_a_run_offline_is_what_it_says() -> None:
    import yaml

    overlay = Path(__file__).parents[2] / "workflow" / "params" / "offline.yaml"
    assert yaml.safe_load(overlay.read_text()) == {"calls": {"offline": True}}


@pytest.fixture
def tried(cfeval: Run, photo: Path, tmp_path: Path) -> Any:
    def run(content: dict[str, Any], *more: str) -> tuple[int, str, str]:
        arguments = ("--vlm", "m", "-C", written(tmp_path, content).parent, "--out", tmp_path / "out")
        status, out, err = cfeval("try", photo, "What is it?", *arguments, *more)
        assert CANARY not in out + err
        return status, out, err

    return run


def test_try_asks_a_provider_and_tells_progress_and_cost(tried: Any, server: Loopback, tmp_path: Path) -> None:
    status, out, err = tried(params(tmp_path, server.openai))
    assert status == 0, err
    assert "verdict" in out
    [paid] = [line for line in out.splitlines() if line.startswith("calls ")]
    assert "4, sent 4 times, " in paid
    said = [line.partition(":")[0] for line in err.splitlines()]
    asking = ["Asking the model …", "calls", "Writing the edit …", "Editing the image …"]
    asking += ["Asking the model about the edited image …", "calls", "Judging both answers …"]
    assert said[0] == "Images and texts go to 127.0.0.1"
    assert said[2:] == asking
    sent = sum(server.sent().values())
    assert "4, sent 4 times, " in tried(params(tmp_path, server.openai), "--offline")[1]
    assert sum(server.sent().values()) == sent == 4


def test_try_offline_sends_nothing(tried: Any, server: Loopback, tmp_path: Path) -> None:
    status, _, err = tried(params(tmp_path, server.openai), "--offline")
    assert status == 2
    assert err.splitlines()[-1].startswith("cfeval: offline: item 'try' needs a call to gpt-4o")
    assert not server.log


@pytest.mark.parametrize(
    ("fault", "says"),
    [
        ("http_401", f"cfeval: gpt-4o: the key in {KEY_ENV} is refused"),
        ("http_402", "cfeval: gpt-4o: no credit left"),
    ],
)
def test_try_ends_with_one_line_where_every_call_would_fail(
    tried: Any, server: Loopback, tmp_path: Path, fault: str, says: str
) -> None:
    server.script([fault])
    status, _, err = tried(params(tmp_path, server.openai))
    assert status == 2
    assert err.splitlines()[-1].startswith(says)


def test_try_shows_a_refused_item_as_a_status(tried: Any, server: Loopback, tmp_path: Path) -> None:
    server.script(["http_422"])
    status, out, _ = tried(params(tmp_path, server.openai))
    assert status == 0
    assert "not scored: rejected at baselines" in out
