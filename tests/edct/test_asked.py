"""What the steps of a study with controls are told: those that see all of it, and by their commands the others."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

from cfeval.config import ParamsError, parse
from cfeval.core.record import option
from cfeval.edct.asked import (
    asked_tables,
    conditions_of,
    conditions_of_table,
    edits_anything,
    figures_of,
    is_compared,
    protocols_of,
    resources_of_tables,
    tables_of,
)
from cfeval.edct.config import Edct
from cfeval.edct.protocols.rules import BLANK_IMAGE, CONTROLS, EDCT_2025, NULL_EDIT, UNCITED_EDIT
from cfeval.study.whole import Job, whole
from tests.edct.test_estimate import MODEL, PARAMS, with_controls
from tests.provider_study import BLOCK

NAMES = {"dataset": "d", "vlm": "m", "writer": "w", "editor": "e", "judge": "j"}
SURE = MODEL | {"logprobs": 5}


def study(**more: Any) -> Edct:
    """A study with controls."""
    return parse({"edct": with_controls()["edct"] | more}).edct


def test_faithfulness_is_of_the_conditions_with_controls_and_the_card_of_those_without_too() -> None:
    controlled = study(failed_edits=0.05)
    assert set(tables_of(controlled)) >= {"controls", "faithfulness", "card"}
    for name in ("faithfulness", "card"):
        assert conditions_of_table(controlled, name) == conditions_of_table(controlled, "controls")
    alone = parse(PARAMS).edct
    assert conditions_of_table(alone, "card") == conditions_of_table(alone, "table1")
    tables = asked_tables(controlled, 1).tables
    assert (tables["card"].failed_edits, tables["faithfulness"].failed_edits) == (0.05, 0)
    assert {"faithfulness", "card"} & set(tables_of(alone)) == {"card"}


def test_a_table_or_figure_without_a_condition_is_not_made() -> None:
    assert figures_of(study()) == ["axes"]
    assert figures_of(parse(PARAMS).edct) == ["forest"]
    assert conditions_of_table(study(), "table1") == []


def test_a_target_s_step_is_told_its_own_conditions() -> None:
    block = BLOCK | {"vlm": ["m", "n"]}
    two = study(vlms={"m": MODEL, "n": MODEL}, tables={"table1": [], "controls": [block]})
    assert {one.vlm for one in conditions_of(two, 1).conditions} == {"m", "n"}
    told = conditions_of(two, 3, "n", "d")
    assert ({one.vlm for one in told.conditions}, len(told.conditions), told.shards) == ({"n"}, 1 + len(CONTROLS), 3)


def test_the_protocols_of_a_step_are_those_of_its_conditions() -> None:
    assert protocols_of(study(), dataset="d", vlm="m", writer="w") == [EDCT_2025, *CONTROLS]
    assert protocols_of(study(), **NAMES) == [EDCT_2025, *CONTROLS]
    assert protocols_of(parse(PARAMS).edct, **NAMES) == [EDCT_2025]


def test_where_nothing_is_written_no_writer_and_no_editor_is_needed() -> None:
    assert not edits_anything([NULL_EDIT, BLANK_IMAGE])
    assert edits_anything([NULL_EDIT, UNCITED_EDIT])


def test_only_conditions_with_controls_compare_answers() -> None:
    assert is_compared(study(), **NAMES)
    assert not is_compared(parse(PARAMS).edct, **NAMES)


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Job]:
    """The jobs of a study with controls, and with given pairs of a target that tells log-probabilities and one not."""
    folder: Path = tmp_path_factory.mktemp("study")
    more = {
        "edits": 2,
        "pair_sets": {"s": {"plugin": "world"}},
        "pair_judges": {"l": {"plugin": "lexical"}},
        "vlms": {"m": MODEL, "sure": SURE},
        "pairs": [{"pair_set": ["s"], "vlm": ["m", "sure"], "pair_judge": ["l"]}],
        "one_item_in": {NULL_EDIT: 2, BLANK_IMAGE: 3},
    }
    (folder / "params.yaml").write_text(yaml.safe_dump({"edct": with_controls()["edct"] | more}))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        return whole().jobs(["edct"])


def job_of(jobs: Sequence[Job], rule: str, **wildcards: str) -> Job:
    """The one job of a rule with some wildcards."""
    [found] = [job for job in jobs if job.rule == rule and wildcards.items() <= job.wildcards.items()]
    return found


def test_a_writer_is_told_how_many_edits_and_of_how_many_items(jobs: Sequence[Job]) -> None:
    words = job_of(jobs, "edct_instructions").words
    assert option(words, "--protocol").split(",") == [EDCT_2025, *CONTROLS]
    assert (option(words, "--edits"), option(words, "--one-item-in")) == ("2", '{"blank-image": 3, "null-edit": 2}')


def test_the_judge_of_null_edits_is_given_the_cited_edits(jobs: Sequence[Job]) -> None:
    job = job_of(jobs, "edct_verdicts")
    assert option(job.words, "--cited") == "results/edct/instructions/d/m/w/edct-2025.jsonl"
    assert "results/edct/instructions/d/m/w" in job.inputs
    assert "--compare" in job.words


@pytest.mark.parametrize(("vlm", "step"), [("m", "baselines"), ("sure", "pair-baselines")])
def test_only_a_target_that_gives_log_probabilities_is_asked_by_the_step_that_keeps_them(
    jobs: Sequence[Job], vlm: str, step: str
) -> None:
    assert job_of(jobs, "edct_pair_baselines", vlm=vlm).words[:2] == ["edct", step]


@pytest.mark.parametrize(
    ("one_item_in", "said"),
    [
        ({"null-edit": 0}, "one_item_in.null-edit must be at least 1"),
        ({"edct-2025": 2}, "one_item_in names 'edct-2025'"),
    ],
)
def test_of_how_many_items_a_control_is_made_is_checked(one_item_in: dict[str, int], said: str) -> None:
    with pytest.raises(Exception, match=said):
        parse({"edct": PARAMS["edct"] | {"one_item_in": one_item_in, "tables": {"table1": [BLOCK]}}})


def of_targets(number: int, **more: Any) -> Edct:
    """So many targets side by side."""
    names = [f"m{target}" for target in range(number)]
    tables = {"table1": [BLOCK | {"vlm": names}]}
    return study(vlms=dict.fromkeys(names, MODEL), tables=tables, **more)


def test_the_tables_of_a_small_study_fit_a_small_job() -> None:
    assert resources_of_tables(of_targets(2)) == (1001, 31)


@pytest.mark.parametrize("items", [1_000, 5_000])
def test_the_step_of_tables_asks_for_more_as_conditions_and_comparisons_grow(items: int) -> None:
    needs = [resources_of_tables(of_targets(number, items=items)) for number in (10, 40, 160)]
    assert needs == sorted(needs)
    assert needs[2].mem_mb - 1000 == pytest.approx(16 * (needs[0].mem_mb - 1000), rel=0.2)
    assert resources_of_tables(of_targets(160, items=items, all_pairs=True)).minutes > needs[2].minutes + 10


def test_only_the_table_of_comparisons_is_told_what_is_compared() -> None:
    told = asked_tables(of_targets(3, compared_with="m1"), 1).tables
    assert {name: one.compared_with for name, one in told.items() if one.compared_with} == {"comparisons": "m1"}
    told = asked_tables(of_targets(3, all_pairs=True), 1).tables
    assert [name for name, one in told.items() if one.all_pairs] == ["comparisons"]


def test_a_reference_must_be_a_target_and_excludes_all_pairs() -> None:
    with pytest.raises(ParamsError, match="compared_with names 'm7'; did you mean 'm1'"):
        of_targets(2, compared_with="m7")
    with pytest.raises(ParamsError, match="exclude each other; take one out"):
        of_targets(2, compared_with="m1", all_pairs=True)
