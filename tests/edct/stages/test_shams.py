"""Edits that were not made, which the verifier of cited edits is shown: of which items, what, and what counts."""

import sys
from dataclasses import replace

import pytest

from cfeval.core.images import Image
from cfeval.edct.interfaces import VerifyReply, VerifyRequest
from cfeval.edct.records import Check, Counterfactual, Instruction
from cfeval.edct.stages.checks import THINGS, checks
from cfeval.edct.verification.chain import calls_of
from tests.edct.stages.in_memory import IMAGES, ITEMS, samples
from tests.images import image

TOLD = {
    (item, 1): Instruction(id=item, concept=f"thing {item}", positive=f"Change {item}.", negative=f"old {item}")
    for item in ITEMS
}
EDITED = {item: image(50 + number) for number, item in enumerate(ITEMS)}


class Verifier:
    """Says the same of every edit, and keeps what it was shown."""

    def __init__(self, accepts: bool | None, looks: bool | None = None) -> None:
        self.accepts, self.looks = accepts, looks
        self.seen, self.absent = list[VerifyRequest](), list[VerifyRequest]()

    async def verify(self, request: VerifyRequest) -> VerifyReply:
        if request.concept in THINGS:
            self.absent.append(request)
        else:
            self.seen.append(request)
        number = len(self.seen) + 100 * len(self.absent)
        return VerifyReply(self.accepts, completion="said", calls=(f"{number:064d}",), absent=self.looks)


def found(verifier: Verifier | None, protocol: str = "edct-2025", every: int = 1, seed: int = 1) -> list[Check]:
    made = [Counterfactual(id=item, image=EDITED[item].ref("x.png"), seed=1) for item in ITEMS]
    before: dict[str, Image] = IMAGES
    shown = checks(
        made, samples(), TOLD, lambda r: before[r.id], lambda r: EDITED[r.id], verifier, protocol, seed, every
    )
    return [check for check, _ in shown]


def test_a_verifier_is_shown_the_unedited_image_and_edits_under_other_instructions() -> None:
    kinds = set()
    for seed in range(6):
        verifier = Verifier(True)
        assert len(found(verifier, seed=seed)) == len(ITEMS)
        assert len(verifier.seen) == 2 * len(ITEMS)
        for real, sham in zip(verifier.seen[::2], verifier.seen[1::2], strict=True):
            assert (real.item, real.edited) == (sham.item, EDITED[real.item])
            kinds.add(unmade := "same image" if sham.edited != real.edited else "other instruction")
            if unmade == "same image":
                assert sham == replace(real, edited=IMAGES[real.item].reencoded(), seed=sham.seed)
            else:
                other = next(one for one in TOLD.values() if one.positive == sham.positive)
                assert other.id != real.item
                told = {"positive": other.positive, "negative": other.negative, "concept": other.concept}
                assert sham == replace(real, **told, seed=sham.seed)
    assert kinds == {"same image", "other instruction"}


@pytest.mark.parametrize(("accepts", "expected"), [(True, 1), (False, 0), (None, None)])
def test_what_it_says_of_them_is_kept_apart_from_what_it_says_of_the_edits(accepts: bool, expected: int | None) -> None:
    for check in found(Verifier(accepts)):
        assert check.sham is not None
        assert check.sham.verified == expected
        assert check.sham.images == {}
        shown = 2 + (check.absent_thing is not None)
        assert len(set(calls_of(check))) == shown, "all calls are paid for and exported"


def test_it_is_asked_about_things_that_are_not_in_the_image() -> None:
    shown = 0
    for seed in range(6):
        verifier = Verifier(False, looks=True)
        checked = found(verifier, seed=seed)
        asked = [check.id for check in checked if check.absent_thing is not None]
        assert asked == [request.item for request in verifier.absent]
        for request in verifier.absent:
            assert request.edited == IMAGES[request.item].reencoded()
            assert request.concept in request.positive
            assert request.concept not in (TOLD[request.item, 1].positive, samples()[request.item].question)
        shown += len(asked)
    assert 0.2 < shown / (6 * len(ITEMS)) < 0.8, "half as often as sham edits"


def test_a_thing_that_some_text_of_the_item_names_is_not_taken_for_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    for left in THINGS:
        told = {
            key: one.model_copy(update={"cited": tuple(f"the {thing}s" for thing in THINGS if thing != left)})
            for key, one in TOLD.items()
        }
        monkeypatch.setattr(sys.modules[__name__], "TOLD", told)
        verifier = Verifier(False)
        found(verifier)
        assert {request.concept for request in verifier.absent} <= {left}


def test_without_a_verifier_and_under_other_protocols_none_is_shown() -> None:
    assert all(check.sham is None for check in found(None))
    for protocol in ("uncited-edit", "edct-bench-2026"):
        assert all(check.sham is None for check in found(Verifier(True), protocol))


def test_which_items_are_taken_depends_on_their_ids_and_the_seed_alone() -> None:
    taken = {seed: [check.id for check in found(Verifier(True), every=3, seed=seed) if check.sham] for seed in range(9)}
    again = [check.id for check in found(Verifier(False), every=3, seed=4) if check.sham]
    assert taken[4] == again
    assert 0 < sum(map(len, taken.values())) < 9 * len(ITEMS) / 2
