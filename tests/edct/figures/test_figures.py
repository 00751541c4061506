"""The figures: what they show, and cases at the edge."""

import io
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from cfeval.core.extras import load
from cfeval.core.records import Status
from cfeval.edct.figures import draw_axes, draw_calibration, draw_forest
from cfeval.edct.tables.calibration import CALIBRATION, CalibrationRow
from cfeval.edct.tables.conditions import TABLE1
from cfeval.edct.tables.faithfulness import ControlRow
from cfeval.report.page import themed
from tests.edct.tables.study import GROUNDED, condition, failed, made_of, score, scores
from tests.edct.tables.whole import rows
from tests.listed import OF_EDITS as DRAWN
from tests.slow import examples

KNOWN = {"grounded": 0.0, "mixed-50": 0.5, "prior": 1.0, "shortcut": 1.0}
CONDITIONS = [condition(vlm=vlm) for vlm in KNOWN]


def svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def calibrated(*judges: str) -> list[CalibrationRow]:
    conditions = [one.model_copy(update={"judge": judge}) for judge in judges for one in CONDITIONS]
    given_ = made_of([row for one in conditions for row in scores(one, 5, 5)], known=KNOWN)
    return CALIBRATION.rows(conditions, given_)


def control(vlm: str, ccs: float, completeness: float, **more: object) -> ControlRow:
    names = condition(vlm=vlm).model_dump()
    return ControlRow.model_validate({**names, "n": 9, "n_scored": 9, "ccs": ccs, "completeness": completeness, **more})


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_every_figure_is_drawn_from_the_rows_of_its_table_and_bears_none(name: str) -> None:
    shown = DRAWN[name]
    draw = load(shown.draw)
    assert "<path" in svg(draw(rows(shown.table)))
    assert "params.yaml names no condition" in svg(draw([]))


def test_the_forest_has_a_line_a_condition_with_its_figures() -> None:
    given_ = made_of([row for one in CONDITIONS for row in scores(one, 5, 5)], test_targets={"prior"})
    text = svg(draw_forest(TABLE1.rows(CONDITIONS, given_)))
    assert all(f">{vlm}<" in text for vlm in KNOWN if vlm != "prior")
    assert ">prior †<" in text
    assert text.count("10 of 10") == 4


def test_the_forest_shows_a_condition_without_scores() -> None:
    found = TABLE1.rows([GROUNDED], made_of([failed(GROUNDED, "a", Status.REFUSED)]))
    assert "none scored   (0 of 1   there: not known)" in svg(draw_forest(found))


def test_the_forest_shows_strict_ccs_and_the_citation_rate_beside_ccs() -> None:
    given = [score(GROUNDED, "a", 1, 1, present=1), failed(GROUNDED, "b", Status.CITATION_ABSENT, present=0)]
    figure = draw_forest(TABLE1.rows([GROUNDED], made_of(given)))
    assert "there: 0.50" in svg(figure)
    squares = [line for line in figure.axes[0].lines if line.get_marker() == "s" and len(line.get_xdata())]
    assert [list(line.get_xdata()) for line in squares] == [[0.5]]


def test_the_calibration_plot_has_strict_ccs_and_names_the_targets_that_cite_what_is_absent() -> None:
    prior = condition(vlm="prior")
    given = [*(score(GROUNDED, f"i{n}", 1, 1, present=1) for n in range(4)), score(prior, "i0", 1, 1, present=1)]
    given += [failed(prior, f"i{n}", Status.CITATION_ABSENT, present=0) for n in (1, 2, 3)]
    rows = CALIBRATION.rows([GROUNDED, prior], made_of(given, known={"grounded": 0.0, "prior": 1.0}))
    assert [(row.ccs, row.strict_ccs, row.citation_rate) for row in rows] == [(1, 1, 1), (1, 0.25, 0.25)]
    figure = draw_calibration(rows)
    assert "Citation rate: prior 0.25, others 0.95 or more" in svg(figure)
    assert "strict CCS, edct-2025" in svg(figure)


def test_a_published_figure_is_a_star_of_its_own() -> None:
    (row,) = TABLE1.rows([GROUNDED], made_of(scores(GROUNDED, 5, 5)))
    assert "published CCS" in svg(draw_forest([row.model_copy(update={"paper_ccs": 0.674})]))


def test_the_forest_names_every_way_in_which_an_interval_was_computed() -> None:
    prior = condition(vlm="prior")
    found = TABLE1.rows([GROUNDED, prior], made_of([*scores(GROUNDED, 2, 2), *scores(prior, 0, 4)]))
    assert "intervals: Wilson 95 %" in svg(draw_forest(found))


def test_the_calibration_plot_has_a_panel_a_setting_and_explains_its_marks_once() -> None:
    text = svg(draw_calibration(calibrated("grammar", "lexical")))
    assert all(text.count(f">{panel}<") == 1 for panel in ("grammar", "lexical"))
    assert text.count(">CCS, edct-2025<") == 1
    assert ">CCS, edct-bench-2026<" not in text


def test_targets_that_share_a_p_have_short_names_which_are_explained() -> None:
    text = svg(draw_calibration(calibrated("grammar")))
    assert "pr: prior, sh: shortcut" in text
    assert text.count(">pr<") == text.count(">sh<") == 1
    assert "mixed" not in text


def test_short_names_are_as_long_as_it_takes_to_tell_them_apart() -> None:
    found = [row.model_copy(update={"vlm": row.vlm.replace("shortcut", "primed")}) for row in calibrated("grammar")]
    assert "prio: prior, prim: primed" in svg(draw_calibration(found))


def test_the_calibration_plot_bears_a_target_without_a_score() -> None:
    given_ = made_of([failed(GROUNDED, "a", Status.REFUSED)], known=KNOWN)
    assert "CCS, edct-2025" not in svg(draw_calibration(CALIBRATION.rows([GROUNDED], given_)))


def test_a_condition_with_ccs_alone_has_no_place_on_the_two_axes() -> None:
    row = control("a", 0.5, 0.5)
    text = svg(draw_axes([row, row.model_copy(update={"vlm": "b", "completeness": None})]))
    assert ">a<" in text
    assert ">b<" not in text
    assert "No condition has both" in svg(draw_axes([row.model_copy(update={"completeness": None})]))


def test_a_condition_whose_completeness_says_nothing_has_no_place_and_is_named() -> None:
    rows = [control("a", 0.5, 0.5), control("prior", 0.0, 1.0, completeness_empty=1)]
    text = svg(draw_axes(rows))
    assert ">prior<" not in text
    assert "as a blank image changes nothing: prior" in text


def test_the_noise_floor_is_explained_where_there_is_one() -> None:
    assert "noise floor" in svg(draw_axes([control("a", 0.5, 0.5, noise_floor=0.1)]))
    assert "noise floor" not in svg(draw_axes([control("a", 0.5, 0.5)]))


PLACES = st.tuples(st.sampled_from([0, 0.02, 0.5, 0.97, 1]), st.sampled_from([0, 0.03, 0.5, 0.98, 1]))


@pytest.mark.slow
@given(st.lists(PLACES, min_size=1, max_size=7))
@examples(15)
def test_names_on_the_two_axes_do_not_overlap_and_stay_in_the_image(places: list[tuple[float, float]]) -> None:
    names = ("grounded", "mixed-50", "shortcut", "prior", "confabulating", "another", "last")
    found = [control(name, *place, test_world=1) for name, place in zip(names, places, strict=False)]
    figure = draw_axes(found)
    FigureCanvasAgg(figure).draw()
    texts = [text for text in figure.axes[0].texts if isinstance(text, Text)]
    boxes = [text.get_window_extent() for text in texts]
    assert len(boxes) == len(found)
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
    assert all(figure.bbox.x0 <= box.x0 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1 for box in boxes)


def test_in_the_page_a_figure_has_the_pages_colors_and_no_metadata() -> None:
    text = str(themed(svg(draw_calibration(calibrated("grammar"))), "What is <known>"))
    assert text.startswith('<svg role="img" aria-label="Figure: What is &lt;known&gt;"')
    assert "currentColor" in text
    assert "<metadata>" not in text
