"""The first run stays small: how many jobs the main study has, told by its list of jobs."""

from pathlib import Path

from cfeval.config import load
from cfeval.jobs import jobs

ROOT = Path(__file__).parents[2]
MOST = 130
"""Jobs of `make demo`."""


def test_the_main_study_has_few_jobs() -> None:
    assert 100 < len(list(jobs(load(ROOT / "params.yaml"), "results", "edct"))) <= MOST
