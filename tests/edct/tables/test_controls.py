"""Controls: noise floor, excess over it, completeness."""

import pytest

from cfeval.core.errors import InputError
from cfeval.core.records import Status
from cfeval.edct.records import Score
from cfeval.edct.tables import controls
from cfeval.edct.tables.controls import ControlRow
from tests.edct.tables.study import GROUNDED, chain, condition, failed, made_of, score

NULL, UNCITED = condition(protocol="null-edit"), condition(protocol="uncited-edit")
CITED = [score(GROUNDED, "a", 1), score(GROUNDED, "b", 1), score(GROUNDED, "c", 0), score(GROUNDED, "d", 1)]


def null(item: str, answer: int, explanation: int) -> Score:
    return score(NULL, item, answer, explanation)


def row_of(*given: Score) -> ControlRow:
    (row,) = controls.rows([GROUNDED, NULL, UNCITED], made_of([*CITED, *given]))
    return row


QUIET = [null(item, 0, 0) for item in "abcd"]
STILL = [score(UNCITED, item, 0, 0, evidence="object") for item in "abcd"]


def test_the_noise_floor_is_the_share_of_null_edits_after_which_either_moved() -> None:
    row = row_of(null("a", 0, 0), null("b", 1, 0), null("c", 1, 1), null("d", 0, 1), *STILL)
    assert (row.noise_floor, row.noise_answer, row.noise_explanation, row.n_null) == (0.75, 0.5, 0.5, 4)


def test_the_excess_rests_on_the_items_that_have_both() -> None:
    row = row_of(
        null("a", 0, 0), null("b", 1, 0), failed(NULL, "c", Status.REFUSED), failed(NULL, "d", Status.REFUSED), *STILL
    )
    assert (row.ccs, row.noise_floor, row.ccs_excess) == (0.75, 0.5, 0.5)
    assert (row.n_scored, row.n_null, row.missing_null) == (4, 2, "refused 2")
    assert (row.noise_floor_min, row.noise_floor_max) == (0.25, 0.75)


def test_more_noise_than_ccs_is_an_excess_below_0() -> None:
    assert row_of(*(null(item, 1, 0) for item in "abcd"), *STILL).ccs_excess == -0.25


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
    gone = [failed(of, item, Status.TRANSPORT_ERROR) for of in (NULL, UNCITED) for item in "abcd"]
    row = row_of(*gone)
    assert row.noise_floor is row.ccs_excess is row.completeness is row.ccs_excess_lo is None
    assert (row.ccs, row.n_null, row.n_uncited, row.missing_null) == (0.75, 0, 0, "transport_error 4")
    assert (row.completeness_min, row.completeness_max) == (0, 1)


@pytest.mark.parametrize(("there", "name"), [(QUIET, "uncited-edit"), (STILL, "null-edit")])
def test_a_condition_without_one_of_its_controls_is_an_error_that_names_it(there: list[Score], name: str) -> None:
    with pytest.raises(InputError, match=f"no scores of the condition world/grounded/grammar/{name}/"):
        row_of(*there)


def test_the_four_kinds_of_target_stand_apart_on_the_two_axes_together() -> None:
    """CCS alone scores three of them 0; completeness tells those three apart."""
    behaviour = {"grounded": (1, 0, 0), "shortcut": (0, 0, 1), "prior": (0, 0, 0), "confabulating": (0, 1, 0)}
    given, conditions = [], []
    for vlm, (ccs, by_object, by_background) in behaviour.items():
        one = condition(vlm=vlm)
        conditions.append(one)
        for item in "abcd":
            given += [score(one, item, ccs), score(condition(vlm=vlm, protocol="null-edit"), item, 0, 0)]
            uncited = condition(vlm=vlm, protocol="uncited-edit")
            given.append(score(uncited, item, by_object, 0, edit=1, evidence="object"))
            given.append(score(uncited, item, by_background, 0, edit=2, evidence="background"))
    rows = controls.rows(conditions, made_of(given))
    told = {r.vlm: (r.ccs, r.completeness, r.completeness_object, r.completeness_background) for r in rows}
    assert told["grounded"] == (1, 1, 1, 1)
    assert told["shortcut"] == (0, 0.5, 1, 0)
    assert told["prior"] == (0, 1, 1, 1)
    assert told["confabulating"] == (0, 0.5, 0, 1)


def test_the_sheet_says_what_is_missing_of_what() -> None:
    sheet = controls.sheet([row_of(*QUIET[:3], failed(NULL, "d", Status.REFUSED), *STILL)])
    assert sheet.body[0][-2:] == ("4, 3, 4 of 4", "null: refused 1")
    assert len(sheet.headings) == len(sheet.body[0])
