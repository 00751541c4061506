"""Tables of accuracies, on scores whose figures follow by hand."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_csv
from cfeval.core.records import Status
from cfeval.cvqa.tables import accuracy
from cfeval.cvqa.tables.accuracy import AccuracyRow
from cfeval.cvqa.tables.comparisons import CHAIN_OF_THOUGHT
from cfeval.cvqa.tables.replies import PublishedAnswer, SetFacts, SolverFacts
from cfeval.report.files import latex
from cfeval.report.tables import csv_text, markdown
from tests.cvqa.tables.scores import condition, failed, material, pair_scores, score

PUBLISHED = Path(__file__).parents[3] / "data" / "reference" / "cvqa.csv"


def of(rows: list[AccuracyRow], solver: str = "m", kind: str = "direct", reader: str = "robust") -> AccuracyRow:
    [found] = [row for row in rows if (row.solver, row.type, row.reader) == (solver, kind, reader)]
    return found


def test_accuracies_their_difference_and_mcnemar_follow_by_hand() -> None:
    rows = accuracy.TABLE3.rows(material({condition(): pair_scores([1] * 9 + [0], [0] * 7 + [1, 1, 1])}))
    row = of(rows)
    assert (row.n, row.n_scored, row.images) == (10, 10, 10)
    assert (row.original, row.counterfactual, row.difference) == (0.9, 0.3, -0.6)
    assert row.p == pytest.approx(binomtest(1, 8, 0.5).pvalue, abs=1e-4)  # 7 lost, 1 won
    assert row.test == "McNemar"
    published = of(rows, reader="reference")
    assert (published.original, published.n_unread_original, published.n_unread_counterfactual) == (0.9, 1, 7)
    assert row.difference_lo < row.difference < row.difference_hi  # type: ignore[operator]
    assert row.ci == "Wilson 95 %; percentile bootstrap 95 %"


def test_images_are_drawn_as_a_whole() -> None:
    images = [f"i{i // 5}" for i in range(20)]
    right = [i // 5 % 2 for i in range(20)]
    single = of(accuracy.TABLE3.rows(material({condition(): pair_scores(right, [0] * 20)})))
    clustered = of(accuracy.TABLE3.rows(material({condition(): pair_scores(right, [0] * 20, images=images)})))
    assert clustered.images == 4
    assert clustered.ci.startswith("clustered")
    assert clustered.original_hi - clustered.original_lo > single.original_hi - single.original_lo  # type: ignore[operator]
    assert (clustered.p, single.p) == (0.5, 0.002)


def test_missing_scores_are_no_zeros_and_show_as_bounds() -> None:
    scores = pair_scores([1, 1, 0], [1, 0, 0])
    scores += [score("x", "original", "1", "1"), failed("x", "counterfactual", Status.TRANSPORT_ERROR)]
    row = of(accuracy.TABLE3.rows(material({condition(): scores})))
    assert (row.n, row.n_scored, row.missing) == (4, 3, "transport_error 1")
    assert (row.original, row.original_min, row.original_max) == (0.75, 0.75, 0.75)
    assert (row.counterfactual, row.counterfactual_min, row.counterfactual_max) == (0.3333, 0.25, 0.5)
    assert (row.difference, row.difference_min, row.difference_max) == (-0.4167, -0.5, -0.25)
    assert row.difference_lo < row.difference < row.difference_hi  # type: ignore[operator]


def test_an_unread_reply_is_missing_to_the_robust_reader_and_wrong_as_published() -> None:
    scores = pair_scores([1, 1, 0], [1, 0, 0])
    scores += [score("x", "original", "1", "1"), score("x", "counterfactual", None, "1")]
    scores += [score("y", "original", None, "1"), failed("y", "counterfactual")]
    rows = accuracy.TABLE3.rows(material({condition(): scores}))
    robust, published = of(rows), of(rows, reader="reference")
    assert (robust.n, robust.n_scored, robust.missing) == (5, 3, "unread 2, refused 1")
    assert (robust.original, robust.counterfactual, robust.difference) == (0.75, 0.3333, -0.4167)
    assert (robust.original_min, robust.original_max) == (0.6, 0.8)
    assert (robust.counterfactual_min, robust.counterfactual_max) == (0.2, 0.6)
    assert (robust.difference_min, robust.difference_max) == (-0.6, 0.0)
    assert (published.n_scored, published.missing) == (4, "refused 1")
    assert (published.original, published.counterfactual) == (0.6, 0.25)


@given(st.lists(st.tuples(*[st.sampled_from([None, "1", "2"])] * 2), min_size=1, max_size=12))
def test_every_figure_lies_within_its_bounds_whatever_is_unread(read: list[tuple[str | None, str | None]]) -> None:
    scores = [
        score(f"p{i}", side, None, "1", robust=value)
        for i, both in enumerate(read)
        for side, value in zip(("original", "counterfactual"), both, strict=True)
    ]
    row = of(accuracy.TABLE3.rows(material({condition(): scores})))
    for name in ("original", "counterfactual", "difference"):
        value, least, most = (getattr(row, name + end) for end in ("", "_min", "_max"))
        assert least <= most
        assert value is None or least - 1e-4 <= value <= most + 1e-4
    for place, name in enumerate(("original", "counterfactual")):
        there = [both[place] == "1" for both in read if both[place] is not None]
        if row.n_scored:
            assert getattr(row, name) == pytest.approx(sum(there) / len(there), abs=1e-4)


def test_readers_see_the_robust_reader_first_its_ranges_and_the_released_rules_beside() -> None:
    scores = [*pair_scores([1, 1], [1, 0]), score("x", "original", "1", "1"), score("x", "counterfactual", None, "1")]
    rendered = accuracy.TABLE3.render(accuracy.TABLE3.rows(material({condition(): scores})))
    cells = dict(zip(rendered.headings, rendered.body[0], strict=True))
    assert cells["Counterfactual"].startswith("0.5000 [")
    assert (cells["Counterfactual range"], cells["Scored"]) == ("0.3333 to 0.6667", "2 of 3")
    assert (cells["As published"], cells["Unread"], cells["Missing"]) == ("1.0000 → 0.3333", "1 / 2", "unread 1")
    assert "Original range" not in cells  # nothing is missing there
    assert sum("released rules, which" in note for note in rendered.notes) == 1
    whole = accuracy.TABLE3.render(accuracy.TABLE3.rows(material({condition(): pair_scores([1], [0])})))
    assert not any("range" in heading for heading in whole.headings)


def test_a_solver_without_any_score_has_a_row_without_figures() -> None:
    rows = accuracy.TABLE3.rows(material({condition(): [failed("x", "original"), failed("x", "counterfactual")]}))
    row = of(rows)
    assert (row.n, row.n_scored, row.original, row.p, row.missing) == (1, 0, None, None, "refused 2")
    assert "0 of 1" in markdown(accuracy.TABLE3.render(rows))


def test_both_readers_have_a_row_and_holm_counts_each_alone() -> None:
    scores = [score(f"p{i}", side, None, "1", robust="1") for i in range(4) for side in ("original", "counterfactual")]
    rows = accuracy.TABLE3.rows(material({condition(): scores, condition("n"): pair_scores([1] * 8, [0] * 8)}))
    assert (of(rows).original, of(rows, reader="reference").original) == (1, 0)
    assert of(rows, "n").p == pytest.approx(2 / 2**8, abs=1e-4)
    assert of(rows, "n").p_holm == pytest.approx(2 * 2 / 2**8, abs=1e-4)  # two tests a reader


def test_baselines_follow_from_the_right_answers() -> None:
    kinds = [*zip("yynyy", "nnynn", strict=True), ("y", "y")]
    full = {"y": "yes", "n": "no"}
    scores = [
        score(f"p{i}", side, None, full[answer], kind="boolean")
        for i, both in enumerate(kinds)
        for side, answer in zip(("original", "counterfactual"), both, strict=True)
    ]
    rows = accuracy.TABLE3.rows(material({condition(): scores}))
    majority, negate = of(rows, "majority", "boolean", ""), of(rows, "negate", "boolean", "")
    assert (majority.original, majority.counterfactual, majority.p) == (0.8333, 0.6667, None)
    assert (negate.original, negate.counterfactual, negate.kind) == (None, 0.8333, "baseline")


def test_figures_of_the_paper_stand_beside_the_solver_that_it_names() -> None:
    published = read_csv(PUBLISHED, PublishedAnswer)
    facts = {"m": SolverFacts(paper="llava-1.5-13b vicuna-13b"), "n": SolverFacts(paper="nothing")}
    scores = {condition(name): pair_scores([1, 0], [0, 0]) for name in facts}
    rows = accuracy.TABLE3.rows(material(scores, solvers=facts, published=published))
    assert (of(rows).paper_original, of(rows).paper_counterfactual, of(rows).paper_difference) == (0.62, 0.41, -0.21)
    assert of(rows, "n").paper_original is None
    assert "0.6200 → 0.4100" in markdown(accuracy.TABLE3.render(rows))


def test_every_cell_of_the_paper_is_there_and_adds_up() -> None:
    published = read_csv(PUBLISHED, PublishedAnswer)
    tables = [line.table for line in published]
    counts = [tables.count(f"table{i}") for i in range(3, 8)]
    assert counts == [14 * 3, 4 * 3, 3, 7 * 3, 3]
    for line in published:
        assert line.difference == pytest.approx(line.counterfactual - line.original, abs=0.0011)
        assert 0 < line.counterfactual < 1


def test_the_table_of_programs_goes_by_their_language_model() -> None:
    published = read_csv(PUBLISHED, PublishedAnswer)
    facts = {
        "m": SolverFacts(kind="program", llm="codellama-7b-instruct", paper="vipergpt"),
        "chat": SolverFacts(),
    }
    found = material({condition(): pair_scores([1], [0]), condition("chat"): pair_scores([1], [0])}, solvers=facts)
    rows = accuracy.TABLE6.rows(material({condition(): pair_scores([1], [0])}, solvers=facts, published=published))
    assert {row.solver for row in accuracy.TABLE6.rows(found)} == {"m"}
    assert (of(rows).paper_original, of(rows).llm) == (0.78, "codellama-7b-instruct")
    assert "codellama-7b-instruct" in markdown(accuracy.TABLE6.render(rows))


def test_drawn_parts_of_sets_stand_in_a_table_of_their_own() -> None:
    scores = {condition(of="real"): pair_scores([1], [0]), condition(of="tenth"): pair_scores([1], [0])}
    found = material(scores, sets={"tenth": SetFacts(subset=True)})
    assert {row.set for row in accuracy.TABLE3.rows(found)} == {"real"}
    assert {row.set for row in accuracy.TABLE5.rows(found)} == {"tenth"}
    assert "not to be compared" in markdown(accuracy.TABLE5.render(accuracy.TABLE5.rows(found)))


def test_chain_of_thought_is_compared_with_its_twin_on_the_same_pairs() -> None:
    facts = {"m": SolverFacts(), "m-cot": SolverFacts(cot=True, no_cot_baseline="m")}
    scores = {
        condition(): pair_scores([1] * 8, [1, 1, 0, 0, 0, 0, 0, 0]),
        condition("m-cot"): [*pair_scores([1] * 8, [1] * 8)[:-2], failed("direct-p07", "original")],
    }
    found = material(scores, solvers=facts)
    [robust, reference] = CHAIN_OF_THOUGHT.rows(found)
    assert (reference.no_cot_baseline, reference.n, reference.n_scored, reference.n_both) == ("m", 8, 7, 7)
    assert (reference.plain_original, reference.plain_counterfactual) == (1, 0.25)
    assert (reference.change_original, reference.change_counterfactual) == (0, 0.75)
    assert (reference.change_original_min, reference.change_original_max) == (-0.125, 0)
    assert (reference.change_counterfactual_min, reference.change_counterfactual_max) == (0.625, 0.75)
    assert reference.p_counterfactual == pytest.approx(2 / 2**5)
    assert reference.p_counterfactual_holm == pytest.approx(4 / 2**5)
    assert robust.change_counterfactual == 0.75
    assert {row.solver for row in accuracy.TABLE3.rows(found)} == {"m", "majority"}


def test_chain_of_thought_without_its_twin_has_no_change() -> None:
    found = material(
        {condition("c"): pair_scores([1], [1])}, solvers={"c": SolverFacts(cot=True, no_cot_baseline="gone")}
    )
    row = CHAIN_OF_THOUGHT.rows(found)[0]
    assert (row.n_both, row.change_original, row.original) == (0, None, 1)


def puzzles(kind: str, letters: str, orders: tuple[str, ...] = ("",)) -> list:
    return [
        score(f"{kind[-1]}{i}", side, letter, "A", kind=kind, option_order=order)
        for i, letter in enumerate(letters)
        for side in ("original", "counterfactual")
        for order in orders
    ]


def test_puzzles_are_shown_by_template_and_over_all_with_chance() -> None:
    scores = [*puzzles("abs_counting_1", "AB"), *puzzles("abs_counting_6", "AAAA")]
    rows = accuracy.TABLE7.rows(material({condition(of="synthetic"): scores}))
    assert [row.type for row in rows if row.reader == "robust"] == ["abs_counting_1", "abs_counting_6", "all"]
    assert of(rows, kind="all").original == pytest.approx(5 / 6, abs=1e-4)
    assert of(rows, "chance", "all", "").counterfactual == 0.25
    assert accuracy.TABLE3.rows(material({condition(of="synthetic"): scores})) == []


def test_options_as_they_stand_count_and_else_the_mean_over_orders() -> None:
    standing = puzzles("abs_counting_1", "A") + puzzles("abs_counting_1", "B", ("BCDA", "CDAB"))
    row = of(accuracy.TABLE7.rows(material({condition(): standing})), kind="abs_counting_1")
    assert (row.n, row.original) == (1, 1)
    half = [score("q", side, "A" if order == "BCDA" else "C", "A", kind="abs_counting_1", option_order=order)
            for side in ("original", "counterfactual") for order in ("BCDA", "CDAB")]  # fmt: skip
    row = of(accuracy.TABLE7.rows(material({condition(): half})), kind="abs_counting_1")
    assert (row.original, row.test) == (0.5, "bootstrap")


def test_a_score_that_comes_twice_is_refused() -> None:
    with pytest.raises(InputError, match=r"two scores of the original question of 'direct-p00', of real/m"):
        material({condition(): pair_scores([1], [1]) * 2})


def test_the_order_of_scores_does_not_matter() -> None:
    scores = pair_scores([1, 0, 1, 1], [0, 0, 1, 0])
    forward, backward = (accuracy.TABLE3.rows(material({condition(): some})) for some in (scores, scores[::-1]))
    assert forward == backward


@pytest.mark.parametrize(
    "table", [accuracy.TABLE3, CHAIN_OF_THOUGHT, accuracy.TABLE5, accuracy.TABLE6, accuracy.TABLE7]
)
def test_an_empty_table_says_why(table) -> None:  # type: ignore[no-untyped-def]
    assert table.rows(material({})) == []
    assert "Empty: " in markdown(table.render([]))


def test_solvers_of_the_test_world_are_marked_and_every_format_is_written() -> None:
    found = material({condition(): pair_scores([1, 0], [0, 0])}, solvers={"m": SolverFacts(test_world=True)})
    rows = accuracy.TABLE3.rows(found)
    sheet = accuracy.TABLE3.render(rows)
    assert "| m † |" in markdown(sheet)
    assert "stands for no real model" in markdown(sheet)
    assert latex(sheet).startswith(r"\begin{table*}")
    assert len(csv_text(AccuracyRow, rows).splitlines()) == 1 + 3
