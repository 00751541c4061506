"""The figures for `dvc metrics`."""

from pathlib import Path
from types import ModuleType

import pytest

from cfeval.cli.of_tables import Metrics
from cfeval.io.records import read_csv
from cfeval.jobs import cvqa, edct, vce
from cfeval.records.common import Record, Status
from cfeval.tables import cvqa_metrics, edct_calibration, edct_table1, vce_metrics
from cfeval.tables.metrics import metrics
from tests.listed import TABLES as LISTED
from tests.tables.study import GROUNDED, arm, failed, made_of, scores

PROJECT = Path(__file__).parents[2]
MOST = 50
"""Figures a reader can still take in at once."""


def test_a_row_is_one_figure_by_the_names_that_tell_it_from_the_others() -> None:
    prior = arm(vlm="prior")
    given = made_of([*scores(GROUNDED, 9, 1), *scores(prior, 2, 8)], known={"grounded": 0})
    found = metrics(
        {
            "table1": edct_table1.rows([GROUNDED, prior], given),
            "calibration": edct_calibration.rows([GROUNDED], given),
        }
    )
    assert found["table1"] == {"grounded": 0.9, "prior": 0.2}
    assert found["calibration"] == {"settings": 1, "within_05": 1.0, "largest_difference": 0.0}


def test_a_figure_that_does_not_exist_is_left_out() -> None:
    prior = arm(vlm="prior")
    of = edct_table1.rows([prior], made_of([failed(prior, "a", Status.REFUSED)]))
    assert metrics({"table1": of}) == {"table1": {}}


@pytest.mark.parametrize(
    ("study", "of", "headlines"),
    [("edct", edct, metrics), ("vce", vce, vce_metrics.metrics), ("cvqa", cvqa, cvqa_metrics.metrics)],
)
def test_the_headlines_of_the_sealed_tables_are_few_and_each_is_a_number(
    study: str, of: ModuleType, headlines: Metrics
) -> None:
    tables = {name: _sealed(study, name) for name in of.IN_METRICS}
    found = headlines(tables)
    leaves = [leaf for table in found.values() for leaf in _leaves(table)]
    assert found.keys() == tables.keys()
    assert all(found.values())
    assert 5 <= len(leaves) <= MOST
    assert all(isinstance(leaf, int | float) for leaf in leaves)


def _sealed(study: str, name: str) -> list[Record]:
    return read_csv(PROJECT / "results" / study / "tables" / f"{study}_{name}.csv", LISTED[study][name].row())


def _leaves(found: object) -> list[object]:
    return [leaf for value in found.values() for leaf in _leaves(value)] if isinstance(found, dict) else [found]
