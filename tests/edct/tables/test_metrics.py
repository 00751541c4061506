"""The figures for `dvc metrics`."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from cfeval.config import load
from cfeval.core.jsonl import read_csv
from cfeval.core.records import Record, Status
from cfeval.cvqa import cli as cvqa
from cfeval.cvqa.tables.accuracy import metrics as cvqa_metrics
from cfeval.edct.asked import asked_tables
from cfeval.edct.tables.calibration import CALIBRATION
from cfeval.edct.tables.conditions import TABLE1, metrics
from cfeval.vce import cli as vce
from cfeval.vce.tables.paper import metrics as vce_metrics
from tests.edct.tables.study import GROUNDED, condition, failed, made_of, score, scores
from tests.listed import TABLES as LISTED

PROJECT = Path(__file__).parents[3]
MOST = 50
"""Figures a reader can still take in at once."""


def test_a_row_is_one_figure_by_the_names_that_tell_it_from_the_others() -> None:
    prior = condition(vlm="prior")
    given = made_of([*scores(GROUNDED, 9, 1), *scores(prior, 2, 8)], known={"grounded": 0})
    found = metrics(
        {
            "table1": TABLE1.rows([GROUNDED, prior], given),
            "calibration": CALIBRATION.rows([GROUNDED], given),
        }
    )
    assert found["table1"] == {"grounded": {"ccs": 0.9}, "prior": {"ccs": 0.2}}
    assert found["calibration"] == {"settings": 1, "within_05": 1.0, "largest_difference": 0.0}


def test_ccs_is_never_alone() -> None:
    given = [score(GROUNDED, "a", 1, 1, present=1), score(GROUNDED, "b", 0, 1, present=1)]
    given += [failed(GROUNDED, name, Status.CITATION_ABSENT, present=0) for name in "cd"]
    found = metrics({"table1": TABLE1.rows([GROUNDED], made_of(given))})
    assert found["table1"] == {"grounded": {"ccs": 0.5, "strict_ccs": 0.25, "citation_rate": 0.5}}


def test_a_figure_that_does_not_exist_is_left_out() -> None:
    prior = condition(vlm="prior")
    of = TABLE1.rows([prior], made_of([failed(prior, "a", Status.REFUSED)]))
    assert metrics({"table1": of}) == {"table1": {}}


def of_edct() -> Sequence[str]:
    """The tables whose headlines the default study shows."""
    study = load(PROJECT / "params.yaml").edct
    assert study is not None
    return asked_tables(study, 1).metrics


@pytest.mark.parametrize(
    ("study", "names", "headlines"),
    [
        ("edct", of_edct(), metrics),
        ("vce", vce.IN_METRICS, vce_metrics),
        ("cvqa", cvqa.IN_METRICS, cvqa_metrics),
    ],
)
def test_the_headlines_of_the_published_tables_are_few_and_each_is_a_number(
    study: str, names: Sequence[str], headlines: Callable[[Mapping[str, Sequence[Any]]], Mapping[str, Any]]
) -> None:
    tables = {name: _published(study, name) for name in names}
    found = headlines(tables)
    leaves = [leaf for table in found.values() for leaf in _leaves(table)]
    assert found.keys() == tables.keys()
    assert all(found.values())
    assert 5 <= len(leaves) <= MOST
    assert all(isinstance(leaf, int | float) for leaf in leaves)


def _published(study: str, name: str) -> list[Record]:
    return read_csv(PROJECT / "results" / study / "tables" / f"{study}_{name}.csv", LISTED[study][name].row())


def _leaves(found: object) -> list[object]:
    return [leaf for value in found.values() for leaf in _leaves(value)] if isinstance(found, dict) else [found]
