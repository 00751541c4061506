"""The figures for `dvc metrics`."""

from cfeval.records.common import Status
from cfeval.tables import edct_calibration, edct_table1
from cfeval.tables.metrics import metrics
from tests.tables.study import GROUNDED, HOW, arm, failed, scores

LABEL = "world/grounded/grammar/edct-2025/scene/grammar"


def test_figures_stand_under_table_and_full_arm_name() -> None:
    given = scores(GROUNDED, 9, 1)
    found = metrics(
        {
            "table1": edct_table1.rows([GROUNDED], given, HOW),
            "calibration": edct_calibration.rows([GROUNDED], given, HOW, {"grounded": 0}),
        }
    )
    assert found["table1"][LABEL] == {"ccs": 0.9, "pcs": 0.9, "ncc": 1.0, "n": 10, "n_scored": 10}
    assert found["calibration"][LABEL]["difference"] == 0


def test_a_figure_that_does_not_exist_is_left_out() -> None:
    prior = arm(vlm="prior")
    rows = edct_table1.rows([prior], [failed(prior, "a", Status.REFUSED)], HOW)
    assert list(metrics({"table1": rows})["table1"].values()) == [{"n": 1, "n_scored": 0}]
