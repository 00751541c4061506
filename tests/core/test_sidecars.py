"""What a job writes about its outputs is what others read."""

import json
from pathlib import Path

import pytest

from cfeval.core.provenance.jobs import Job
from cfeval.core.provenance.plans import Planner
from cfeval.core.provenance.sidecars import parsed

JOB = Job(
    stage="edct.verdicts",
    command=("edct", "verdicts", "--out", "results/edct/verdicts/j.jsonl"),
    inputs=("results/edct/requeries/e.jsonl",),
    outputs=("results/edct/verdicts/j.jsonl",),
    code={"seeds": "cfeval.core.sampling"},
    files=("no/such/file",),
)


def told(root: str = "results/edct") -> str:
    """A sidecar with the plan as it is made now."""
    return json.dumps(
        {
            "plan": Planner(memory=None).plan(JOB),
            "inputs": {f"{root}/requery/e.jsonl": "1", "elsewhere/x": "2"},
            "outputs": {f"{root}/verdicts/j.jsonl": "3"},
        }
    )


@pytest.mark.parametrize("root", ["results/edct", "results/lax/edct", "/once/somewhere", "verdicts"])
@pytest.mark.parametrize("place", ["verdicts/j.jsonl", "verdicts/j.jsonl.made.json"])
def test_paths_of_results_are_told_by_their_place_wherever_the_job_ran(root: str, place: str) -> None:
    found = parsed(told(root), place)
    assert (found.plan.stage, found.plan.files) == ("edct.verdicts", {"no/such/file": None})
    assert found.plan.code.keys() == {"seeds"}
    assert (found.results_in(found.inputs), found.results_in(found.outputs)) == (
        {"requery/e.jsonl": "1"},
        {"verdicts/j.jsonl": "3"},
    )


@pytest.mark.parametrize("place", ["requery/j.jsonl", "verdicts/other.jsonl", "ts/j.jsonl"])
def test_a_sidecar_of_other_files_is_refused(place: str) -> None:
    with pytest.raises(ValueError, match="tells of other files"):
        parsed(told(), place)


def test_a_path_that_leads_elsewhere_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"with '\.\.' in it"):
        parsed(told(f"{tmp_path}/.."), "verdicts/j.jsonl")
