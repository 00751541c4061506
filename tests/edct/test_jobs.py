"""The jobs of a study with controls: what each command is told, and what its result depends on."""

from typing import Any

import pytest

from cfeval.config import parse
from cfeval.core.jobs import Filing
from cfeval.core.provenance.jobs import Job
from cfeval.edct.jobs import jobs
from cfeval.edct.protocols.rules import BLANK_IMAGE, CONTROLS, EDCT_2025, NULL_EDIT, UNCITED_EDIT
from tests.edct.test_estimate import PARAMS, with_controls
from tests.provider_study import BLOCK


def made(stage: str, protocol: str = "", params: dict[str, Any] | None = None) -> list[Job]:
    """The jobs of a stage under a protocol."""
    study = parse(params or with_controls()).edct
    found = [job for job in jobs(study, Filing("results", 1, archived=False)) if job.stage == f"edct.{stage}"]
    return [job for job in found if not protocol or option(job, "--protocol") == protocol]


def option(job: Job, name: str) -> str:
    """The value of an option; empty where it is not given."""
    words = list(job.command)
    return words[words.index(name) + 1] if name in words else ""


@pytest.mark.parametrize(
    ("protocol", "every", "edits"),
    [(EDCT_2025, "1", "1"), (UNCITED_EDIT, "1", "2"), (NULL_EDIT, "2", "1"), (BLANK_IMAGE, "3", "1")],
)
def test_a_writer_is_told_how_many_edits_and_of_how_many_items(protocol: str, every: str, edits: str) -> None:
    [job] = made("instructions", protocol)
    assert (option(job, "--every"), option(job, "--edits")) == (every, edits)


def test_only_conditions_with_controls_compare_answers() -> None:
    [controlled] = made("verdicts", EDCT_2025)
    [alone] = made("verdicts", EDCT_2025, PARAMS)
    assert ("--compare" in controlled.command, "--compare" in alone.command) == (True, False)
    for protocol in CONTROLS:
        [job] = made("verdicts", protocol)
        assert "--compare" not in job.command, "its scores say it"


def test_the_judge_of_null_edits_is_given_the_cited_edits() -> None:
    [job] = made("verdicts", NULL_EDIT)
    cited = "results/edct/instructions/d/m/w/edct-2025.jsonl"
    assert option(job, "--cited") == cited
    assert cited in job.inputs
    for protocol in (EDCT_2025, UNCITED_EDIT, BLANK_IMAGE):
        assert option(made("verdicts", protocol)[0], "--cited") == ""


def prompts(job: Job) -> set[str]:
    """The folders of the templates that a job's result depends on."""
    return {file.split("/")[-2] for file in job.files if file.endswith(".md")}


def test_a_verdict_depends_on_the_prompts_of_everything_its_judge_is_asked() -> None:
    told = {protocol: prompts(made("verdicts", protocol)[0]) for protocol in (EDCT_2025, *CONTROLS)}
    both = {EDCT_2025, "controls"}
    assert told == {EDCT_2025: both, NULL_EDIT: both, UNCITED_EDIT: {"controls"}, BLANK_IMAGE: {"controls"}}
    assert prompts(made("verdicts", EDCT_2025, PARAMS)[0]) == {EDCT_2025}


def test_card_and_faithfulness_are_of_the_conditions_with_controls() -> None:
    study = with_controls()["edct"] | {"failed_edits": 0.05}
    tables = {job.command[2]: job for job in made("table", params={"edct": study})}
    assert set(tables) >= {"controls", "faithfulness", "card"}
    for name in ("faithfulness", "card"):
        assert tables[name].inputs[: 1 + len(CONTROLS)] == tables["controls"].inputs[: 1 + len(CONTROLS)]
    assert (option(tables["card"], "--failed-edits"), option(tables["faithfulness"], "--failed-edits")) == ("0.05", "")
    assert not {"faithfulness", "card"} & {job.command[2] for job in made("table", params=PARAMS)}


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
