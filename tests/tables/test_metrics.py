"""The figures for `dvc metrics`."""

from cfeval.records.common import Status
from cfeval.tables import NAMES, edct_calibration, edct_table1
from cfeval.tables.metrics import metrics
from tests.tables.study import GROUNDED, arm, failed, made_of, scores
from tests.tables.whole import rows

LABEL = "world/grounded/grammar/edct-2025/scene/grammar"


def test_figures_stand_under_table_and_full_arm_name() -> None:
    given = made_of(scores(GROUNDED, 9, 1), known={"grounded": 0})
    found = metrics(
        {"table1": edct_table1.rows([GROUNDED], given), "calibration": edct_calibration.rows([GROUNDED], given)}
    )
    assert found["table1"][LABEL] == {"ccs": 0.9, "pcs": 0.9, "ncc": 1.0, "n": 10, "n_scored": 10}
    assert found["calibration"]["world/grounded/grammar/scene/grammar"]["difference"] == 0


def test_a_figure_that_does_not_exist_is_left_out() -> None:
    prior = arm(vlm="prior")
    of = edct_table1.rows([prior], made_of([failed(prior, "a", Status.REFUSED)]))
    assert list(metrics({"table1": of})["table1"].values()) == [{"n": 1, "n_scored": 0}]


def test_no_row_of_any_table_hides_another() -> None:
    found = metrics({name: rows(name) for name in NAMES["edct"]})
    assert {name: len(of) for name, of in found.items()} == {name: len(rows(name)) for name in NAMES["edct"]}
    assert all(figures for of in found.values() for figures in of.values())
