"""What a study takes under every protocol, worked out by hand: chains, grades, blind judges, controls."""

from itertools import product
from typing import Any

import pytest

from cfeval.config import parse
from cfeval.edct.config import Edct, used_by_edct
from cfeval.edct.estimate import jobs, lines
from cfeval.edct.estimate import taken as drawn
from cfeval.edct.protocols.rules import (
    BLANK_IMAGE,
    EDCT_2025,
    EDCT_BENCH_2026,
    EDITOR_NULL,
    NULL_EDIT,
    RULES,
    UNCITED_EDIT,
    edits_of,
)
from cfeval.edct.records import Condition
from cfeval.inference.remote.prices import Amount, Line
from tests.provider_study import BLOCK

MODEL = {"plugin": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}
ASKED = {"plugin": "chat", "model": MODEL}
PARAMS: dict[str, Any] = {
    "edct": {
        "items": 1,
        "seed": 1,
        "datasets": {"d": {"plugin": "world"}},
        "vlms": {"m": MODEL | {"temperature": 0}},
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
    null = taken(conditions(NULL_EDIT), edits=2)
    assert {stage: amount.calls for (stage, _), amount in null.items()} == {
        "baselines": 2 * ITEMS,
        "requeries": ITEMS,
        "verdicts": 3 * ITEMS // 2,
    }, "of every second item; a verdict, a swapped pair and a reworded answer, while nobody judges under edct-2025"
    assert calls(taken(conditions(UNCITED_EDIT), edits=2)) == once | {
        "counterfactuals": 2,
        "requeries": 4,
        "verdicts": 2,
    }
    both = calls(taken(conditions(EDCT_2025, EDCT_BENCH_2026), edits=2))
    assert both == {"baselines": 2, "instructions": 2, "counterfactuals": 3, "requeries": 6, "verdicts": 5}


def test_samples_multiply_scores_and_grades(taken: Any) -> None:
    assert calls(taken(conditions(EDCT_BENCH_2026, judge=("three",)), edits=2))["verdicts"] == 3 * 2 * 2


def test_who_is_shown_the_image_takes_its_tokens(taken: Any) -> None:
    found = {p: taken(conditions(p, judge=("j", "blind"))) for p in (EDCT_2025, NULL_EDIT, UNCITED_EDIT)}
    told, blind = (found[EDCT_2025]["verdicts", judge].input_tokens for judge in ("j", "blind"))
    assert IMAGE * ITEMS < blind - told < (IMAGE + 500) * ITEMS
    told, blind = (found[NULL_EDIT]["verdicts", judge].input_tokens for judge in ("j", "blind"))
    assert told == blind, "under a control a blind judge compares texts"
    shown = {p: found[p]["instructions", "w"].image_tokens for p in (EDCT_2025, UNCITED_EDIT)}
    assert shown == {EDCT_2025: 0, UNCITED_EDIT: IMAGE * ITEMS}


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


def with_controls(**changed: Any) -> dict[str, Any]:
    """The parameters of a study with controls of one condition."""
    return {"edct": PARAMS["edct"] | {"tables": {"table1": [], "controls": [BLOCK | changed]}}}


def verdicts(found: list[Line]) -> dict[str, tuple[int, int]]:
    """The calls of the stage `verdicts`, typical and at most without repairs, by protocol."""
    return {line.protocol: (line.typical.calls, line.most.calls // 2) for line in found if line.stage == "verdicts"}


def by_stage(found: list[Line], stage: str) -> dict[str, int]:
    return {line.protocol: line.typical.calls for line in found if line.stage == stage}


def test_the_calls_of_all_controls_are_counted() -> None:
    params = parse(with_controls()).edct
    edits = {protocol: edits_of(protocol, params.edits, 2) for protocol in RULES}
    found, silent = lines(params, {"d": 60}, "", "", edits)
    assert not silent
    assert by_stage(found, "baselines") == {"": 2 * 60}
    assert by_stage(found, "instructions") == {EDCT_2025: 60, UNCITED_EDIT: 60}
    assert by_stage(found, "counterfactuals") == {EDCT_2025: 60, UNCITED_EDIT: 3 * 60, EDITOR_NULL: 30}
    conversations = {EDCT_2025: 60, NULL_EDIT: 30, EDITOR_NULL: 30, UNCITED_EDIT: 3 * 60, BLANK_IMAGE: 20}
    assert by_stage(found, "requeries") == {protocol: 2 * count for protocol, count in conversations.items()}
    assert {protocol: typical for protocol, (typical, _) in verdicts(found).items()} == {
        EDCT_2025: 2 * 60,  # scores, and whether the answer moved
        NULL_EDIT: 4 * 30,  # what moved, a sham edit, a swapped pair, a reworded answer
        EDITOR_NULL: 30,
        UNCITED_EDIT: 3 * 60,
        BLANK_IMAGE: 20,
    }
    most = {protocol: at_most for protocol, (_, at_most) in verdicts(found).items()}
    assert (most[EDCT_2025], most[UNCITED_EDIT]) == (2 * 60, 3 * 60)
    assert (most[NULL_EDIT], most[BLANK_IMAGE]) == (4 * 42, 31), "three standard deviations above the average"


def test_controls_of_every_item_take_as_many_calls_as_there_are_items() -> None:
    params = parse({"edct": with_controls()["edct"] | {"one_item_in": {}}}).edct
    found, _ = lines(params, {"d": 60}, "", "", {})
    assert verdicts(found)[NULL_EDIT] == (4 * 60, 4 * 60)
    assert verdicts(found)[BLANK_IMAGE] == (60, 60)


def test_a_judge_who_looks_at_the_image_judges_no_sham_edit() -> None:
    found, _ = lines(parse(with_controls(judge=["blind"])).edct, {"d": 60}, "", "", {})
    assert {protocol: typical for protocol, (typical, _) in verdicts(found).items()} == {
        EDCT_2025: 2 * 60,
        NULL_EDIT: 3 * 30,
        EDITOR_NULL: 30,
        UNCITED_EDIT: 60,
        BLANK_IMAGE: 20,
    }


def stage_totals(target: dict[str, Any], items: int) -> dict[str, tuple[int, int]]:
    """The typical and the most calls of each stage, under all protocols together."""
    params = parse({"edct": with_controls()["edct"] | {"vlms": {"m": target}}}).edct
    total: dict[str, tuple[int, int]] = {}
    for line in lines(params, {"d": items}, "", "", {})[0]:
        typical, most = total.get(line.stage, (0, 0))
        total[line.stage] = (typical + line.typical.calls, most + line.most.calls)
    return total


def test_a_target_that_samples_is_asked_again_in_about_a_third_of_a_call_an_item_and_at_most_always() -> None:
    once, again = (stage_totals(target, 600) for target in (PARAMS["edct"]["vlms"]["m"], MODEL))
    more = sum(again[stage][0] - once[stage][0] for stage in ("baselines", "requeries")) / 600
    assert 0.2 <= more <= 0.4
    assert again["requeries"][1] == 2 * once["requeries"][1]
    assert once["verdicts"][0] < again["verdicts"][0] < 1.1 * once["verdicts"][0]
    for stage in ("instructions", "counterfactuals"):
        assert again[stage] == once[stage]


def test_without_controls_no_answers_are_compared() -> None:
    found, _ = lines(parse(PARAMS).edct, {"d": 60}, "", "", {})
    assert verdicts(found) == {EDCT_2025: (60, 60)}


@pytest.mark.parametrize(
    ("items", "every", "expected"), [(60, 1, (60, 60)), (3, 2, (2, 3)), (900, 3, (300, 343)), (0, 2, (0, 0))]
)
def test_so_many_items_are_drawn(items: int, every: int, expected: tuple[int, int]) -> None:
    assert drawn(items, every) == expected
