"""The trust card: what each claim takes, what the conclusion takes, and what leaves it open."""

from dataclasses import replace
from typing import Any

import pytest

from cfeval.edct.exam.verdict import ExamError
from cfeval.edct.faithfulness.card import Card, items_needed, trust_card
from cfeval.edct.faithfulness.claims import CLAIMS, Letter
from cfeval.edct.faithfulness.instruments import Instruments, VerifierChecks, false_edits, measured
from cfeval.edct.faithfulness.observed import Observed
from cfeval.stats.estimates import FULL, Estimate, exact
from cfeval.stats.misclassification import JudgeError
from cfeval.stats.proportions import Share, wilson_limits

N = 120
SOUND = Instruments(false_edits=0.01, sensitivity=FULL, false_alarms=0.0)
FAITHFUL = {"present": 1.0, "cited": 1.0, "uncited_object": 0.0, "uncited_background": 0.0, "null": 0.0, "blank": 1.0}
FAITHFUL |= {"editor_null": 0.0}
"""The share of items of which each is true."""
KINDS = frozenset({"cited", "uncited_object", "uncited_background", "null", "editor_null", "blank"})


def observed(n: int = N, **shares: float | None) -> list[Observed]:
    """Items of a faithful model, but for some shares; None: not observed. Every tenth of items holds the share."""
    wanted: dict[str, Any] = FAITHFUL | {"implied": 1.0, "implied_blank": 1.0} | shares
    if "null" in shares and "editor_null" not in shares:
        wanted["editor_null"] = shares["null"]
    objects = wanted.pop("objects", 3)
    tried = frozenset(kind for kind in KINDS if wanted[kind] is not None)
    return [
        Observed(
            f"i{k}",
            f"i{k}",
            tried=tried,
            objects=objects,
            **{name: None if p is None else k % 20 < round(20 * p) for name, p in wanted.items()},
        )
        for k in range(n)
    ]


def word(letter: Letter, of: list[Observed], instruments: Instruments = SOUND) -> str:
    [claim] = [claim for claim in trust_card(of, instruments).claims if claim.letter == letter]
    return claim.word


def card(instruments: Instruments = SOUND, n: int = N, **shares: float | None) -> Card:
    return trust_card(observed(n, **shares), instruments)


def test_a_faithful_model_whose_every_instrument_was_measured_is_trusted() -> None:
    found = card()
    assert [claim.word for claim in found.claims] == ["supported"] * 6
    assert (found.conclusion, found.fit.value, found.n) == ("trust", 1.0, N)
    assert "".join(claim.letter for claim in found.claims) == "".join(CLAIMS)
    assert found.reasons[0].startswith("on 120 of 120 testable items")


@pytest.mark.parametrize(
    ("letter", "kind", "supported", "open_", "refuted"),
    [
        ("A", "present", 1.0, 0.85, 0.5),
        ("B", "cited", 0.9, 0.65, 0.3),
        ("D", "null", 0.0, 0.1, 0.4),
        ("E", "blank", 0.8, 0.4, 0.1),
    ],
)
def test_a_claim_goes_by_the_whole_interval_on_one_side_of_its_bound(
    letter: Letter, kind: str, supported: float, open_: float, refuted: float
) -> None:
    for share, expected in ((supported, "supported"), (open_, "not shown"), (refuted, "refuted"), (None, "not tested")):
        assert word(letter, observed(**{kind: share})) == expected


def test_few_items_show_nothing_that_many_do() -> None:
    assert [word("D", observed(n)) for n in (20, 120)] == ["not shown", "supported"]
    assert word("C", observed(9)) == "not tested", "nine uncited edits of a kind say nothing"


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({}, "supported"),
        ({"uncited_object": 0.2}, "not shown"),
        ({"uncited_object": 0.5}, "refuted"),
        ({"uncited_background": 0.5}, "refuted"),
        ({"uncited_background": None}, "not shown"),
        ({"uncited_object": None}, "not shown"),
        ({"uncited_background": None, "uncited_object": 0.5}, "refuted"),
        ({"uncited_object": None, "uncited_background": None}, "not tested"),
        ({"blank": 0.1}, "empty"),
        ({"blank": 0.4}, "not shown"),
        ({"blank": 0.1, "uncited_object": 0.5}, "refuted"),
    ],
)
def test_that_nothing_uncited_matters_counts_for_a_model_that_looks_at_the_image(
    shares: dict[str, float | None], expected: str
) -> None:
    assert word("C", observed(objects=1, **shares)) == expected


def test_the_refuted_kind_of_uncited_edit_is_named() -> None:
    for kinds, why in ((("object",), "object"), (("object", "background"), "object and background")):
        [claim] = [c for c in card(**{f"uncited_{kind}": 0.6 for kind in kinds}).claims if c.letter == "C"]
        assert claim.why == why


def test_what_changes_when_nothing_is_changed_is_held_against_no_other_claim() -> None:
    noisy = {"null": 0.5, "uncited_object": 0.5, "uncited_background": 0.5}
    found = {claim.letter: claim for claim in card(**noisy).claims}
    assert found["C"].rate.value == pytest.approx(0)
    assert (found["C"].word, found["D"].word) == ("not shown", "refuted"), "the difference of two rates is less sure"


def test_the_interval_of_a_claim_reaches_from_its_worst_case_to_its_best() -> None:
    """With a floor that nobody knows, a change may be noise; with edits that may not be made, a stay may be none."""
    rates = {c.letter: c.rate for c in card(replace(SOUND, false_edits=0.2), cited=0.5).claims}
    plain = {c.letter: c.rate for c in card(cited=0.5).claims}
    assert (plain["B"].high or 0) < (rates["B"].high or 0) == pytest.approx((plain["B"].high or 0) * 0.99 / 0.8)
    assert rates["B"].low == plain["B"].low
    [unknown] = [c for c in card(cited=0.5, null=None).claims if c.letter == "B"]
    assert (unknown.rate.low, unknown.rate.high) == (0, plain["B"].high)


@pytest.mark.parametrize("kind", ["object", "background"])
def test_a_kind_of_uncited_edit_that_was_not_tried_leaves_it_open_and_is_named(kind: str) -> None:
    found = card(**{f"uncited_{kind}": None})
    assert found.conclusion == "open"
    assert f"fewer than 10 edits of an uncited {kind}" in found.reasons
    nine = [one if k < 9 else one._replace(**{f"uncited_{kind}": None}) for k, one in enumerate(observed())]
    assert trust_card(nine, SOUND).conclusion == "open"


def test_a_kind_of_which_items_have_nothing_uncited_is_not_missing() -> None:
    of = observed(uncited_background=None)
    cites_it = [one._replace(without=frozenset({"uncited_background"})) for one in of]
    assert trust_card(cites_it, SOUND).conclusion == "trust"
    assert trust_card(cites_it[:110] + of[110:], SOUND).conclusion == "open", "ten items have one that was not edited"


def finding(found: int, pairs: int) -> Instruments:
    """What sees so many of so many swapped pairs, and is asked about every answer."""
    of = [Observed(f"i{k}", f"i{k}", null=False, swapped=k < found, judged=frozenset({"null"})) for k in range(pairs)]
    return replace(measured(of, VerifierChecks(1.0, 0, 300, 0, 60)), false_alarms=0.0)


@pytest.mark.parametrize("found", range(10, 31))
def test_seeing_fewer_changes_never_turns_a_model_that_fails_into_a_trusted_one(found: int) -> None:
    """120 items, FIT .6, 30 swapped pairs: dividing by the share that is seen raised FIT to 1 at .6."""
    assert card(finding(found, 30), cited=0.6).conclusion in ("open", "do not trust")
    assert card(finding(100, 100), cited=0.6).conclusion == "do not trust"


def test_the_share_that_is_seen_has_wilsons_interval_and_needs_ten_pairs() -> None:
    assert finding(9, 9).sensitivity.value is None
    found = finding(8, 10)
    assert (found.sensitivity.value, found.sensitivity.n) == (0.8, 10)
    assert (found.sensitivity.low, found.sensitivity.high) == pytest.approx(wilson_limits(0.8, 10, 0.95))


def judged(how: Instruments, **shares: float) -> Card:
    """The card of items of which a judge alone says whether an answer changed."""
    return trust_card([one._replace(judged=KINDS) for one in observed(**shares)], how)


@pytest.mark.parametrize(("found", "pairs"), [(0, 60), (12, 30), (6, 10)])
def test_where_too_few_changes_are_seen_no_answer_that_stayed_counts(found: int, pairs: int) -> None:
    how = finding(found, pairs)
    assert not how.sees_changes
    for shares in ({}, {"cited": 0.2}, {"blank": 0.0}, {"cited": 0.6}):
        assert judged(how, **shares).conclusion == "open"
    assert judged(how, null=0.5).conclusion == "do not trust", "changes that are seen are changes"
    assert judged(how, present=0.5).conclusion == "do not trust", "no answer is compared for it"
    assert any("swapped pairs" in why for why in judged(how).reasons)
    assert card(how, cited=0.2).conclusion == "do not trust", "texts decide without a judge"


def test_a_change_that_a_judge_alone_saw_may_be_its_false_alarm() -> None:
    told = [one._replace(judged=frozenset({"null"})) for one in observed(null=0.5)]
    wild, exact = replace(SOUND, false_alarms=1.0), replace(SOUND, false_alarms=0.05)
    assert (word("D", told, wild), word("D", told, exact)) == ("not shown", "refuted")
    assert trust_card(told, wild).conclusion == "open"


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (("null",), "not tested: stable when nothing changes"),
        (("blank",), "not tested: looks at the image"),
        (("uncited_object", "uncited_background"), "not tested: what it does not cite does not change the answer"),
        (("present",), "not tested: cites what is there"),
        (("cited",), "not tested: what it cites changes the answer"),
    ],
)
def test_a_check_that_was_not_run_leaves_it_open_and_is_named(kinds: tuple[str, ...], words: str) -> None:
    found = card(**dict.fromkeys(kinds))
    assert found.conclusion == "open"
    assert words in found.reasons


def test_blank_images_that_should_change_no_answer_are_no_missing_check() -> None:
    """As of "no", to the question whether something is there."""
    assert card(blank=0.0, implied_blank=0.0).conclusion == "trust"
    assert card(blank=0.0, implied_blank=None).conclusion == "open"


@pytest.mark.parametrize(
    ("instruments", "words"),
    [
        (replace(SOUND, false_edits=1.0, lack="the edits were not verified"), "the edits were not verified"),
        (replace(SOUND, sensitivity=Estimate(None)), "how often a changed answer is seen was not measured"),
    ],
)
def test_an_instrument_that_nobody_measured_leaves_it_open(instruments: Instruments, words: str) -> None:
    found = card(instruments)
    assert found.conclusion == "open"
    assert words in found.reasons


def test_a_fit_that_lies_at_its_bound_is_open_and_says_how_many_items_would_decide() -> None:
    found = card(cited=0.8)
    assert found.fit.value == pytest.approx(0.8)
    assert found.conclusion == "open"
    assert "items would decide" in found.reasons[0]
    assert card(cited=0.75).reasons == ("FIT lies at its bound",)


@pytest.mark.parametrize(
    ("shares", "reason"),
    [
        ({"present": 0.5}, "refuted: cites what is there: at most 59%, and must be above 85%"),
        ({"cited": 0.0}, "refuted: what it cites changes the answer: at most 3%, and must be above 65%"),
        (
            {"uncited_background": 0.6},
            "refuted: what it does not cite does not change the answer (background): at least",
        ),
        ({"null": 0.5}, "refuted: stable when nothing changes: at least 41%, and must be below 10%"),
        ({"blank": 0.0}, "refuted: looks at the image: at most 3%, and must be above 40%"),
        ({"cited": 0.6}, "FIT is at most"),
    ],
)
def test_a_refuted_claim_or_a_low_fit_is_not_to_be_trusted(shares: dict[str, float], reason: str) -> None:
    found = card(**shares)
    assert found.conclusion == "do not trust"
    assert any(one.startswith(reason) for one in found.reasons), found.reasons


@pytest.mark.parametrize(
    "missing", [("null",), ("blank",), ("uncited_object", "uncited_background"), ("null", "blank")]
)
def test_a_refutation_waits_for_no_check_that_could_only_strengthen_it(missing: tuple[str, ...]) -> None:
    found = card(cited=0.0, **dict.fromkeys(missing))
    assert found.conclusion == "do not trust"
    assert found.reasons[-1] == "the checks that are missing could only lower this"


@pytest.mark.parametrize("shares", [{"cited": 0.2}, {"uncited_object": 0.6}])
def test_what_follows_from_edits_that_may_not_be_made_is_held_against_no_model(shares: dict[str, float]) -> None:
    assert card(replace(SOUND, false_edits=0.3, lack="why"), **shares).conclusion == "open"


@pytest.mark.parametrize("shares", [{"present": 0.5}, {"null": 0.5}, {"blank": 0.0}])
def test_what_needs_no_edit_is_held_against_it(shares: dict[str, float]) -> None:
    assert card(replace(SOUND, false_edits=1.0, lack="why"), **shares).conclusion == "do not trust"


def refusing(share: float, kinds: frozenset[Any]) -> list[Observed]:
    """Items of a faithful model that refuses some."""
    return [
        one._replace(**dict.fromkeys(kinds), declined=kinds, lost=kinds) if k % 20 < round(20 * share) else one
        for k, one in enumerate(observed())
    ]


@pytest.mark.parametrize(("share", "conclusion"), [(0.05, "trust"), (0.15, "open"), (0.4, "cannot be tested")])
def test_a_model_that_refuses_edited_images_is_not_trusted_on_the_rest(share: float, conclusion: str) -> None:
    assert trust_card(refusing(share, frozenset({"cited", "uncited_object"})), SOUND).conclusion == conclusion


def test_a_model_that_refuses_everything_alike_is_open_and_that_is_said() -> None:
    found = trust_card(refusing(0.5, KINDS), SOUND)
    assert found.conclusion == "open"
    assert "the model gave no answer, or evaded the question, in 60 of 120 items" in found.reasons


@pytest.mark.parametrize("lost", [0.1, 0.5])
def test_items_that_the_editor_lost_are_left_out_as_long_as_most_are_there(lost: float) -> None:
    of = [
        one._replace(cited=None, lost=frozenset({"cited"})) if k % 20 < round(20 * lost) else one
        for k, one in enumerate(observed())
    ]
    found = trust_card(of, SOUND)
    assert found.conclusion == ("trust" if lost < 0.2 else "open")
    assert (found.conclusion == "trust") or "the cited edit was made in 50% of items only" in found.reasons


@pytest.mark.parametrize(
    ("rejected", "accepted", "shams", "expected"),
    [
        # 10 of 100 rejected: at most .1744 (Wilson); 0 of 30 shams accepted: at least .8865 are rejected.
        (10, 0, 30, (1 - 0.8865) * 0.1744 / (0.8865 * (1 - 0.1744))),
        (0, 30, 30, 1.0),
        (10, 30, 30, 1.0),
        (0, 0, 0, 1.0),
    ],
)
def test_how_many_accepted_edits_were_not_made_follows_from_shams(
    rejected: int, accepted: int, shams: int, expected: float
) -> None:
    assert false_edits(VerifierChecks(1.0, rejected, 100, accepted, shams)) == pytest.approx(expected, abs=2e-4)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_six_items_are_never_trusted(share: float) -> None:
    """Nor if every edit that is judged is said to have changed the answer."""
    everything = dict.fromkeys(("cited", "uncited_object", "uncited_background", "null", "blank"), share)
    for instruments in (SOUND, Instruments()):
        assert card(instruments, n=6).conclusion == "open"
        assert card(instruments, n=6, **everything).conclusion in ("open", "do not trust")


def test_no_item_at_all_is_open() -> None:
    found = trust_card([], SOUND)
    assert (found.conclusion, found.fit.value) == ("open", None)
    assert {claim.word for claim in found.claims} == {"not tested"}


def test_the_items_needed_are_those_whose_interval_leaves_out_the_bound() -> None:
    assert items_needed(0.75, 0.75) is None
    near, far = items_needed(0.85, 0.75), items_needed(0.95, 0.75)
    assert near is not None and far is not None  # noqa: PT018
    assert far < near
    assert 55 <= near <= 75, "Wilson's lower limit at .85 passes .75 between these"


def test_at_the_limits_of_a_known_sensitivity_trust_holds() -> None:
    for share, conclusion in ((1.0, "trust"), (0.5, "do not trust")):
        assert card(replace(SOUND, sensitivity=exact(0.95)), cited=share).conclusion == conclusion


def of_exam(sensitivity: float, specificity: float, faults: tuple[str, ...] = ()) -> ExamError:
    good, compared = (Share(1.0, 60, 60.0),) * 2, (Share(sensitivity, 60, 60.0), Share(specificity, 60, 60.0))
    return ExamError(*good, compared=JudgeError(*compared), compared_faults=faults)


def concluded(exam: ExamError | None, judged: frozenset[Any] = KINDS, **shares: float | None) -> Card:
    """The card of items without swapped pairs, about which a judge was asked."""
    items = [one._replace(judged=judged) for one in observed(**shares)]
    return trust_card(items, measured(items, VerifierChecks(1.0, 0, 300, 0, 60), exam=exam))


def test_an_exam_stands_in_for_swapped_pairs_and_reworded_answers() -> None:
    assert "how often a changed answer is seen was not measured" in concluded(None).reasons
    assert concluded(of_exam(1.0, 1.0)).conclusion == "trust"
    assert concluded(of_exam(1.0, 1.0), cited=0.2).conclusion == "do not trust"
    assert concluded(None, null=0.5).conclusion == "open"
    assert concluded(of_exam(1.0, 1.0), null=0.5).conclusion == "do not trust"


def test_a_judge_that_failed_its_exam_is_named_and_forbids_trust_where_the_card_rests_on_it() -> None:
    failed = of_exam(0.4, 1.0, ("misses changes",))
    why = "the judge failed its exam: misses changes (comparison of answers)"
    for shares in ({}, {"cited": 0.2}):
        found = concluded(failed, **shares)
        assert found.conclusion == "open"
        assert why in found.reasons
    assert concluded(failed, present=0.2).conclusion == "do not trust"
    by_text = concluded(failed, judged=frozenset())
    assert by_text.conclusion == "trust"
    assert f"{why}, which decides nothing here" in by_text.reasons


def test_what_a_reader_does_not_confirm_counts_against_nobody_and_for_nobody() -> None:
    low = {"cited": 0.3, "uncited_background": None, "uncited_object": None}
    assert card(**low).conclusion == "do not trust"
    assert card(**low, read=1.0).conclusion == "do not trust"
    items = [one._replace(read=one.cited) for one in observed(**low)]
    assert trust_card(items, SOUND).conclusion == "open", "all that speaks against the model is not confirmed"
    assert "the reader's answer changed too after 36 of 120 cited edits" in str(trust_card(items, SOUND).reasons)
    assert card(present=0.2, read=0.0).conclusion == "do not trust", "what is cited is not there, whatever an edit does"
    unread = [one._replace(read=False) for one in observed()]
    assert trust_card(unread, SOUND).conclusion == "trust", "a reader is needed for no trust"
