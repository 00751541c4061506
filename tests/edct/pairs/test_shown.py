"""Given pairs as readers see them: the figure, the first screen of the report, what a study of them takes."""

import io
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation

from cfeval.config import parse
from cfeval.edct.estimate import pair_lines
from cfeval.edct.figures import draw_pairs
from cfeval.edct.pairs.records import PairCondition, PairVerdict
from cfeval.edct.pairs.table import PairData, PairRow, rows
from cfeval.edct.report.pairs import finding
from tests.edct.pairs.test_pairs import verdict

MODEL = {"plugin": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}


def condition(vlm: str) -> PairCondition:
    return PairCondition(pair_set="set", vlm=vlm, pair_judge="judge")


def table(**of: list[PairVerdict]) -> list[PairRow]:
    """The rows of some targets; `near` is a test model of which phi should be .7."""
    data = PairData({condition(name): found for name, found in of.items()}, expected={"near": 0.7})
    return rows(list(data.verdicts), data)


NEAR = [verdict(f"{n}", n % 2, n % 2 if n < 36 else 1 - n % 2) for n in range(40)]
FAR = [verdict(f"{n}", n % 2, 1 - n % 2) for n in range(40)]
NEVER = [verdict(f"{n}", 0, n % 2) for n in range(40)]


def svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def test_the_figure_has_the_four_counts_phi_and_what_is_expected() -> None:
    text = svg(draw_pairs(table(near=NEAR, never=NEVER)))
    assert all(f">{count}<" in text for count in (18, 20))
    assert ">expected of the test model<" in text
    assert "no φ: one of the two never varies" in text
    assert "params.yaml names no condition" in svg(draw_pairs([]))


def test_the_figure_shows_f_auroc_at_the_length_of_the_explanations_by_the_number_of_the_line() -> None:
    short, long = ([one.model_copy(update={"words": many}) for one in NEAR] for many in (4, 40))
    figure = draw_pairs(table(near=short, far=long, never=NEVER))
    left, _, axes = figure.axes
    assert [label.get_text().split()[-1] for label in left.get_yticklabels()] == ["1", "2", "3"]
    points = {text.get_text(): text.xy for text in axes.texts if isinstance(text, Annotation)}
    assert points == {"1": (4, pytest.approx(0.9)), "2": (40, pytest.approx(0.9))}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("mean words of both explanations", "F-AUROC")


def test_the_figure_says_where_no_phi_is_what_is_expected() -> None:
    of = {condition("never"): NEVER}
    data = PairData(of, expected={"never": "its answer never moves"})
    assert "no φ, as expected" in svg(draw_pairs(rows(list(of), data)))


def test_of_natural_pairs_alone_the_figure_says_why_it_is_empty() -> None:
    natural = [verdict(f"{n}", n % 2, n % 2, natural=True) for n in range(10)]
    assert "only answers are told" in svg(draw_pairs(table(far=natural)))


def test_the_finding_tells_targets_apart_by_the_whole_interval_of_phi() -> None:
    said = str(finding(table(near=NEAR, far=FAR, never=NEVER)))
    assert "more often than other changes: <b>near</b> (φ 0.80, " in said
    assert "That is not shown of <b>far</b> (φ −1.00, " in said
    assert "Nothing can be told of <b>never</b>: " in said
    natural = [verdict(f"{n}", n % 2, None, natural=True, correct_before=1, correct_after=n % 2) for n in range(10)]
    assert "<b>far</b> right about both images of 50 %" in str(finding(table(far=natural)))
    assert str(finding([])) == "No pair has an outcome."


def test_two_conversations_a_pair_and_six_rulings_are_counted() -> None:
    asked = {"plugin": "chat", "model": MODEL, "votes": 3}
    pairs: dict[str, Any] = {"pair_set": ["own"], "vlm": ["a", "b"], "pair_judge": ["chat", "panel"]}
    judges = {"chat": asked, "panel": {"plugin": "panel", "judges": [asked, {"plugin": "lexical"}]}}
    edct = {
        "pair_sets": {"own": {"plugin": "files", "path": "p.csv"}},
        "vlms": {"a": MODEL, "b": {**MODEL, "model": "n"}},
    }
    study = parse({"edct": {**edct, "pair_judges": judges, "pairs": [pairs], "again": 2}}).edct
    assert study is not None
    found = {(line.stage, line.plugin): line for line in pair_lines(study, {"own": 100}, "", "")}
    assert {key: line.typical.calls for key, line in found.items()} == {
        ("pair_baselines", "a"): 2 * (200 + 50),
        ("pair_baselines", "b"): 2 * (200 + 50),
        ("pair_verdicts", "chat"): 2 * 3 * (400 + 100 + 50),
        ("pair_verdicts", "panel"): 2 * 3 * (400 + 100 + 50),
    }
    again = 50 + 15  # of 100 pairs, one in two: 3 standard deviations more
    assert found["pair_baselines", "a"].most.calls == 2 * (200 + again)
    assert found["pair_verdicts", "chat"].most.calls == 2 * 2 * 3 * (400 + 100 + again)
