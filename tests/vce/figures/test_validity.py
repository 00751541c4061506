"""The figure of validity: a panel a classifier, the points where the table says."""

import pytest
from matplotlib.axes import Axes

from cfeval.vce.figures import draw_validity
from cfeval.vce.tables.methods import METHODS
from cfeval.vce.tables.paper import SummaryRow
from tests.edct.figures.test_figures import svg
from tests.vce.tables.groups import PAPER, made_of, of_the_paper


@pytest.fixture(scope="module")
def rows() -> list[SummaryRow]:
    return METHODS.rows(made_of(of_the_paper()))


def points(axes: Axes) -> set[tuple[float, float]]:
    """Where the markers of a panel stand."""
    marks = (line for line in axes.lines if line.get_marker() in ("o", "D") and len(line.get_xdata()) == 1)  # type: ignore[arg-type]
    return {(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in marks}  # type: ignore[index]


def test_each_classifier_has_a_panel_with_the_tables_points(rows: list[SummaryRow]) -> None:
    figure = draw_validity(rows)
    panels = {axes.get_title(loc="left"): axes for axes in figure.axes if axes.get_visible()}
    assert tuple(panels) == PAPER
    told = {row.metric: row.mean for row in rows if (row.classifier, row.role) == ("ConvNeXt", "neither")}
    assert (told["ta"], told["ota"]) in points(panels["ConvNeXt"])
    assert len(points(panels["ConvNeXt"])) == 4
    assert panels["Madry"].get_title(loc="right") == "robust"


def test_methods_that_stand_for_nothing_are_left_out(rows: list[SummaryRow]) -> None:
    found = draw_validity([row.model_copy(update={"role": ""}) for row in rows])
    assert "No method has both TA and OTA." in svg(found)


@pytest.mark.slow
def test_settings_are_told_apart(rows: list[SummaryRow]) -> None:
    other = [row.model_copy(update={"image_set": "photos"}) for row in rows if row.classifier == "Madry"]
    text = svg(draw_validity([*rows, *other]))
    assert "Madry · photos · ddpm" in text


def test_a_single_classifier_has_room_for_the_legend(rows: list[SummaryRow]) -> None:
    figure = draw_validity([row for row in rows if row.classifier == "Madry"])
    assert figure.get_size_inches()[0] > 4
    assert "no cone, no x0" in svg(figure)


def flawed(rows: list[SummaryRow], **cv: float) -> list[SummaryRow]:
    """The rows with conditional validity of the method without the cone, and one classifier's defect."""
    told = [
        row.model_copy(update={"defect": "sees no outline" if row.classifier == "ConvNeXt" else ""}) for row in rows
    ]
    plain = [row for row in told if (row.role, row.metric) == ("no cone", "ta") and row.classifier in cv]
    return [*told, *(row.model_copy(update={"metric": "cv", "mean": cv[row.classifier]}) for row in plain)]


def test_rejection_stands_at_full_accuracy_with_what_the_oracles_see_of_the_valid(rows: list[SummaryRow]) -> None:
    figure = draw_validity(flawed(rows, ConvNeXt=0.4, AlexNet=0.7))
    kept = {
        axes.get_title(loc="left"): [
            (float(line.get_xdata()[0]), float(line.get_ydata()[0]))  # type: ignore[index]
            for line in axes.lines
            if line.get_marker() == ">" and len(line.get_xdata()) == 1  # type: ignore[arg-type]
        ]
        for axes in figure.axes
        if axes.get_visible()
    }
    assert kept.pop("ConvNeXt") == [(1.0, 0.4)]
    assert kept.pop("AlexNet") == [(1.0, 0.7)]
    assert not any(kept.values())
    assert "no cone, rejection: what is kept" in svg(figure)
    assert "rejection" not in svg(draw_validity(rows))


def test_a_planted_defect_is_named_with_what_the_oracles_find(rows: list[SummaryRow]) -> None:
    figure = draw_validity(flawed(rows, ConvNeXt=0.4))
    said = {axes.get_title(loc="left"): " ".join(one.get_text() for one in axes.texts) for axes in figure.axes}
    assert "planted: sees no outline" in said["ConvNeXt"]
    assert "oracles confirm 40% of" in said["ConvNeXt"].replace("\n", " ").replace("\\%", "%")
    assert "planted" not in "".join(text for name, text in said.items() if name != "ConvNeXt")
    nothing = draw_validity(flawed(rows))
    assert any("none is valid" in one.get_text() for axes in nothing.axes for one in axes.texts)
