"""The figures of the cvqa study: marks stand where the tables say, and what cannot be drawn says so."""

import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cfeval.cvqa.figures import draw_accuracy, draw_answers, draw_bias, draw_puzzles
from cfeval.cvqa.tables.accuracy import TABLE3, TABLE7
from cfeval.cvqa.tables.comparisons import BIAS
from cfeval.cvqa.tables.replies import SolverFacts
from cfeval.cvqa.tables.sets import AnswersRow
from tests.cvqa.tables.scores import condition, failed, material, pair_scores, score
from tests.cvqa.tables.test_others import labelled
from tests.edct.figures.test_figures import svg


def dots(axes: Axes, marker: str = "o") -> set[tuple[float, float]]:
    """Where the single marks of a panel stand."""
    marks = [line for line in axes.lines if line.get_marker() == marker and len(list(line.get_xdata())) == 1]  # type: ignore[arg-type]
    return {(float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in marks}  # type: ignore[index]


def panels(figure: Figure) -> dict[str, Axes]:
    return {axes.get_title(loc="left"): axes for axes in figure.axes if axes.get_visible()}


def test_each_type_has_a_panel_with_both_accuracies() -> None:
    scores = pair_scores([1, 1, 1, 0], [0, 1, 0, 0]) + pair_scores([1, 1], [1, 0], "boolean")
    found = material(
        {condition("a$b"): scores, condition("n"): pair_scores([1], [1])}, solvers={"n": SolverFacts(test_world=True)}
    )
    of = panels(draw_accuracy(TABLE3.rows(found)))
    assert list(of) == ["Numerical, direct", "Boolean"]
    assert dots(of["Numerical, direct"]) == {(0.75, 0), (0.25, 0), (1, 1)}
    assert dots(of["Boolean"]) == {(1, 0), (0.5, 0)}
    assert [label.get_text() for label in of["Numerical, direct"].get_yticklabels()] == [r"a\$b", "n †"]


def test_a_solver_without_a_score_says_so() -> None:
    scores = [failed("x", "original"), failed("x", "counterfactual")]
    text = svg(draw_accuracy(TABLE3.rows(material({condition(): scores}))))
    assert "none scored of 1" in text


def test_what_missing_scores_could_change_is_a_pale_bar() -> None:
    scores = [*pair_scores([1, 1], [1, 0]), score("x", "original", "1", "1"), score("x", "counterfactual", None, "1")]
    figure = draw_accuracy(TABLE3.rows(material({condition(): scores})))
    [axes] = [one for one in figure.axes if one.get_visible()]
    pale = [line.get_xdata() for line in axes.lines if line.get_linewidth() == 5]
    assert [tuple(map(float, ends)) for ends in pale] == [(0.3333, 0.6667)]  # type: ignore[arg-type]
    assert "over all pairs, whatever the missing scores are" in svg(figure)


def test_sets_stand_below_each_other() -> None:
    found = material({condition(of="one"): pair_scores([1], [0]), condition(of="two"): pair_scores([1], [0])})
    of = panels(draw_accuracy(TABLE3.rows(found)))
    assert list(of) == ["one:\nNumerical, direct", "two:\nNumerical, direct"]


@pytest.mark.slow
def test_puzzles_have_a_panel_a_template_and_one_of_all() -> None:
    scores = [
        score(f"{kind}-{i}", side, "A", "A", kind=f"abs_counting_{kind}")
        for kind in range(1, 7)
        for i in range(2)
        for side in ("original", "counterfactual")
    ]
    of = panels(draw_puzzles(TABLE7.rows(material({condition(): scores}))))
    assert len(of) == 7
    assert list(of)[-1] == "All templates"


def test_ids_in_svg_do_not_hang_on_digits_that_change_from_run_to_run() -> None:
    found = material({condition(): [score("1-1", "original", "A", "A", kind="abs_counting_1")]})
    figure = draw_puzzles(TABLE7.rows(found))
    assert "clipPath" in svg(figure)
    places = [value for axes in figure.axes for value in axes.get_position().bounds]
    assert places == pytest.approx([round(value, 12) for value in places], abs=1e-15)


def test_numbers_from_ten_on_share_a_bar() -> None:
    shares = {"0": 0.5, "9": 0.2, "10": 0.2, "1000": 0.1}
    rows = [
        AnswersRow(set="s", type="direct", side="counterfactual", answer=answer, count=1, share=share)
        for answer, share in shares.items()
    ]
    axes = panels(draw_answers(rows))["Counterfactual questions"]
    heights = [round(bar.get_height(), 4) for bar in axes.patches[:11]]  # type: ignore[attr-defined]
    assert (heights[0], heights[9], heights[10]) == (0.5, 0.2, 0.3)


def test_women_men_and_their_gap_are_drawn() -> None:
    scores = labelled(pair_scores([1, 1, 1, 1], [0, 1, 1, 1]), {f"direct-p{i:02}": i for i in range(4)})
    rows = BIAS.rows(material({condition(): scores}, genders={0: "female", 1: "female", 2: "male", 3: "male"}))
    left, right = draw_bias(rows).axes
    assert dots(left) == {(0.5, 0), (0, 0)}
    assert dots(right, "D") == {(0.5, 0)}


@pytest.mark.parametrize(
    ("figure", "said"),
    [
        (draw_accuracy, "Empty: "),
        (draw_puzzles, "Empty: "),
        (draw_answers, "No set has questions with numbers"),
        (draw_bias, "Empty: no labels"),
    ],
)
def test_a_figure_without_rows_says_why(figure, said: str) -> None:  # type: ignore[no-untyped-def]
    assert said in svg(figure([]))
