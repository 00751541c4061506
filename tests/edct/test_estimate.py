"""What a study takes under every protocol, worked out by hand: chains, grades, blind judges, controls."""

from itertools import product
from typing import Any

import pytest

from cfeval.config import parse
from cfeval.edct.config import Edct, used_by_edct
from cfeval.edct.estimate import jobs, lines
from cfeval.edct.protocols.rules import EDCT_2025, EDCT_BENCH_2026, NULL_EDIT, UNCITED_EDIT
from cfeval.edct.records import Condition
from cfeval.inference.remote.cost import Amount
from tests.provider_study import BLOCK

MODEL = {"plugin": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
ASKED = {"plugin": "chat", "model": MODEL}
PARAMS: dict[str, Any] = {
    "edct": {
        "items": 1,
        "seed": 1,
        "datasets": {"d": {"plugin": "world"}},
        "vlms": {"m": MODEL},
        "instruction_writers": {"w": ASKED},
        "editors": {"e": {"plugin": "bfl", "model": "painter"}},
        "judges": {"j": ASKED, "blind": {**ASKED, "plugin": "blind"}, "three": {**ASKED, "votes": 3}},
        "verifiers": {},
        "tables": {"table1": [BLOCK]},
    }
}
ITEMS = 10
IMAGE = 1500
"""Tokens."""


def conditions(*protocols: str, judge: tuple[str, ...] = ("j",)) -> list[Condition]:
    fixed = {"dataset": "d", "vlm": "m", "writer": "w", "editor": "e"}
    return [Condition(**fixed, protocol=protocol, judge=name) for protocol, name in product(protocols, judge)]


@pytest.fixture
def taken(monkeypatch: pytest.MonkeyPatch) -> Any:
    """What the stages of some conditions typically take, under all protocols together: by stage and plugin."""

    def run(found: list[Condition], edits: int = 1) -> dict[tuple[str, str], Amount]:
        monkeypatch.setattr(Edct, "conditions", lambda _: found)
        several = dict.fromkeys((EDCT_BENCH_2026, UNCITED_EDIT), edits)
        all_lines, silent = lines(parse(PARAMS).edct, {"d": ITEMS}, "", "", several)
        assert not silent
        total: dict[tuple[str, str], Amount] = {}
        for line in all_lines:
            total[line.stage, line.plugin] = total.get((line.stage, line.plugin), Amount()) + line.typical
        return total

    return run


def calls(found: dict[tuple[str, str], Amount]) -> dict[str, int]:
    return {stage: amount.calls // ITEMS for (stage, _), amount in found.items()}


def test_calls_of_every_protocol(taken: Any) -> None:
    once = {"baselines": 2, "instructions": 1, "counterfactuals": 1, "requeries": 2, "verdicts": 1}
    assert calls(taken(conditions(EDCT_2025), edits=2)) == once
    bench = {"baselines": 2, "instructions": 1, "counterfactuals": 2, "requeries": 4, "verdicts": 4}
    assert calls(taken(conditions(EDCT_BENCH_2026), edits=2)) == bench
    assert calls(taken(conditions(EDCT_BENCH_2026))) == once | {"verdicts": 2}
    assert calls(taken(conditions(NULL_EDIT), edits=2)) == {"baselines": 2, "requeries": 2, "verdicts": 1}
    assert calls(taken(conditions(UNCITED_EDIT), edits=2)) == once | {
        "counterfactuals": 2,
        "requeries": 4,
        "verdicts": 2,
    }
    both = calls(taken(conditions(EDCT_2025, EDCT_BENCH_2026), edits=2))
    assert both == {"baselines": 2, "instructions": 2, "counterfactuals": 3, "requeries": 6, "verdicts": 5}


def test_samples_multiply_scores_and_grades(taken: Any) -> None:
    assert calls(taken(conditions(EDCT_BENCH_2026, judge=("three",)), edits=2))["verdicts"] == 3 * 2 * 2


def test_who_is_shown_the_picture_takes_its_tokens(taken: Any) -> None:
    found = {p: taken(conditions(p, judge=("j", "blind"))) for p in (EDCT_2025, NULL_EDIT, UNCITED_EDIT)}
    told, blind = (found[EDCT_2025]["verdicts", judge].input_tokens for judge in ("j", "blind"))
    assert IMAGE * ITEMS < blind - told < (IMAGE + 500) * ITEMS
    told, blind = (found[NULL_EDIT]["verdicts", judge].input_tokens for judge in ("j", "blind"))
    assert told == blind, "under a control a blind judge compares texts"
    shown = {p: found[p]["instructions", "w"].input_tokens for p in (EDCT_2025, UNCITED_EDIT)}
    assert shown[UNCITED_EDIT] - shown[EDCT_2025] > IMAGE * ITEMS


def test_a_chain_is_told_from_its_first_edit_to_the_one_that_is_judged(taken: Any) -> None:
    one, two = (taken(conditions(EDCT_BENCH_2026), edits=edits)["verdicts", "j"].input_tokens for edits in (1, 2))
    assert two - 2 * one == 2 * ITEMS * 100, "one instruction more in the second verdict, and in its grade"


def test_where_nothing_is_edited_nobody_writes_or_edits() -> None:
    stages = [stage.name for stage, _ in jobs(conditions(NULL_EDIT))]
    assert stages == ["baselines", "requeries", "verdicts"]


def test_a_plugin_is_used_under_the_protocols_of_its_conditions(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [*conditions(EDCT_2025, NULL_EDIT), *conditions(EDCT_BENCH_2026, judge=("blind",))]
    monkeypatch.setattr(Edct, "conditions", lambda _: found)
    uses = {use.name: use.protocols for use in used_by_edct(parse(PARAMS).edct)}
    assert uses["m"] == (EDCT_2025, NULL_EDIT, EDCT_BENCH_2026)
    assert (uses["j"], uses["blind"]) == ((EDCT_2025, NULL_EDIT), (EDCT_BENCH_2026,))
    assert "three" not in uses
