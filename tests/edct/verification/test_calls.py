"""The calls of real plugins fit the records that come of them, under every protocol; calls of other items do not."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfeval.datasets.sample import RawSample, file_samples
from cfeval.edct.asked import Conditions
from cfeval.edct.files import STAGES, stage_files
from cfeval.edct.protocols.rules import CONTROLS, EDCT_2025, EDCT_BENCH_2026, NULL_EDIT
from cfeval.edct.records import Condition
from tests.conftest import Run
from tests.edct.verification.tamper import Results
from tests.images import image
from tests.loopback.server import loopback
from tests.loopback.site import Loopback
from tests.provider_study import CANARY, KEY_ENV
from tests.slow import fast_only


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with loopback(key=CANARY) as running:
        yield running


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Results:
    """Results to come, and a cache for their calls."""
    monkeypatch.setenv(KEY_ENV, CANARY)
    settings = {"cache": str(tmp_path / "calls.sqlite"), "max_retries": 0}
    monkeypatch.setenv("CFEVAL_CALLS", json.dumps(settings))
    return Results(tmp_path / "results")


def condition_of(protocol: str, judge: str = "texts") -> Condition:
    return Condition(dataset="d", vlm="v", writer="w", protocol=protocol, editor="e", judge=judge)


def run_study(cfeval: Run, server: Loopback, results: Results, protocol: str) -> None:
    """A small study of which every part is behind a provider; images are shrunk, some before they are sent."""
    shapes = ((n, (40 + n, 20 + 10 * n)) for n in range(3))
    samples = [RawSample(f"s{n}", image(n, size), f"What is {n}?") for n, size in shapes]
    file_samples(results.file("items", condition_of(protocol)), samples)
    told = results.folder.parent / "told.json"
    told.write_text(Conditions(conditions=[condition_of(protocol, judge) for judge in ("texts", "blind")]).as_json())
    commands = []
    for judge in ("texts", "blind"):
        if protocol == NULL_EDIT:
            commands += list(stages(results.folder, condition_of(EDCT_2025, judge), server))[:2]
        commands += stages(results.folder, condition_of(protocol, judge), server)
    of_target = ("--study", told, "--results", results.folder, "--out")
    commands.append(["scores", *of_target, results.folder / "scores/d/v"])
    commands.append(["calls", *of_target, results.folder / "calls/calls.zip"])
    for command in commands:
        status, _, err = cfeval("edct", *command)
        assert status == 0, err
    for record in results.folder.rglob("*.made.json"):  # nobody wrote one of the items
        record.unlink()


OPTIONS = {"items": "samples"}
"""Options that are named after what a file holds."""


def stages(folder: Path, condition: Condition, server: Loopback) -> Iterator[list[object]]:
    """The stages as commands."""
    file = {stage: stage_files(folder, stage, condition, 1)[0] for stage in STAGES}
    where = {"base_url": server.openai, "key_env": KEY_ENV, "max_pixels": 1200}

    def options(*stages: str, **specs: dict[str, Any]) -> list[object]:
        read = [part for stage in stages for part in (f"--{OPTIONS.get(stage, stage)}", file[stage])]
        return read + [part for option, spec in specs.items() for part in (f"--{option}", json.dumps(spec))]

    def speaking(plugin: str, name: str) -> dict[str, Any]:
        return {"plugin": plugin, "model": {"plugin": "openai", "model": name, **where}}

    vlm = {"plugin": "openai", "model": "vlm", **where}
    editor = {"plugin": "openai_image", "model": "image", "base_url": server.openai, "key_env": KEY_ENV}
    panel = {"plugin": "panel", "judges": [speaking("chat", name) for name in ("judge-a", "judge-b", "judge-c")]}
    judge = speaking("blind", "judge") if condition.judge == "blind" else panel
    texts = ("baselines", "instructions", "requeries", "counterfactuals")
    cited = stage_files(folder, "instructions", condition.model_copy(update={"protocol": EDCT_2025}), 1)
    besides = ["--cited", *cited] if condition.protocol == NULL_EDIT else ["--compare"]
    commands = {
        "baselines": ["baselines", *options("items", vlm=vlm)],
        "instructions": [
            "instructions",
            *options("items", "baselines", writer=speaking("chat", "writer")),
            "--edits",
            2,
        ],
        "counterfactuals": ["counterfactuals", *options("items", "instructions", editor=editor)],
        "checks": ["checks", *options("items", "instructions", "counterfactuals")],
        "requeries": ["requeries", *options("items", "counterfactuals", vlm=vlm)],
        "verdicts": ["verdicts", *options(*texts, judge=judge), *besides],
    }
    for stage, command in commands.items():
        protocol = [] if stage in ("baselines", "requeries") else ["--protocol", condition.protocol]
        yield [*command, "--seed", 1, *protocol, "--out", file[stage]]


@pytest.mark.parametrize("protocol", fast_only([EDCT_2025, EDCT_BENCH_2026, *CONTROLS], NULL_EDIT))
def test_what_real_plugins_record_is_what_they_asked_and_were_told(
    results: Results, cfeval: Run, server: Loopback, protocol: str
) -> None:
    left = results.folder / "baselines" / "left-behind.jsonl"
    left.parent.mkdir(parents=True)
    left.write_text("what a former study left behind")
    run_study(cfeval, server, results, protocol)
    assert ",ok," in results.file("scores", condition_of(protocol)).read_text()
    left.unlink()
    status, out, _ = cfeval("verify", "--results", results.folder, "--limit", 500)
    assert status == 0, out
    assert "calls " in out
    assert "texts " in out


@pytest.mark.slow
def test_calls_of_another_item_do_not_fit(results: Results, cfeval: Run, server: Loopback) -> None:
    run_study(cfeval, server, results, "edct-2025")
    blind, texts = condition_of("edct-2025", "blind"), condition_of("edct-2025")
    checked = ("verify", "--results", results.folder, "--cache", results.folder.parent / "calls.sqlite")
    assert cfeval(*checked)[0] == 0
    for stage, condition, words in [
        ("baselines", texts, "a call of it is not about its image"),
        ("instructions", texts, "no call of it holds the explanation"),
        ("counterfactuals", texts, "no call of it holds the instruction"),
        ("requeries", texts, "a call of it is not about its image"),
        ("verdicts", texts, "no call of it holds the explanation"),
        ("verdicts", blind, "a call of it shows another image"),
    ]:
        before = results.file(stage, condition).read_text()
        other = json.loads(before.splitlines()[1])
        results.alter(stage, "s0", 1, condition, calls=other["calls"])
        status, out, _ = cfeval(*checked)
        assert (status, words in out) == (2, True), f"{stage}: {out}"
        results.file(stage, condition).write_text(before)
