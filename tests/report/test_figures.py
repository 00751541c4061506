"""The figures: what they show, and cases at the edge."""

import io

from matplotlib.figure import Figure

from cfeval.records.common import Status
from cfeval.report.calibration_plot import calibration_plot
from cfeval.report.forest import forest
from cfeval.report.page import themed
from cfeval.tables import edct_calibration, edct_table1
from tests.tables.study import GROUNDED, HOW, arm, failed, scores

KNOWN = {"grounded": 0.0, "mixed-50": 0.5, "prior": 1.0, "shortcut": 1.0}
ARMS = [arm(vlm=vlm) for vlm in KNOWN]


def svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def test_the_forest_has_a_line_an_arm_with_its_figures() -> None:
    rows = edct_table1.rows(ARMS, [row for one in ARMS for row in scores(one, 5, 5)], HOW, (), {"prior"})
    text = svg(forest(rows))
    assert all(f">{vlm}<" in text for vlm in KNOWN if vlm != "prior")
    assert ">prior †<" in text
    assert text.count("10 of 10") == 4


def test_the_forest_shows_an_arm_without_scores_and_an_empty_table() -> None:
    rows = edct_table1.rows([GROUNDED], [failed(GROUNDED, "a", Status.REFUSED)], HOW)
    assert "none scored" in svg(forest(rows))
    assert "params.yaml names no arm" in svg(forest([]))


def test_a_published_figure_is_a_star_of_its_own() -> None:
    (row,) = edct_table1.rows([GROUNDED], scores(GROUNDED, 5, 5), HOW)
    assert "published CCS" in svg(forest([row.model_copy(update={"paper_ccs": 0.674})]))


def test_the_calibration_plot_names_every_target_once_whatever_the_editors() -> None:
    both = [*ARMS, *(one.model_copy(update={"editor": "diffusion"}) for one in ARMS)]
    rows = edct_calibration.rows(both, [row for one in both for row in scores(one, 5, 5)], HOW, KNOWN)
    text = svg(calibration_plot(rows))
    assert all(text.count(f">{vlm}<") == 1 for vlm in KNOWN)
    assert ">diffusion<" in text


def test_the_calibration_plot_bears_having_nothing_to_show() -> None:
    rows = edct_calibration.rows([GROUNDED], [failed(GROUNDED, "a", Status.REFUSED)], HOW, KNOWN)
    assert "accuracy of answers" not in svg(calibration_plot(rows))
    assert "no target of Table 1 has a known share" in svg(calibration_plot([]))


def test_in_the_page_a_figure_has_the_pages_colors_and_no_metadata() -> None:
    rows = edct_calibration.rows([GROUNDED], scores(GROUNDED, 1, 1), HOW, KNOWN)
    text = str(themed(svg(calibration_plot(rows))))
    assert text.startswith("<svg")
    assert "currentColor" in text
    assert "<metadata>" not in text
