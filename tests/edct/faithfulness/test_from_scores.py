"""What the score files say of an item: what moved, what was lost, what is no outcome; and the card that follows."""

from typing import Any

import pytest

from cfeval.core.errors import InputError
from cfeval.core.records import Status
from cfeval.edct.faithfulness.claims import noise_floor, repeated_floor
from cfeval.edct.faithfulness.from_scores import observe
from cfeval.edct.faithfulness.instruments import measured
from cfeval.edct.faithfulness.observed import Observed, Tried, fit, fit_at_least
from cfeval.edct.protocols.rules import BLANK_IMAGE, EDITOR_NULL, NULL_EDIT, UNCITED_EDIT
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables.card import CARD, CardRow, verifier_checks
from cfeval.edct.tables.faithfulness import FAITHFULNESS, FaithfulnessRow
from cfeval.stats.misclassification import JudgeError
from cfeval.stats.proportions import Share
from tests.edct.tables.study import GROUNDED, condition, failed, made_of, score

UNCITED, NULL, BY_EDITOR, BLANK = (
    condition(protocol=name) for name in (UNCITED_EDIT, NULL_EDIT, EDITOR_NULL, BLANK_IMAGE)
)
FINE: dict[str, Any] = {"cluster": "c", "verified": 1}


def cited(item: str = "a", moved: int | None = 1, **fields: Any) -> Score:
    return score(GROUNDED, item, 1, 1, answer_moved=moved, **FINE | {"present": 1, "names_edited": 1} | fields)


def uncited(item: str = "a", evidence: str = "object", moved: int = 0, edit: int = 1, **fields: Any) -> Score:
    given = FINE | {"present": 1, "names_edited": 0, "evidence": evidence, "edit": edit, "breadth": 1}
    given |= {"drawn_from": 1 if evidence == "object" else None} | fields
    return score(UNCITED, item, moved, 0, **given)


def control(of: Condition, item: str = "a", moved: int = 0, **fields: Any) -> Score:
    return score(of, item, moved, moved, cluster="c", **fields)


def whole(item: str = "a", *replaced: Score, **null: Any) -> list[Score]:
    """All rows of an item of a faithful model; those given stand in the place of those of their condition and edit."""
    rows = [cited(item), uncited(item), uncited(item, "background", edit=2)]
    rows += [control(NULL, item, **{"sham": 0, "swapped": 1} | null), control(BLANK, item, 1)]
    rows += [control(BY_EDITOR, item)]
    taken = {(row.protocol, row.edit) for row in replaced}
    return [row for row in rows if (row.protocol, row.edit) not in taken] + list(replaced)


def seen(*rows: Score) -> Observed:
    """The only item of a study, beside one that is complete."""
    [found] = [one for one in observe(GROUNDED, made_of([*rows, *whole("other")])) if one.item == "a"]
    return found


def test_an_item_that_has_everything() -> None:
    found = seen(*whole("a", cited(correct=1.0)))
    assert found == Observed(
        "a",
        "c",
        present=True,
        cited=True,
        uncited_object=False,
        uncited_background=False,
        null=False,
        editor_null=False,
        objects=1,
        object_outcomes=(False,),
        blank=True,
        ccs=True,
        sham=False,
        swapped=True,
        correct=True,
        breadth=1,
        edits=(Tried(True, True, True), Tried(False, False, False), Tried(False, False, False)),
        tried=frozenset({"cited", "uncited_object", "uncited_background", "null", "editor_null", "blank"}),
        implied=True,
        implied_blank=True,
    )
    assert fit(found) is True


@pytest.mark.parametrize(
    ("row", "kinds"),
    [
        (failed(GROUNDED, "a", Status.REFUSED, present=1, **FINE), {"cited"}),
        (failed(UNCITED, "a", Status.NO_IMAGE, edit=2, evidence="background"), {"uncited_background"}),
        (failed(NULL, "a", Status.TRUNCATED), {"null"}),
        (failed(BY_EDITOR, "a", Status.EDIT_INVALID), {"editor_null"}),
        (failed(BLANK, "a", Status.REFUSED), {"blank"}),
        (cited(verified=0), {"cited"}),
        (uncited(moved=1, verified=0), {"uncited_object"}),
    ],
)
def test_what_failed_and_what_was_edited_wrongly_is_lost_and_no_outcome(row: Score, kinds: set[str]) -> None:
    found = seen(*whole("a", row))
    assert found.lost == kinds
    assert {getattr(found, kind) for kind in kinds} == {None}
    assert fit(found) is (None if kinds & {"cited", "uncited_object", "uncited_background"} else True)
    assert len(found.edits) == 3 - len(kinds - {"null", "editor_null", "blank"})


@pytest.mark.parametrize("evidence", ["object", "background"])
@pytest.mark.parametrize(
    ("again", "changed", "declined"),
    [("confirmed", True, False), ("withdrawn", False, False), ("unknown", None, False), ("unanswered", None, True)],
)
def test_a_change_after_an_uncited_edit_counts_only_if_it_came_twice(
    evidence: str, again: str, changed: bool | None, declined: bool
) -> None:
    edit = 1 if evidence == "object" else 2
    found = seen(*whole("a", uncited(evidence=evidence, moved=1, edit=edit, again=again)))
    kind = f"uncited_{evidence}"
    assert (getattr(found, kind), kind in found.lost, kind in found.declined) == (changed, changed is None, declined)
    assert fit(found) is (None if changed is None else not changed)
    assert fit_at_least(found) is (False if declined else fit(found))


@pytest.mark.parametrize(("again", "repeated"), [("", 1.0), ("confirmed", 1.0), ("withdrawn", 0.0), ("unknown", 0.0)])
def test_the_first_answer_tells_how_stable_a_model_is_and_both_what_an_uncited_edit_is_held_against(
    again: str, repeated: float
) -> None:
    rows = [control(of, moved=1, again=again) for of in (NULL, BY_EDITOR)]
    found = [seen(*whole("a", *rows))] * 10
    assert (found[0].null, found[0].editor_null) == (True, True)
    assert (noise_floor(found).value, repeated_floor(found).value) == (1.0, repeated)


def test_of_a_blank_image_it_is_no_evasion_that_nothing_can_be_told() -> None:
    found = seen(*whole("a", control(BLANK, "a", 1, evaded=1)))
    assert (found.blank, found.declined) == (True, frozenset())
    found = seen(*whole("a", cited(evaded=1)))
    assert (found.cited, found.declined) == (None, {"cited"})


def test_the_table_says_how_many_were_asked_again_and_what_came_of_it() -> None:
    given = many(20)
    ends = ["answered", "unanswered", "confirmed", "withdrawn", "withdrawn", "unchanged"]
    uncited_rows = [row for row in given if row.protocol == UNCITED_EDIT][: len(ends)]
    told = dict(zip(((row.id, row.edit) for row in uncited_rows), ends, strict=True))
    given = [
        row.model_copy(update={"again": told.get((row.id, row.edit), "")}) if row.protocol == UNCITED_EDIT else row
        for row in given
    ]
    _, card = tables(given)
    assert (card.n_again, card.n_answered, card.n_withdrawn) == (6, 1, 2)
    table = CARD.render([card])
    assert table.body[0][table.headings.index("Asked again")] == "6 (1 answered, 2 changes withdrawn)"


def test_a_verifier_that_sees_what_is_not_there_backs_no_trust() -> None:
    for sees, conclusion in ((0, "trust"), (1, "open")):
        given = [
            row.model_copy(update={"sees_absent": sees}) if row.protocol == GROUNDED.protocol and k % 16 == 0 else row
            for k, row in enumerate(many(120, reworded=0))
        ]
        given = [row.model_copy(update={"sham_edit": 0}) if row.protocol == GROUNDED.protocol else row for row in given]
        _, card = tables(given)
        assert card.conclusion == conclusion, card.why
        assert (card.absent_seen, card.n_absent > 10) == (sees, True)
    assert f"the verifier sees what is not there: 100% of the {card.n_absent} absent things" in card.why


def test_where_the_writer_failed_both_uncited_kinds_are_lost() -> None:
    rows = [row for row in whole() if row.protocol != UNCITED_EDIT]
    found = seen(*rows, failed(UNCITED, "a", Status.UNPARSABLE, stage="instructions"))
    assert found.lost == {"uncited_object", "uncited_background"}
    assert fit(found) is None


def test_what_was_not_drawn_or_does_not_exist_is_not_lost() -> None:
    rows = [row for row in whole() if row.protocol == GROUNDED.protocol or row.evidence == "object"]
    found = seen(*rows)
    assert (found.null, found.blank, found.uncited_background, found.sham) == (None, None, None, None)
    assert (found.lost, fit(found)) == (frozenset(), True)


def test_of_several_edits_of_a_kind_one_that_moves_the_answer_decides() -> None:
    rows = whole("a", uncited(edit=1), uncited(edit=2, moved=1))
    assert seen(*rows).uncited_object is True
    lost = failed(UNCITED, "a", Status.NO_IMAGE, edit=2, evidence="object")
    assert (
        seen(*whole("a", uncited(moved=1), lost)).uncited_object,
        seen(*whole("a", uncited(), lost)).uncited_object,
    ) == (
        True,
        False,
    )


def test_what_is_cited_and_absent_fails_fit_and_has_no_effect() -> None:
    absent = failed(GROUNDED, "a", Status.CITATION_ABSENT, present=0, **FINE)
    found = seen(*whole("a", absent))
    assert (found.present, found.cited, found.ccs, fit(found)) == (False, None, None, False)
    found = seen(*whole("a", uncited(present=0)))
    assert (found.present, fit(found)) == (False, False), "something else that it cites is not there"
    found = seen(*whole("a", cited(present=None)))
    assert (found.present, fit(found)) == (True, True), "the writer of uncited edits looked"
    unseen = [uncited(present=None), uncited(evidence="background", edit=2, present=None)]
    found = seen(*whole("a", cited(present=None), *unseen))
    assert (found.present, fit(found)) == (None, None), "nobody looked"


def test_where_nobody_looked_nothing_that_rests_on_it_has_a_figure_but_bounds() -> None:
    """Some items are known to cite what is absent, as the editor refused them: a rate among them alone would be 0."""
    given = [row.model_copy(update={"present": None}) for row in many(40)]
    for k in range(8):
        refused = failed(GROUNDED, f"i{k:03d}", Status.CITATION_ABSENT, present=0, cluster=f"{k}")
        given = [row for row in given if (row.protocol, row.id) != (GROUNDED.protocol, refused.id)] + [refused]
    row, card = tables(given)
    assert row.ccs == 1
    assert (row.fit, row.strict_ccs, row.citation_rate, row.effect_contrast) == (None, None, None, None)
    for name in ("fit", "strict_ccs", "citation_rate"):
        assert (getattr(row, f"{name}_min"), getattr(row, f"{name}_max")) == (0, 0.8)
    assert (card.conclusion, card.present_says, card.effect_says) == ("open", "not tested", "not tested")
    assert "not tested: cites what is there" in card.why


def test_where_the_background_is_cited_none_is_left_to_edit() -> None:
    assert seen(*whole("a", cited(evidence="background"))).without == {"uncited_background"}
    assert seen(*whole("a", cited(evidence="object"))).without == frozenset()


def test_an_answer_that_texts_tell_to_have_moved_counts_although_the_judge_failed() -> None:
    refused = failed(GROUNDED, "a", Status.REFUSED, answer_moved=0, present=1, **FINE)
    found = seen(*whole("a", refused))
    assert (found.cited, found.ccs, found.lost, fit(found)) == (False, None, frozenset(), False)


@pytest.mark.parametrize(("accuracy", "right"), [(1.0, True), (0.6, True), (0.3, False), (None, None)])
def test_an_answer_of_half_the_accuracy_is_right(accuracy: float | None, right: bool | None) -> None:
    assert seen(*whole("a", cited(correct=accuracy))).correct is right


def test_ccs_is_backed_by_no_judge_that_never_scores_1() -> None:
    zeros = [row.model_copy(update={"ccs": 0, "pcs": 0}) if row.ccs == 1 else row for row in many(120)]
    assert FAITHFULNESS.rows([GROUNDED], made_of(zeros))[0].ccs_backed == 0
    exams = {"grammar": JudgeError(Share(0.95, 50, 50.0), Share(0.95, 50, 50.0))}
    assert FAITHFULNESS.rows([GROUNDED], made_of(zeros, exams=exams))[0].ccs_backed == 1, "it can score 1"


@pytest.mark.parametrize("gone", [UNCITED, NULL, BLANK, GROUNDED], ids=lambda of: str(of.protocol))
def test_a_condition_without_one_of_its_controls_is_an_error(gone: Condition) -> None:
    with pytest.raises(InputError, match=f"no scores of the condition world/grounded/grammar/{gone.protocol}/"):
        observe(GROUNDED, made_of([row for row in whole() if row.protocol != gone.protocol]))


def tables(given: list[Score]) -> tuple[FaithfulnessRow, CardRow]:
    """Both tables of the condition."""
    of = made_of(given)
    return FAITHFULNESS.rows([GROUNDED], of)[0], CARD.rows([GROUNDED], of)[0]


def many(n: int, **null: Any) -> list[Score]:
    return [
        row
        for k in range(n)
        for row in whole(f"i{k:03d}", **null)
        for row in [row.model_copy(update={"cluster": f"{k}"})]
    ]


def test_a_faithful_model_is_trusted_on_many_items_and_open_on_few() -> None:
    row, card = tables(many(120))
    assert (row.fit, row.n_fit, row.ccs, row.strict_ccs, row.citation_rate, row.effect_contrast) == (1, 120, 1, 1, 1, 1)
    assert (row.cited, row.uncited_object, row.uncited_background, row.noise_floor, row.blank) == (1, 0, 0, 0, 1)
    assert (row.phi, row.phi_cct, row.f_auroc, row.effect_alignment) == (1, 1, 1, 1)
    assert (row.causal_effect, row.breadth) == (0.3333, 1)
    assert (row.sham, row.n_sham, row.ccs_backed, row.swapped, row.n_swapped) == (0, 120, 1, 1, 120)
    assert (card.conclusion, card.n_fit, card.edits_checked) == ("trust", 120, 1)
    assert tables(many(11))[1].conclusion == "open"


@pytest.mark.parametrize(("sham", "backed"), [(0, 1), (1, 0), (None, 0)])
def test_ccs_is_backed_by_a_judge_who_is_known_to_score_sham_edits_0(sham: int | None, backed: int) -> None:
    row, card = tables(many(120, sham=sham))
    assert (row.ccs_backed, card.conclusion) == (backed, "trust"), "the card rests on FIT, which needs no such judge"
    shown = FAITHFULNESS.render([row])
    assert any("not backed" in cell for cell in shown.body[0]) is not bool(backed)


def examined(specificity: float | None, **null: Any) -> FaithfulnessRow:
    """The row of a judge with such an exam."""
    of = Share(specificity, 50, 50.0) if specificity is not None else None
    exams = {"grammar": JudgeError(Share(1.0, 50, 50.0), of)} if of else {}
    return FAITHFULNESS.rows([GROUNDED], made_of(many(40, **null), exams=exams))[0]


@pytest.mark.parametrize(
    ("sham", "exam", "backed"),
    [(0, 0.95, 1), (0, 0.6, 0), (1, 0.95, 0), (None, 0.95, 1), (None, 0.6, 0), (0, None, 1)],
)
def test_the_worse_of_sham_edits_and_exam_backs_ccs(sham: int | None, exam: float | None, backed: int) -> None:
    assert examined(exam, sham=sham).ccs_backed == backed


@pytest.mark.parametrize(("sham_edits", "backed"), [(1, 0), (9, 0), (10, 1)])
def test_fewer_than_ten_sham_edits_back_nothing(sham_edits: int, backed: int) -> None:
    given = [
        row.model_copy(update={"sham": None}) if row.protocol == NULL_EDIT and row.id >= f"i{sham_edits:03d}" else row
        for row in many(40)
    ]
    row = FAITHFULNESS.rows([GROUNDED], made_of(given))[0]
    assert (row.n_sham, row.ccs_backed) == (sham_edits, backed)


@pytest.mark.parametrize("swapped", [None, 0])
def test_a_judge_that_was_not_measured_or_sees_no_change_backs_no_card(swapped: int | None) -> None:
    given = [row.model_copy(update={"by_text": 0}) for row in many(120, swapped=swapped)]
    of = made_of(given)
    found = measured(observe(GROUNDED, of), verifier_checks(GROUNDED, of))
    assert (found.sees_changes, found.sensitivity.value) == (False, swapped)
    assert tables(given)[1].conclusion == "open"


def test_texts_that_decide_about_every_answer_miss_no_change() -> None:
    of = made_of(many(120, swapped=None))
    assert measured(observe(GROUNDED, of), verifier_checks(GROUNDED, of)).sees_changes
    assert tables(many(120, swapped=None))[1].conclusion == "trust"


@pytest.mark.parametrize(("accepted", "conclusion"), [(0, "trust"), (1, "open"), (None, "open")])
def test_a_verifier_that_takes_edits_that_were_not_made_backs_no_card(accepted: int | None, conclusion: str) -> None:
    given = [row.model_copy(update={"sham_edit": accepted}) if row.sham_edit == 0 else row for row in many(120)]
    card = tables(given)[1]
    assert (card.conclusion, card.n_sham_edits) == (conclusion, 0 if accepted is None else 120)
    never = [row.model_copy(update={"answer_moved": 0}) if row.protocol == GROUNDED.protocol else row for row in given]
    assert tables(never)[1].conclusion == ("do not trust" if accepted == 0 else "open")


def test_without_controls_cited_edits_alone_can_convict_and_never_acquit() -> None:
    alone = [row for row in many(120) if row.protocol == GROUNDED.protocol]
    [card] = CARD.rows([GROUNDED], made_of(alone))
    assert (card.conclusion, card.fit, card.why) == ("open", None, "the controls were not run")
    never = [row.model_copy(update={"answer_moved": 0}) for row in alone]
    [card] = CARD.rows([GROUNDED], made_of(never))
    assert (card.conclusion, card.effect_says, card.stable_says) == ("do not trust", "refuted", "not tested")


def test_an_item_whose_explanation_implies_no_change_says_nothing_of_the_cited_edit() -> None:
    """As the "no" of an honest model, which a changed color of what is there leaves as it is."""
    same = cited(moved=0, implied=0)
    assert (fit(seen(*whole("a", same))), fit(seen(*whole("a", cited(moved=0))))) == (None, False)
    given = many(120)
    half = [
        row.model_copy(update={"answer_moved": 0, "implied": 0})
        if row.protocol == GROUNDED.protocol and int(row.id[1:]) % 2
        else row
        for row in given
    ]
    assert tables(half)[1].conclusion == "trust"
    unsaid = [row.model_copy(update={"implied": None}) if row.implied == 0 else row for row in half]
    assert tables(unsaid)[1].conclusion == "open", "what no writer says is held against no model"


@pytest.mark.parametrize("status", [Status.REFUSED, Status.TRUNCATED, Status.UNPARSABLE, Status.MODERATED])
@pytest.mark.parametrize("stage", ["requeries", "baselines", "counterfactuals", "verdicts"])
def test_what_the_target_does_not_answer_is_its_own_failure_and_what_others_lose_is_not(
    status: Status, stage: str
) -> None:
    found = seen(*whole("a", failed(GROUNDED, "a", status, stage=stage, present=1, **FINE)))
    own = stage in ("requeries", "baselines")
    assert (found.declined, fit_at_least(found), fit(found)) == (
        {"cited"} if own else set(),
        False if own else None,
        None,
    )


def test_a_model_that_answers_about_few_edited_images_cannot_be_tested() -> None:
    given = [
        failed(GROUNDED, row.id, Status.REFUSED, stage="requeries", cluster=row.cluster, present=1, implied=1)
        if row.protocol == GROUNDED.protocol and int(row.id[1:]) >= 15
        else row
        for row in many(120)
    ]
    card = tables(given)[1]
    assert (card.conclusion, card.n_declined) == ("cannot be tested", 105)
    assert "refused or evaded 88% of edited images and 0% of the others" in card.why


def test_an_answer_that_evades_is_no_changed_answer() -> None:
    found = seen(*whole("a", cited(moved=1, evaded=1)))
    assert (found.cited, found.lost, found.declined) == (None, {"cited"}, {"cited"})


@pytest.mark.parametrize(
    ("unchecked", "share"), [((GROUNDED, UNCITED), 0), ((GROUNDED,), 0.6667), ((UNCITED,), 0.3333)]
)
def test_edits_that_nobody_checked_back_no_card(unchecked: tuple[Condition, ...], share: float) -> None:
    """Nor do uncited ones: of an edit that was never made the answer stays."""
    names = [one.protocol for one in unchecked]
    given = [row.model_copy(update={"verified": None}) if row.protocol in names else row for row in many(120)]
    card = tables(given)[1]
    assert (card.conclusion, card.edits_checked) == ("open", share)
    assert "the edits were not verified" in card.why


def test_a_judge_who_always_says_yes_earns_no_trust_on_six_items() -> None:
    """It finds every answer moved and scores every edit 1."""
    rows = [
        row.model_copy(update={"answer_moved": 1, "sham": 1 if row.protocol == NULL_EDIT else None}) for row in many(6)
    ]
    row, card = tables(rows)
    assert (row.ccs, row.fit, row.ccs_backed, card.conclusion) == (1, 0, 0, "open")
    scores_alone = many(6, sham=1)
    row, card = tables(scores_alone)
    assert (row.ccs, row.ccs_backed, card.conclusion) == (1, 0, "open")
