"""Jobs that many others wait for are started first."""

from pathlib import Path

from cfeval.config import load
from cfeval.core.jobs import awaited
from cfeval.core.provenance.jobs import Job
from cfeval.jobs import jobs

ROOT = Path(__file__).parents[2]


def job(output: str, *inputs: str) -> Job:
    return Job(stage="edct.any", command=(), inputs=inputs, outputs=(output, f"{output}/"), code={})


def test_a_job_is_awaited_by_what_rests_on_it_counted_once() -> None:
    diamond = [
        job("top"),
        job("left", "top"),
        job("right", "top", "own data"),
        job("end", "left", "right"),
        job("alone"),
    ]
    assert awaited(diamond) == {"top": 3, "left": 1, "right": 1, "end": 0, "alone": 0}


def test_in_the_default_study_the_target_of_the_slow_editor_comes_early() -> None:
    """Its images take as long as a quarter of the study: begun last, they would leave a core idle."""
    waiting = awaited(list(jobs(load(ROOT / "params.yaml"), "results")))
    of_baselines = {name: count for name, count in waiting.items() if name.startswith("results/edct/baselines/")}
    first = sorted(of_baselines, key=lambda name: -of_baselines[name])[:3]
    assert "results/edct/baselines/world/mixed-50.jsonl" in first
