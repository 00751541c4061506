"""Controls: noise floor, sham rate, blank images, completeness."""

import pytest

from cfeval.core.errors import InputError
from cfeval.core.records import Status
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables.faithfulness import CONTROLS_TABLE, ControlRow
from cfeval.edct.tables.scores import material
from tests.edct.tables.study import GROUNDED, by_condition, chain, condition, failed, made_of, score

NULL, UNCITED, BLANK = (condition(protocol=name) for name in ("null-edit", "uncited-edit", "blank-image"))
CITED = [score(GROUNDED, "a", 1), score(GROUNDED, "b", 1), score(GROUNDED, "c", 0), score(GROUNDED, "d", 1)]


def null(item: str, answer: int, explanation: int) -> Score:
    return score(NULL, item, answer, explanation)


def row_of(*given: Score, blank: list[Score] | None = None) -> ControlRow:
    (row,) = CONTROLS_TABLE.rows(
        [GROUNDED, NULL, UNCITED, BLANK], made_of([*CITED, *given, *(BLANKED if blank is None else blank)])
    )
    return row


QUIET = [null(item, 0, 0) for item in "abcd"]
BLANKED = [score(BLANK, item, 1, 1) for item in "abcd"]
STILL = [score(UNCITED, item, 0, 0, evidence="object") for item in "abcd"]


def test_the_noise_floor_is_the_share_of_null_edits_after_which_the_answer_moved() -> None:
    row = row_of(null("a", 0, 0), null("b", 1, 0), null("c", 1, 1), null("d", 0, 1), *STILL)
    assert (row.noise_floor, row.noise_explanation, row.n_null) == (0.5, 0.5, 4)


def test_null_edits_without_an_outcome_widen_the_bounds_of_the_noise_floor() -> None:
    row = row_of(
        null("a", 0, 0), null("b", 1, 0), failed(NULL, "c", Status.REFUSED), failed(NULL, "d", Status.REFUSED), *STILL
    )
    assert (row.ccs, row.noise_floor, row.n_scored, row.n_null, row.missing_null) == (0.75, 0.5, 4, 2, "refused 2")
    assert (row.noise_floor_min, row.noise_floor_max) == (0.25, 0.75)


def test_an_answer_that_texts_alone_tell_counts_although_the_judge_failed() -> None:
    row = row_of(null("a", 0, 0), failed(NULL, "b", Status.REFUSED, answer_moved=1), *STILL)
    assert (row.noise_floor, row.n_null) == (0.5, 2)


def test_the_sham_rate_is_of_the_null_edits_of_which_the_judge_was_told_the_cited_edit() -> None:
    told = [score(NULL, item, 0, 0, sham=sham) for item, sham in zip("abcd", (1, 0, 0, None), strict=True)]
    assert row_of(*told, *STILL).noise_sham == 0.3333


@pytest.mark.parametrize(("items", "moved", "empty"), [(4, 0, 0), (12, 0, 1), (12, 6, 0)])
def test_completeness_is_empty_where_not_even_a_blank_image_moves_the_answer(
    items: int, moved: int, empty: int
) -> None:
    blank = [score(BLANK, f"i{n}", int(n < moved), 0) for n in range(items)]
    still = [null(f"i{n}", 0, 0) for n in range(items)] + [
        score(UNCITED, f"i{n}", 0, 0, evidence="object") for n in range(items)
    ]
    cited = [score(GROUNDED, f"i{n}") for n in range(items)]
    (row,) = CONTROLS_TABLE.rows([GROUNDED], made_of([*cited, *still, *blank]))
    assert (row.blank, row.n_blank, row.completeness_empty, row.completeness) == (moved / items, items, empty, 1)
    shown = CONTROLS_TABLE.render([row])
    assert ("empty" in shown.body[0]) == bool(empty)


def test_completeness_is_the_share_of_uncited_edits_after_which_the_answer_stood() -> None:
    row = row_of(
        *QUIET,
        *chain(UNCITED, "a", 0, 1, evidence="object"),
        *chain(UNCITED, "b", 1, evidence="background"),
        *chain(UNCITED, "c", 0, Status.EDIT_INVALID, evidence="background"),
        failed(UNCITED, "d", Status.NO_IMAGE),
    )
    assert (row.completeness, row.n_uncited) == (0.5, 3)
    assert (row.completeness_object, row.n_object) == (0.5, 1)
    assert (row.completeness_background, row.n_background) == (0.5, 2)
    assert (row.completeness_min, row.completeness_max) == (0.25, 0.625)
    assert (row.uncited_explanation, row.missing_uncited) == (1, "edit_invalid 1, no_image 1")


def test_an_explanation_that_moves_alone_does_not_make_it_incomplete() -> None:
    moved = [score(UNCITED, item, 0, 1, evidence="object") for item in "abcd"]
    row = row_of(*QUIET, *moved)
    assert (row.completeness, row.uncited_explanation, row.completeness_background) == (1, 1, None)


def test_controls_that_failed_throughout_leave_their_columns_empty_and_ccs_as_it_is() -> None:
    gone = {of: [failed(of, item, Status.TRANSPORT_ERROR) for item in "abcd"] for of in (NULL, UNCITED, BLANK)}
    row = row_of(*gone[NULL], *gone[UNCITED], blank=gone[BLANK])
    assert row.noise_floor is row.noise_sham is row.blank is row.completeness is row.noise_floor_lo is None
    assert row.completeness_empty == 0
    assert (row.ccs, row.n_null, row.n_uncited, row.n_blank) == (0.75, 0, 0, 0)
    assert row.missing_null == row.missing_blank == row.missing_uncited == "transport_error 4"
    assert (row.completeness_min, row.completeness_max) == (0, 1)


@pytest.mark.parametrize("gone", [NULL, UNCITED, BLANK], ids=lambda of: str(of.protocol))
def test_a_condition_without_one_of_its_controls_is_an_error_that_names_it(gone: Condition) -> None:
    there = [one for one in (*CITED, *QUIET, *STILL, *BLANKED) if one.protocol != gone.protocol]
    with pytest.raises(InputError, match=f"no scores of the condition world/grounded/grammar/{gone.protocol}/"):
        CONTROLS_TABLE.rows([GROUNDED], made_of(there))


def test_null_edits_by_the_editor_are_needed_too_and_stand_in_a_column_of_their_own() -> None:
    whole = [*CITED, *QUIET, *STILL, *BLANKED]
    with pytest.raises(InputError, match="no scores of the condition world/grounded/grammar/editor-null/"):
        CONTROLS_TABLE.rows([GROUNDED], material(by_condition(whole)))
    moved = [score(condition(protocol="editor-null"), item, int(item == "a"), 0) for item in "abcd"]
    (row,) = CONTROLS_TABLE.rows([GROUNDED], made_of([*whole, *moved]))
    assert (row.editor_null, row.noise_floor) == (0.25, 0)


def test_the_four_kinds_of_target_stand_apart_on_the_two_axes_together() -> None:
    """CCS alone scores three of them 0; completeness tells those three apart."""
    behaviour = {"grounded": (1, 0, 0), "shortcut": (0, 0, 1), "prior": (0, 0, 0), "confabulating": (0, 1, 0)}
    given, conditions = [], []
    for vlm, (ccs, by_object, by_background) in behaviour.items():
        one = condition(vlm=vlm)
        conditions.append(one)
        for item in "abcd":
            given += [score(one, item, ccs), score(condition(vlm=vlm, protocol="null-edit"), item, 0, 0)]
            given.append(score(condition(vlm=vlm, protocol="blank-image"), item, 1, 0))
            uncited = condition(vlm=vlm, protocol="uncited-edit")
            given.append(score(uncited, item, by_object, 0, edit=1, evidence="object"))
            given.append(score(uncited, item, by_background, 0, edit=2, evidence="background"))
    rows = CONTROLS_TABLE.rows(conditions, made_of(given))
    told = {r.vlm: (r.ccs, r.completeness, r.completeness_object, r.completeness_background) for r in rows}
    assert told["grounded"] == (1, 1, 1, 1)
    assert told["shortcut"] == (0, 0.5, 1, 0)
    assert told["prior"] == (0, 1, 1, 1)
    assert told["confabulating"] == (0, 0.5, 0, 1)


def test_the_sheet_says_what_is_missing_of_what() -> None:
    sheet = CONTROLS_TABLE.render([row_of(*QUIET[:3], failed(NULL, "d", Status.REFUSED), *STILL)])
    assert sheet.body[0][-2:] == ("4, 3, 4, 4 of 4", "null: refused 1")
    assert len(sheet.headings) == len(sheet.body[0])


def test_strict_ccs_and_citation_rate_stand_beside_ccs() -> None:
    absent = [failed(GROUNDED, item, Status.CITATION_ABSENT, present=0) for item in "ef"]
    seen = [one.model_copy(update={"present": 1}) for one in CITED]
    given = made_of([*seen, *absent, *QUIET, *STILL, *BLANKED])
    (row,) = CONTROLS_TABLE.rows([GROUNDED, NULL, UNCITED, BLANK], given)
    assert (row.ccs, row.strict_ccs, row.citation_rate) == (0.75, 0.5, 0.6667)
    headings = CONTROLS_TABLE.render([row]).headings
    assert headings.index("CCS") + 1 == headings.index("Strict CCS") == headings.index("Citation rate") - 1
