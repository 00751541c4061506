"""The figure of validity: a panel a classifier, the points where the table says."""

import pytest
from matplotlib.axes import Axes

from cfeval.vce.figures import validity
from cfeval.vce.tables import methods
from cfeval.vce.tables.summary import SummaryRow
from tests.edct.figures.test_figures import svg
from tests.vce.tables.groups import PAPER, made_of, of_the_paper


@pytest.fixture(scope="module")
def rows() -> list[SummaryRow]:
    return methods.rows(made_of(of_the_paper()))


def points(axes: Axes) -> set[tuple[float, float]]:
    """Where the markers of a panel stand."""
    marks = (line for line in axes.lines if line.get_marker() in ("o", "D") and len(line.get_xdata()) == 1)  # type: ignore[arg-type]
    return {(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in marks}  # type: ignore[index]


def test_each_classifier_has_a_panel_with_the_tables_points(rows: list[SummaryRow]) -> None:
    figure = validity.draw(rows)
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes if axes.get_visible()}
    assert tuple(panels) == PAPER
    told = {row.metric: row.mean for row in rows if (row.classifier, row.role) == ("ConvNeXt", "neither")}
    assert (told["ta"], told["ota"]) in points(panels["ConvNeXt"])
    assert len(points(panels["ConvNeXt"])) == 4
    assert panels["Madry"].get_title(loc="right") == "robust"


def test_methods_that_stand_for_nothing_are_left_out(rows: list[SummaryRow]) -> None:
    found = validity.draw([row.model_copy(update={"role": ""}) for row in rows])
    assert "No method has both TA and OTA." in svg(found)


@pytest.mark.slow
def test_settings_are_told_apart(rows: list[SummaryRow]) -> None:
    other = [row.model_copy(update={"image_set": "photos"}) for row in rows if row.classifier == "Madry"]
    text = svg(validity.draw([*rows, *other]))
    assert "Madry · photos · ddpm" in text


def test_a_single_classifier_has_room_for_the_legend(rows: list[SummaryRow]) -> None:
    figure = validity.draw([row for row in rows if row.classifier == "Madry"])
    assert figure.get_size_inches()[0] > 4
    assert "no cone, no x0" in svg(figure)
