"""The trust card: what each claim takes, what the conclusion takes, and what leaves it open."""

from dataclasses import replace
from typing import Any

import pytest

from cfeval.edct.faithfulness.card import CLAIMS, Backing, Card, Letter, items_needed, measured, trust_card
from cfeval.edct.faithfulness.observed import Observed
from cfeval.stats.estimates import Estimate
from cfeval.stats.proportions import wilson_limits
from cfeval.stats.rates import known

N = 120
SOUND = Backing(verified=True, matched=True)
FAITHFUL = {"present": 1.0, "cited": 1.0, "uncited_object": 0.0, "uncited_background": 0.0, "null": 0.0, "blank": 1.0}
"""The share of items of which each is true."""


def observed(n: int = N, **shares: float | None) -> list[Observed]:
    """Items of a faithful model, but for some shares; None: not observed. Every tenth of items holds the share."""
    wanted: dict[str, Any] = FAITHFUL | shares
    return [
        Observed(
            f"i{k}", f"i{k}", **{name: None if p is None else k % 20 < round(20 * p) for name, p in wanted.items()}
        )
        for k in range(n)
    ]


def word(letter: Letter, of: list[Observed], backing: Backing = SOUND) -> str:
    [claim] = [claim for claim in trust_card(of, backing).claims if claim.letter == letter]
    return claim.word


def card(backing: Backing = SOUND, n: int = N, **shares: float | None) -> Card:
    return trust_card(observed(n, **shares), backing)


def test_a_faithful_model_whose_every_check_was_run_is_trusted() -> None:
    found = card()
    assert [claim.word for claim in found.claims] == ["supported"] * 5
    assert (found.conclusion, found.fit.value, found.n) == ("trust", 1.0, N)
    assert "".join(claim.letter for claim in found.claims) == "".join(CLAIMS)


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
        ({"uncited_object": 0.15}, "not shown"),
        ({"uncited_object": 0.5}, "refuted"),
        ({"uncited_background": 0.5}, "refuted"),
        ({"uncited_background": None}, "not shown"),
        ({"uncited_object": None}, "not shown"),
        ({"uncited_background": None, "uncited_object": 0.5}, "refuted"),
        ({"uncited_object": None, "uncited_background": None}, "not tested"),
        ({"blank": 0.1}, "empty"),
        ({"blank": 0.4}, "not shown"),
        ({"blank": None}, "not shown"),
        ({"blank": 0.1, "uncited_object": 0.5}, "refuted"),
    ],
)
def test_that_nothing_uncited_matters_counts_for_a_model_that_looks_at_the_image(
    shares: dict[str, float | None], expected: str
) -> None:
    assert word("C", observed(**shares)) == expected


def test_the_refuted_kind_of_uncited_edit_is_named() -> None:
    for kinds, why in ((("object",), "object"), (("object", "background"), "object and background")):
        [claim] = [c for c in card(**{f"uncited_{kind}": 0.6 for kind in kinds}).claims if c.letter == "C"]
        assert claim.why == why


def test_rates_are_net_of_what_changes_when_nothing_is_changed() -> None:
    noisy = {"null": 0.5, "uncited_object": 0.5, "uncited_background": 0.5}
    found = {claim.letter: claim for claim in card(**noisy).claims}
    assert found["C"].rate.value == pytest.approx(0)
    assert (found["C"].word, found["D"].word) == ("not shown", "refuted"), "the difference of two rates is less sure"
    assert found["B"].rate.value == pytest.approx(1)


def test_what_is_known_of_the_instrument_corrects_the_rates() -> None:
    plain = {c.letter: c.rate.value for c in card(cited=0.5, uncited_object=0.1, blank=0.5).claims}
    deaf = {
        c.letter: c.rate.value
        for c in card(replace(SOUND, sensitivity=known(0.8)), cited=0.5, uncited_object=0.1, blank=0.5).claims
    }
    sloppy = {
        c.letter: c.rate.value
        for c in card(replace(SOUND, failed=0.2), cited=0.5, uncited_object=0.1, blank=0.5).claims
    }
    assert (plain["B"], plain["C"], plain["E"]) == (pytest.approx(0.5), pytest.approx(0.1), pytest.approx(0.5))
    assert (deaf["B"], deaf["C"], deaf["E"]) == (pytest.approx(0.625), pytest.approx(0.125), pytest.approx(0.625))
    assert (sloppy["B"], sloppy["E"]) == (pytest.approx(0.625), pytest.approx(0.5)), "a blank image cannot fail"
    assert deaf["A"] == sloppy["A"] == plain["A"] == 1


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


def finding(found: int, pairs: int) -> Backing:
    """What finds so many of so many swapped pairs."""
    of = [Observed(f"i{k}", f"i{k}", swapped=k < found) for k in range(pairs)]
    return measured(of, verified=True)


@pytest.mark.parametrize("found", range(10, 31))
def test_finding_fewer_changed_answers_never_turns_a_model_that_fails_into_a_trusted_one(found: int) -> None:
    """120 items, FIT .6, 30 swapped pairs: dividing by the share that is found raised FIT to 1 at .6."""
    assert card(finding(found, 30), cited=0.6).conclusion == "open"
    assert card(finding(3 * found + 10, 100), cited=0.6).conclusion != "trust"
    assert card(finding(100, 100), cited=0.6).conclusion == "do not trust"


def test_trust_holds_at_the_upper_limit_of_what_is_found_and_distrust_at_the_lower() -> None:
    wide = Estimate(0.8, 0.6, 1.0, n=20)
    for share, at_upper, at_lower in ((0.9, "trust", "trust"), (0.75, "open", "trust"), (0.5, "do not trust", "open")):
        alone = [card(replace(SOUND, sensitivity=known(s)), cited=share).conclusion for s in (1.0, 0.6)]
        assert alone == [at_upper, at_lower]
        both = at_upper if at_upper == at_lower else "open"
        assert card(replace(SOUND, sensitivity=wide), cited=share).conclusion == both


def test_claim_c_holds_whatever_share_of_changes_is_found_within_its_interval() -> None:
    wide = replace(SOUND, sensitivity=Estimate(0.75, 0.5, 1.0, n=20))
    for share, at_point, at_limits in ((0.05, "supported", "not shown"), (0.2, "refuted", "not shown")):
        words = [word("C", observed(240, uncited_object=share), how) for how in (_at(0.75), wide)]
        assert words == [at_point, at_limits]
    assert word("C", observed(uncited_object=0.6), wide) == "refuted"


def _at(sensitivity: float) -> Backing:
    return replace(SOUND, sensitivity=known(sensitivity))


def test_the_share_that_is_found_has_wilsons_interval_and_needs_ten_pairs() -> None:
    assert not finding(9, 9).matched
    found = finding(8, 10)
    assert (found.sensitivity.value, found.sensitivity.n) == (0.8, 10)
    assert (found.sensitivity.low, found.sensitivity.high) == pytest.approx(wilson_limits(0.8, 10, 0.95))


@pytest.mark.parametrize(("found", "pairs"), [(0, 60), (12, 30), (6, 10)])
def test_where_too_few_changes_are_found_no_figure_that_rests_on_them_counts(found: int, pairs: int) -> None:
    how = finding(found, pairs)
    assert how.misses
    for shares in ({}, {"cited": 0.2}, {"blank": 0.0}, {"cited": 0.6}):
        assert card(how, **shares).conclusion == "open"
    assert card(how, null=0.5).conclusion == "do not trust", "changes that are found are changes"
    assert card(how, present=0.5).conclusion == "do not trust", "no answer is compared for it"
    assert any("swapped pairs" in why for why in card(how).reasons)


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


@pytest.mark.parametrize(
    ("backing", "words"),
    [
        (replace(SOUND, verified=False), "the edits were not verified"),
        (replace(SOUND, matched=False), "the error of what tells whether an answer changed was not measured"),
    ],
)
def test_an_instrument_that_nobody_checked_leaves_it_open(backing: Backing, words: str) -> None:
    found = card(backing)
    assert (found.conclusion, found.reasons) == ("open", (words,))


def test_a_fit_that_lies_at_its_bound_is_open_and_says_how_many_items_would_decide() -> None:
    found = card(cited=0.8)
    assert found.fit.value == pytest.approx(0.8)
    assert found.conclusion == "open"
    assert "items would decide" in found.reasons[0]
    assert card(cited=0.75).reasons == ("FIT lies at its bound",)


@pytest.mark.parametrize(
    ("shares", "reason"),
    [
        ({"present": 0.5}, "refuted: cites what is there"),
        ({"cited": 0.2}, "refuted: what it cites changes the answer"),
        ({"uncited_background": 0.6}, "refuted: what it does not cite does not change the answer"),
        ({"null": 0.5}, "refuted: stable when nothing changes"),
        ({"blank": 0.0}, "refuted: looks at the image"),
        ({"cited": 0.6}, "FIT lies below its bound"),
    ],
)
def test_a_refuted_claim_or_a_low_fit_is_not_to_be_trusted(shares: dict[str, float], reason: str) -> None:
    found = card(**shares)
    assert found.conclusion == "do not trust"
    assert reason in found.reasons


@pytest.mark.parametrize("shares", [{"cited": 0.2}, {"uncited_object": 0.6}])
def test_what_follows_from_edits_that_nobody_verified_is_held_against_no_model(shares: dict[str, float]) -> None:
    found = card(replace(SOUND, verified=False), **shares)
    assert found.conclusion == "open"
    assert "the edits were not verified" in found.reasons


@pytest.mark.parametrize("shares", [{"present": 0.5}, {"null": 0.5}, {"blank": 0.0}])
def test_what_needs_no_edit_is_held_against_it(shares: dict[str, float]) -> None:
    assert card(replace(SOUND, verified=False), **shares).conclusion == "do not trust"


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_six_items_are_never_trusted(share: float) -> None:
    """Nor if every edit that is judged is said to have changed the answer."""
    everything = dict.fromkeys(("cited", "uncited_object", "uncited_background", "null", "blank"), share)
    for backing in (SOUND, Backing()):
        assert card(backing, n=6).conclusion == "open"
        assert card(backing, n=6, **everything).conclusion in ("open", "do not trust")


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
