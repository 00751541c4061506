"""Several protocols on one cache: what the first has asked, the others do not ask again."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfeval.datasets.sample import RawSample, file_samples
from cfeval.edct.protocols.rules import EDCT_2025, EDCT_BENCH_2026, NULL_EDIT
from tests.conftest import Run
from tests.images import image
from tests.loopback.conversation import Conversation
from tests.loopback.personas import CITED, COLOURS, PERSONAS, Edit, as_lines
from tests.loopback.server import loopback
from tests.loopback.site import Loopback
from tests.provider_study import CANARY, KEY_ENV, target

ITEMS = 3
EDITS = 2
"""Of a chain."""
PAINTER = "flux-kontext-max"
Sent = dict[str, dict[str, int]]
"""How many requests the server got, by verb and model."""


def same_first_edit(conversation: Conversation) -> str:
    """A writer whose first instruction reads the same under both protocols: as the bench puts its parts together."""
    colour, thing = CITED.findall(conversation.text)[-1]
    first, second = [other for other in COLOURS if other != colour][:EDITS]
    edits = [Edit(colour, thing, first), Edit(first, thing, second)]
    if "Constraints:" in conversation.text:
        return as_lines(edits, conversation.text)
    said = edits[0].values()
    positive = f"Change: {said['change']} How: {said['how']} Keep: {said['keep']}"
    return f"CONCEPT: {said['concept']}\nPOSITIVE: {positive}\nNEGATIVE: {said['constraints']}"


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Loopback]:
    monkeypatch.setenv(KEY_ENV, CANARY)
    monkeypatch.setenv("CFEVAL_CALLS", json.dumps({"cache": str(tmp_path / "calls.sqlite"), "max_retries": 0}))
    with loopback(key=CANARY, personas=PERSONAS | {"writer": same_first_edit}) as running:
        yield running


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    path = tmp_path / "samples.jsonl"
    file_samples(path, [RawSample(f"s{n}", image(n, (30, 45)), "What is it?") for n in range(ITEMS)])
    return path


def commands(samples: Path, out: Path, server: Loopback, protocol: str) -> dict[str, list[object]]:
    """The stages of a protocol, by verb."""
    vlm, writer, judge = (target(server.openai, model=name) for name in ("vlm", "writer", "judge"))
    speaking = {name: json.dumps({"plugin": "chat", "model": model}) for name, model in (("w", writer), ("j", judge))}
    editor = {"plugin": "bfl", "model": PAINTER, "base_url": server.bfl, "key_env": KEY_ENV, "poll": 0.01}
    verbs = ("baselines", "instructions", "counterfactuals", "requeries", "verdicts")
    files = {verb: out / protocol / f"{verb}.jsonl" for verb in verbs}
    shown, of = ["--samples", samples], ["--protocol", protocol]
    texts, wanted = ["--baselines", files["baselines"]], ["--instructions", files["instructions"]]
    made, said = ["--counterfactuals", files["counterfactuals"]], ["--requeries", files["requeries"]]
    options: dict[str, list[object]] = {
        "baselines": [*shown, "--vlm", json.dumps(vlm)],
        "instructions": [*shown, *texts, *of, "--writer", speaking["w"], "--edits", EDITS],
        "counterfactuals": [*shown, *wanted, *of, "--editor", json.dumps(editor)],
        "requeries": [*shown, *made, "--vlm", json.dumps(vlm)],
        "verdicts": [*texts, *wanted, *made, *said, *of, "--judge", speaking["j"]],
    }
    return {verb: ["edct", verb, *options[verb], "--seed", 1, "--out", files[verb]] for verb in verbs}


@pytest.fixture
def sent(cfeval: Run, samples: Path, tmp_path: Path, provider: Loopback) -> Any:
    """Runs all stages of a protocol and returns what the server counted at each; files go to a folder of their own."""

    def run(protocol: str, folder: str = "out") -> Sent:
        counts: Sent = {}
        for verb, command in commands(samples, tmp_path / folder, provider, protocol).items():
            provider.reset()
            status, _, err = cfeval(*command)
            assert status == 0, err
            counts[verb] = dict(provider.models())
        return counts

    return run


def records(path: Path, **wanted: Any) -> list[dict[str, Any]]:
    """The records of a file with some values."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    return [one for one in found if wanted.items() <= one.items()]


NOTHING: Sent = {"baselines": {}, "instructions": {}, "counterfactuals": {}, "requeries": {}, "verdicts": {}}


def test_a_second_protocol_asks_only_what_the_first_has_not(sent: Any, tmp_path: Path) -> None:
    assert sent(EDCT_2025) == {
        "baselines": {"vlm": 2 * ITEMS},
        "instructions": {"writer": ITEMS},
        "counterfactuals": {PAINTER: ITEMS},
        "requeries": {"vlm": 2 * ITEMS},
        "verdicts": {"judge": ITEMS},
    }
    assert sent(EDCT_BENCH_2026) == {
        "baselines": {},
        "instructions": {"writer": ITEMS},
        "counterfactuals": {PAINTER: (EDITS - 1) * ITEMS},
        "requeries": {"vlm": 2 * (EDITS - 1) * ITEMS},
        "verdicts": {"judge": 2 * EDITS * ITEMS},
    }
    swapped = 0
    """The answers to the one question have two words each: too few to differ for sure."""
    assert sent(NULL_EDIT) == NOTHING | {"requeries": {"vlm": 2 * ITEMS}, "verdicts": {"judge": ITEMS + swapped}}
    for protocol in (EDCT_2025, EDCT_BENCH_2026, NULL_EDIT):
        assert sent(protocol, folder="again") == NOTHING

    old, new = tmp_path / "out" / EDCT_2025, tmp_path / "out" / EDCT_BENCH_2026
    texts = [[r["positive"] for r in records(folder / "instructions.jsonl", edit=1)] for folder in (old, new)]
    assert texts[0] == texts[1]
    assert records(old / "requeries.jsonl") == records(new / "requeries.jsonl", edit=1)
    assert len(records(new / "verdicts.jsonl", status="ok")) == EDITS * ITEMS
