"""A job whose files are a storage provider's copies: found by the end of a path, run there, recorded without it."""

import json
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.errors import InputError
from cfeval.core.provenance import loading, reading
from cfeval.core.provenance.frozen import Frozen, Planned
from cfeval.core.provenance.jobs import Job
from cfeval.core.provenance.making import make
from cfeval.core.provenance.plans import Planner, plan_hash
from cfeval.core.provenance.state import State

PLACE = ".snakemake/storage/fs/disk/study/"
OUT = "results/tried/edct/verdicts/j.jsonl"
JOB = Job(
    "edct.verdicts",
    (
        "edct",
        "verdicts",
        "--results",
        "results/tried",
        "--in",
        "results/tried/edct/in.jsonl",
        "--own",
        "results/tried/own",
    ),
    ("results/tried/edct/in.jsonl",),
    (OUT, "results/tried/edct/verdicts/j.zip"),
    {"own": "cfeval.core.sampling"},
    ("results/tried/own", "data/prompt.txt"),
    ("--batch", "results/tried"),
)


def test_inputs_outputs_and_words_that_name_results_are_there_and_nothing_else() -> None:
    there = JOB.at(PLACE)
    named = [word for word in there.command if word.startswith(PLACE)]
    assert named == [f"{PLACE}results/tried", f"{PLACE}results/tried/edct/in.jsonl"]
    assert there.inputs == tuple(f"{PLACE}{path}" for path in JOB.inputs)
    assert there.outputs == tuple(f"{PLACE}{path}" for path in JOB.outputs)
    assert (there.files, there.aside, there.name) == (JOB.files, JOB.aside, f"{PLACE}{OUT}")
    assert JOB.at("") is JOB


@pytest.mark.parametrize("place", ["", PLACE, "/", "/results/"])
def test_a_job_is_found_by_the_end_of_a_path(place: str) -> None:
    told = Frozen({}, {OUT: {"job": JOB.as_json(), "plan": "p"}, "j.jsonl": {"job": JOB.as_json(), "plan": "q"}})
    assert told.named(f"{place}{OUT}") == (Planned(JOB, "p"), place)


def test_a_path_that_is_of_no_job_is_refused() -> None:
    with pytest.raises(InputError, match="other/edct: no job of this run makes it"):
        Frozen({}, {OUT: {"job": JOB.as_json(), "plan": "p"}}).named("other/edct")


def test_the_sidecar_names_no_folder_of_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reading, "_opened", set())
    monkeypatch.setattr(loading, "named", set())
    place = "copies/"
    source = Path(place, JOB.inputs[0])
    source.parent.mkdir(parents=True)
    source.write_text("{}\n")
    planned = Planned(JOB, plan_hash(Planner(memory=None).plan(JOB)))
    ran: list[list[str]] = []

    def run(command: list[str]) -> int:
        ran.append(command)
        for path in JOB.at(place).outputs:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_text("made\n")
        return 0

    assert [make(planned, run, place), make(planned, run, place)] == [0, 0]
    assert ran == [[*JOB.at(place).command, *JOB.aside]], "the second time it is as before"
    told: dict[str, Any] = json.loads(Path(place, JOB.sidecar).read_text())
    assert (list(told["inputs"]), sorted(told["outputs"])) == (list(JOB.inputs), sorted(JOB.outputs))
    assert told["plan"]["command"] == list(JOB.command)
    assert State([JOB], Planner(memory=None), place).reason(JOB) is None
    source.write_text("{ }\n")
    assert "made from other files" in str(State([JOB], Planner(memory=None), place).reason(JOB))
