"""Tables of sets, readers, positions, people, programs and builds, on records whose figures follow by hand."""

import pytest
from scipy.stats import chisquare

from cfeval.core.records import Status
from cfeval.cvqa.records import Answer, CvqaBuild, CvqaScore, ProgramRun
from cfeval.cvqa.tables.comparisons import BIAS, CONTAMINATION
from cfeval.cvqa.tables.programs import PROGRAMS, kind_of
from cfeval.cvqa.tables.readers import POSITIONS, READERS_TABLE
from cfeval.cvqa.tables.replies import SetFacts, SolverFacts
from cfeval.cvqa.tables.sets import ANSWERS, BUILDS, STATISTICS
from cfeval.report.files import latex
from cfeval.report.tables import markdown
from tests.cvqa.real import real_pairs
from tests.cvqa.tables.scores import condition, failed, material, pair_scores, score

PUZZLE = "abs_counting_4"


def shown(name: str, letter: str | None, gold: str = "A", option_order: str = "", side: str = "original") -> CvqaScore:
    """A puzzle's reply that names the option shown under a letter."""
    read = option_order["ABCD".index(letter)] if option_order and letter else letter
    both = dict.fromkeys(("robust", "reference"), letter)
    return score(name, side, read, gold, kind=PUZZLE, option_order=option_order).model_copy(update={"shown": both})


def test_a_set_has_a_row_a_type_and_one_of_all() -> None:
    pairs, published = real_pairs()
    rows = {row.type: row for row in STATISTICS.rows(material({}, pairs={"real": pairs}))}
    assert list(rows) == ["direct", "indirect", "boolean", "all"]
    boolean = rows["boolean"]
    if published:
        assert (boolean.n, boolean.unchanged, boolean.negate) == (1130, 26, 0.977)
        assert (round(rows["all"].words_original or 0, 2), rows["all"].images) == (5.88, 3026)
    assert boolean.yes_original is not None
    assert rows["direct"].yes_original is None
    assert rows["direct"].negate is None
    assert boolean.a_original is None


def test_answers_are_counted_by_side() -> None:
    rows = ANSWERS.rows(material({}, pairs={"real": real_pairs()[0]}))
    sums: dict[tuple[str, str], float] = {}
    for row in rows:
        sums[row.type, row.side] = sums.get((row.type, row.side), 0) + row.share
    assert len(sums) == 6
    assert all(total == pytest.approx(1, abs=0.01) for total in sums.values())
    direct = [int(row.answer) for row in rows if (row.type, row.side) == ("direct", "original")]
    assert direct == sorted(direct)


def test_readers_are_compared_reply_by_reply() -> None:
    scores = [
        score("a", "original", "1", "1"),
        score("b", "original", None, "1", robust="1"),
        score("c", "original", "1", "1", robust=None),
        score("d", "original", "2", "1", robust="1"),
        failed("e", "original"),
    ]
    row = READERS_TABLE.rows(material({condition(): scores}))[0]
    assert (row.n, row.n_scored, row.missing) == (5, 4, "refused 1")
    assert (row.reference, row.robust, row.difference) == (0.5, 1.0, 0.6667)  # over those that have a score by both
    assert (row.robust_min, row.robust_max) == (0.6, 1.0)  # of five, one is unread and one refused
    assert (row.n_unread_reference, row.n_unread_robust, row.n_disagree) == (1, 1, 1)
    assert (row.n_reference_only, row.n_robust_only) == (1, 1)
    assert (row.n_reference_right, row.n_robust_right) == (1, 2)


def test_a_letter_said_too_often_shows() -> None:
    scores = [shown(f"p{i}", "D" if i < 8 else "A", "ABCD"[i % 4]) for i in range(10)]
    row = POSITIONS.rows(material({condition(): scores}))[0]
    assert (row.said_a, row.said_b, row.said_c, row.said_d) == (0.2, 0, 0, 0.8)
    assert (row.gold_a, row.gold_b, row.gold_c, row.gold_d) == (0.3, 0.3, 0.2, 0.2)
    assert row.chi_square == pytest.approx(chisquare([2, 0, 0, 8]).statistic, abs=1e-4)
    assert row.p == pytest.approx(chisquare([2, 0, 0, 8]).pvalue, abs=1e-4)
    assert (row.n_permuted, row.follows_position) == (0, None)


def test_orders_tell_position_from_value() -> None:
    orders = ("ABCD", "BCDA")
    scores = [shown("position", "A", option_order=order) for order in orders]
    scores += [shown("value", "ABCD"[order.index("C")], option_order=order) for order in orders]
    scores += [shown("neither", letter, option_order=order) for letter, order in zip("AC", orders, strict=True)]
    scores += [shown("unread", letter, option_order=order) for letter, order in zip(("A", None), orders, strict=True)]
    scores += [shown("alone", "A")]
    row = POSITIONS.rows(material({condition(): scores}))[0]
    assert (row.n, row.n_permuted, row.n_told) == (5, 3, 3)
    assert (row.follows_position, row.follows_value) == (0.3333, 0.3333)
    assert row.accuracy == pytest.approx((0.5 + 0 + 0.5 + 1 + 1) / 5, abs=1e-4)  # of `unread`, the order that was read
    assert row.n_orders == 1.8


def test_the_right_letter_is_the_one_shown() -> None:
    row = POSITIONS.rows(material({condition(): [shown("p", "B", gold="C", option_order="BCDA")]}))[0]
    assert (row.gold_b, row.gold_c, row.said_b, row.accuracy) == (1, 0, 1, 1)


def test_a_position_that_holds_the_same_option_tells_nothing() -> None:
    scores = [shown("p", "A", option_order=order) for order in ("ABCD", "ACBD")]
    row = POSITIONS.rows(material({condition(): scores}))[0]
    assert (row.n_permuted, row.n_told, row.follows_value) == (1, 0, None)


def labelled(of: list[CvqaScore], coco: dict[str, int]) -> list[CvqaScore]:
    return [one.model_copy(update={"coco": coco.get(one.id)}) for one in of]


def test_the_gap_is_the_difference_of_two_differences() -> None:
    scores = pair_scores([1] * 8, [0, 0, 0, 1, 1, 1, 1, 0])
    numbers = {f"direct-p{i:02}": i for i in range(8)}
    genders = {i: "female" if i < 4 else "male" for i in range(7)}
    rows = BIAS.rows(material({condition(): labelled(scores, numbers)}, genders=genders))
    row = rows[0]
    assert [(row.type, row.reader) for row in rows][::2] == [("direct", "robust"), ("all", "robust")]
    assert (row.n, row.n_unlabelled, row.n_female, row.n_male) == (7, 1, 4, 3)
    assert (row.female_original, row.female_counterfactual, row.diff_female) == (1, 0.25, 0.75)
    assert (row.diff_male, row.gap) == (0, 0.75)
    assert row.gap_lo < 0.75 < row.gap_hi  # type: ignore[operator]
    assert 0 < row.p < 0.1  # type: ignore[operator]


def test_ranges_of_the_gap_hold_whatever_the_missing_scores_were() -> None:
    unread = [score(f"w{i}", side, "1", "1", robust=None) for i in range(2) for side in ("original", "counterfactual")]
    scores = [*pair_scores([1, 1, 1, 1], [0, 1, 1, 1]), *unread]
    numbers = {f"direct-p{i:02}": i for i in range(4)} | {"w0": 4, "w1": 5}
    genders = dict.fromkeys((0, 1, 4, 5), "female") | dict.fromkeys((2, 3), "male")
    [row, *_] = BIAS.rows(material({condition(): labelled(scores, numbers)}, genders=genders))
    assert (row.n, row.n_female, row.n_male, row.missing) == (6, 2, 2, "unread 4")
    assert (row.diff_female, row.diff_male, row.gap) == (0.5, 0, 0.5)
    assert (row.diff_female_min, row.diff_female_max) == (-0.25, 0.75)  # two pairs of four may lose or win
    assert (row.gap_min, row.gap_max) == (-0.25, 0.75)
    assert "Gap range" in markdown(BIAS.render([row]))


def test_without_labels_there_is_nothing_to_compare() -> None:
    found = {condition(): labelled(pair_scores([1], [0]), {"direct-p00": 5})}
    assert BIAS.rows(material(found)) == []
    assert BIAS.rows(material(found, genders={6: "male"})) == []
    [row, *_] = BIAS.rows(material(found, genders={5: "male"}))
    assert (row.gap, row.diff_male, row.diff_female) == (None, 1, None)
    assert BIAS.rows(material(found, genders={5: "male"}, sets={"real": SetFacts(subset=True)})) == []


def said(name: str, fault: str = "", status: Status = Status.OK, code: str = "x", **run: object) -> Answer:
    program = ProgramRun.model_validate({"language": "vipergpt", "code": code, "fault": fault} | run)
    given = {"id": name, "side": "original", "asked": "q", "status": status, "program": program}
    return Answer.model_validate(given)


def test_programs_are_counted_with_why_they_failed() -> None:
    replies = [
        said("a", calls=2, steps=10),
        said("b", "line 3: 'dog' is not defined; did you mean 'dogs'?", calls=0, steps=4, fallback=True),
        said("c", "line 12: 'cat' is not defined; allowed: image", calls=4, steps=1),
        said("d", "steps: more than 5,000", calls=2, steps=5, status=Status.TRANSPORT_ERROR),
        Answer(id="e", side="original", asked="q", status=Status.REFUSED),
    ]
    scores = [score(name, "original", "1", "1") for name in "abcde"]
    facts = {"m": SolverFacts(kind="program", llm="codellama")}
    [row] = PROGRAMS.rows(material({condition(): scores}, said={condition(): replies}, solvers=facts))
    assert (row.type, row.side, row.language, row.llm) == ("direct", "original", "vipergpt", "codellama")
    assert (row.n, row.n_written, row.n_ran, row.ran, row.n_fallback) == (5, 4, 1, 0.25, 1)
    assert row.faults == "… is not defined 2, steps 1"
    assert (row.mean_calls, row.mean_steps, row.missing) == (2, 5, "refused 1, transport_error 1")


def test_limits_of_the_interpreter_are_no_faults_of_the_coder_and_nothing_returned_is_told_apart() -> None:
    replies = [
        said("a", result="4"),
        said("b", "line 3: an async function is not supported (a limit of our interpreter)", unsupported=True),
        said("c", "line 1: not Python: invalid syntax", fallback=True),
        said("d", "more than 100000 steps; do less (a limit of our interpreter)", unsupported=True, fallback=True),
        said("e", result="no", nothing=True),
    ]
    scores = [score(name, "original", "1", "1") for name in "abcde"]
    [row] = PROGRAMS.rows(material({condition(): scores}, said={condition(): replies}))
    assert (row.n_written, row.n_ran, row.n_faults, row.n_limits, row.n_nothing) == (5, 2, 1, 2, 1)
    assert row.ran == pytest.approx(2 / 3, abs=1e-4)
    assert row.faults == "not Python 1"
    assert row.limits == "an async function is not supported 1, more than … steps 1"
    assert (row.n_fallback, row.n_fallback_right) == (2, 2)
    assert "| 2 (2 right) |" in markdown(PROGRAMS.render([row]))


def test_programs_that_were_repaired_are_counted_apart() -> None:
    replies = [said("a"), said("b", first_fault="line 1: x"), said("c", "line 2: y", first_fault="line 1: x")]
    [row] = PROGRAMS.rows(material({}, said={condition(): replies}))
    assert (row.n_ran, row.n_repairs, row.n_repaired) == (2, 2, 1)
    assert "| 1 of 2 |" in markdown(PROGRAMS.render([row]))


def test_the_sheet_names_the_commonest_faults_only() -> None:
    kinds = "abcdef"
    replies = [said(f"{kind}{i}", f"fault {kind}") for n, kind in enumerate(kinds) for i in range(9 - n)]
    rows = PROGRAMS.rows(material({}, said={condition(): replies}))
    assert "fault a 9, fault b 8, fault c 7, fault d 6, 2 other kinds" in markdown(PROGRAMS.render(rows))
    assert rows[0].faults.endswith("fault f 4")


def test_without_scores_programs_stand_in_one_row_a_side() -> None:
    [row] = PROGRAMS.rows(material({}, said={condition(): [said("a")]}))
    assert (row.type, row.n_ran) == ("all", 1)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ("line 3: TypeError: unsupported operand", "TypeError"),
        ("a value of type 'int' cannot be called", "a value of type … cannot be called"),
        ("more than 1,000 steps", "more than … steps"),
        ("", "unknown"),
    ],
)
def test_a_fault_has_a_kind_without_names_and_numbers(fault: str, kind: str) -> None:
    assert kind_of(fault) == kind


def fate(name: str, of: str = "accepted", **more: object) -> CvqaBuild:
    return CvqaBuild.model_validate({"id": name, "type": "direct", "fate": of} | more)


def test_a_build_is_told_by_what_became_of_each_draft() -> None:
    fates = [
        fate("a", by="model"),
        fate("b", by="person", corrected=1),
        fate("c", "wrong sum"),
        fate("d", "not written", reason="refused"),
        fate("e", "not related"),
        fate("f", "undecided"),
    ]
    [row] = BUILDS.rows(material({}, built={"mine": fates}))
    assert (row.type, row.n, row.n_written, row.missing) == ("direct", 6, 5, "refused 1")
    assert (row.n_wrong_sum, row.n_not_related, row.n_undecided, row.n_rejected) == (1, 1, 1, 0)
    assert (row.n_accepted, row.n_by_people, row.n_corrected, row.accepted) == (2, 1, 1, 0.4)


def test_several_types_have_a_row_of_all() -> None:
    rows = BUILDS.rows(material({}, built={"mine": [fate("a"), fate("b", type="boolean")]}))
    assert [(row.type, row.n) for row in rows] == [("direct", 1), ("boolean", 1), ("all", 2)]


TABLES = {
    "answers": ANSWERS,
    "bias": BIAS,
    "builds": BUILDS,
    "contamination": CONTAMINATION,
    "positions": POSITIONS,
    "programs": PROGRAMS,
    "readers": READERS_TABLE,
    "statistics": STATISTICS,
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_an_empty_table_says_why(table) -> None:  # type: ignore[no-untyped-def]
    assert table.rows(material({})) == []
    assert "Empty: " in markdown(table.render([]))


def test_every_sheet_has_as_many_cells_as_headings() -> None:
    scores = [shown("p", "A"), shown("p", "A", side="counterfactual")]
    real = {condition(): labelled(pair_scores([1, 0], [0, 0]), {"direct-p00": 5})}
    sheets = [
        POSITIONS.render(POSITIONS.rows(material({condition(): scores}))),
        READERS_TABLE.render(READERS_TABLE.rows(material(real))),
        BIAS.render(BIAS.rows(material(real, genders={5: "male"}))),
        PROGRAMS.render(PROGRAMS.rows(material({}, said={condition(): [said("a")]}))),
        BUILDS.render(BUILDS.rows(material({}, built={"mine": [fate("a")]}))),
        STATISTICS.render(STATISTICS.rows(material({}, pairs={"real": real_pairs()[0]}))),
        ANSWERS.render(ANSWERS.rows(material({}, pairs={"real": real_pairs()[0]}))),
    ]
    for sheet in sheets:
        assert sheet.body
        assert {len(cells) for cells in sheet.body} == {len(sheet.headings)}, sheet.name
        assert latex(sheet)
