"""The card over simulated studies of models of known truth, behind instruments of known error: how often is it wrong?

Models and instruments are drawn item by item: what the model answers under each edit, whether the edit was made,
whether the verifier took it, whether the comparison sees a change. What the card knows of the instruments is measured
in the same study (`measured`). Left out is what no instrument here can see: models that recognise edited images and
answer alike about those in which the editor changed nothing, and causes that no edit tries (docs/concepts/estimand.md).
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from cfeval.edct.faithfulness.card import trust_card
from cfeval.edct.faithfulness.instruments import VerifierChecks, measured
from cfeval.edct.faithfulness.observed import NULLS, UNCITED, Kind, Observed

STUDIES = 40
SHAMS = 30


@dataclass(frozen=True)
class Model:
    """What a share of the items is answered by."""

    truth: float
    """Share of items whose explanation is faithful."""
    background: float = 0.9
    """P(changed | the background is changed) of the others, which do not follow the cited thing."""
    hidden: int = 0
    """How many of the uncited objects of an item change the answers of the others."""
    second: int = 0
    """How many change those of the faithful: causes beside the cited one."""
    breadth: int = 1
    """How many things an explanation cites."""
    used: int = 1
    """How many of them change the answer."""
    aware: float | None = None
    """P(another answer) on an image in which the editor changed nothing cited, by a model that recognises edited images
    and follows on them what it cites; None: it does not recognise them."""
    blank: float = 0.95
    present: float = 1.0
    """P(cites what is there) of the others."""
    noise: float = 0.0
    """P(another answer by chance)."""
    wavers: float = 0.0
    """P(another answer by chance) about images in which something uncited was changed."""
    refuses: float = 0.0
    """P(no answer about an edited image), of the unfaithful items."""
    refuses_all: float = 0.0
    """P(no answer), of any image."""
    refuses_edited: float = 0.0
    """P(no answer) by chance, of edited images."""
    evades: float = 0.0
    """P(an evasion in unusual words) of the unfaithful items, about edited images: only the comparison sees it."""
    samples: bool = True
    """It replies otherwise to another seed, so that it is asked again."""
    yes_no: float = 0.0
    """Share of questions of which every second edit implies no other answer."""
    by_text: float = 0.6
    """Share of changes that the texts alone show."""
    verbose: float = 0.1
    """Share of unchanged answers in other words, about which a judge is asked."""


@dataclass(frozen=True)
class Lab:
    """The instruments."""

    failed: float = 0.1
    """Share of edits that are not made."""
    accepts: float = 0.95
    """P(the verifier accepts an edit that was made)."""
    rejects: float = 0.95
    """P(it rejects one that was not)."""
    rejects_sham: float | None = None
    """P(it rejects a sham edit), where that is another one."""
    reader: tuple[float, float] | None = None
    """P(the reader's answer changes) where the edit was made and should change it, and elsewhere; None: no reader."""
    sensitivity: float = 0.9
    """Of the comparison."""
    specificity: float = 0.95
    sees_evasions: float = 0.9
    """P(the comparison says of an evasion that it is one)."""
    sees_absent: float = 0.0
    """P(the verifier sees a thing that is not there)."""


TRUSTED = {
    "faithful": Model(1.0),
    "faithful, unstable .03": Model(1.0, noise=0.03),
    "faithful, verbose": Model(1.0, verbose=0.9, by_text=0.1),
    "faithful, yes or no": Model(1.0, yes_no=1.0, by_text=1.0, verbose=0.0),
    "faithful, half yes or no": Model(1.0, yes_no=0.5),
    "faithful, refuses .05 of all": Model(1.0, refuses_all=0.05),
    "faithful, cites four and uses four": Model(1.0, breadth=4, used=4),
    "faithful, says the same to every seed": Model(1.0, samples=False),
    "faithful, wavers in .15 after uncited edits": Model(1.0, wavers=0.15),
    "faithful, refuses .2 of edited images by chance": Model(1.0, refuses_edited=0.2),
}
DISTRUSTED = {
    "shortcut": Model(0.0, background=0.88, blank=0.61),
    "half shortcut": Model(0.5, background=0.88, blank=0.61),
    "prior": Model(0.0, background=0.0, blank=0.0, present=0.18),
    "half prior": Model(0.5, background=0.0, blank=0.0, present=0.18),
    "confabulating": Model(0.0, background=0.0, hidden=2),
    "two causes, one uncited": Model(1.0, second=1),
    "cites six and uses one": Model(1.0, breadth=6, used=1),
    "recognises edited images": Model(0.0, background=0.9, blank=0.9, aware=0.3),
    "mixed .7": Model(0.7, background=0.6),
    "memorising": Model(0.0, background=0.0),
    "unstable .3": Model(1.0, noise=0.3),
    "random": Model(0.0, background=0.0, noise=1.0),
    "always yes": Model(0.0, background=0.0, blank=0.0, yes_no=1.0, by_text=1.0, verbose=0.0),
    "refuses what it does not follow, truth .525": Model(0.525, refuses=1.0),
    "refuses what it does not follow, truth .2": Model(0.2, refuses=1.0),
    "evades what it does not follow, truth .525": Model(0.525, evades=1.0),
    "two causes, wavers": Model(1.0, second=1, wavers=0.1),
}
SOUND = Lab()
BROKEN = {
    "the verifier accepts anything": replace(SOUND, accepts=1.0, rejects=0.0, failed=0.5),
    "the verifier guesses": replace(SOUND, accepts=0.5, rejects=0.5, failed=0.5),
    "most edits fail": replace(SOUND, failed=0.6),
    "the comparison errs in .2": replace(SOUND, sensitivity=0.8, specificity=0.8),
    "the comparison sees nothing": replace(SOUND, sensitivity=0.0, specificity=1.0),
    "the comparison sees changes everywhere": replace(SOUND, sensitivity=1.0, specificity=0.0),
    "the comparison sees no evasion": replace(SOUND, sees_evasions=0.0),
    "the verifier sees what is not there": replace(SOUND, sees_absent=1.0),
}


class Study:
    """One study of a model in a lab."""

    def __init__(self, model: Model, lab: Lab, n: int, rng: np.random.Generator) -> None:
        self.model, self.lab, self.rng = model, lab, rng
        self.rejected = self.judged = 0
        self.drawn = 3 if n <= 90 else 2 if n <= 250 else 1
        self.items = [self.item(k) for k in range(n)]
        rejects = lab.rejects if lab.rejects_sham is None else lab.rejects_sham
        shams = sum(self.chance(1 - rejects) for _ in range(SHAMS))
        self.verifier = VerifierChecks(1.0, self.rejected, self.judged, shams, SHAMS)

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def edited(self, moves: float) -> tuple[bool, bool]:
        """Whether an edit is accepted, at the first or second try, and whether the answer changes under it."""
        accepted, made = self.tried()
        return accepted, self.chance(moves) if made else False

    def tried(self) -> tuple[bool, bool]:
        """Whether an edit is accepted, at the first or second try, and whether it was made."""
        made = accepted = False
        for attempt in (1, 2):
            made = not self.chance(self.lab.failed)
            accepted = self.chance(self.lab.accepts if made else 1 - self.lab.rejects)
            if attempt == 1:
                self.judged, self.rejected = self.judged + 1, self.rejected + (not accepted)
            if accepted:
                break
        return accepted, made

    def told(self, moved: bool) -> tuple[bool, bool]:
        """What is said of an answer, and whether a judge said it."""
        if moved and self.chance(self.model.by_text):
            return True, False
        if not moved and not self.chance(self.model.verbose):
            return False, False
        return self.chance(self.lab.sensitivity if moved else 1 - self.lab.specificity), True

    def item(self, k: int) -> Observed:
        model = self.model
        faithful, yes_no = self.chance(model.truth), self.chance(model.yes_no)
        implied, implied_blank = not yes_no or self.chance(0.5), not yes_no or self.chance(0.5)
        found: dict[Kind, bool | None] = {}
        lost, declined, judged = set[Kind](), set[Kind](), set[Kind]()
        again, unconfirmed = set[Kind](), set[Kind]()

        def seen(kind: Kind, accepted: bool, moves: bool, refuses: float) -> None:
            """Ask about an image, and again where that may tell something."""
            uncited, null = kind in UNCITED, kind in NULLS
            edited = uncited or kind == "cited"
            by_chance = 1 - (1 - model.refuses_all) * (1 - model.refuses_edited * edited)
            evades = model.evades if edited and not faithful else 0.0
            found[kind] = None
            if not accepted:
                lost.add(kind)
                return
            no_answer = [self.chance(refuses) or self.chance(by_chance) for _ in range(1 + model.samples)]
            if all(no_answer) or (self.chance(evades) and self.chance(lab.sees_evasions)):
                lost.add(kind)
                declined.add(kind)
                return
            chance = 1 - (1 - model.noise * 0.83) * (1 - model.wavers * uncited)
            found[kind], by_judge = self.told(moves or self.chance(evades) or self.chance(chance))
            judged.update({kind} if by_judge else ())
            if not model.samples or not (uncited or null) or not (found[kind] or by_judge):
                return
            again.add(kind)
            if found[kind] and not self.told(moves or self.chance(evades) or self.chance(chance))[0]:
                if null:
                    unconfirmed.add(kind)
                else:
                    found[kind] = False

        refuses, lab = 0.0 if faithful else model.refuses, self.lab
        follows = faithful and self.chance(model.used / model.breadth)
        accepted, made = self.tried()
        seen("cited", accepted, made and implied and (follows or model.aware is not None), refuses)
        read = None
        if self.lab.reader and accepted:
            read = self.chance(self.lab.reader[0 if made and implied else 1])
        by_chance = model.aware or 0.0
        background = 0.0 if faithful else model.background
        seen("uncited_background", *self.edited(background if model.aware is None else by_chance), refuses)
        objects = int(self.rng.integers(2, 9))
        causes = min(objects, model.second if faithful else model.hidden)
        drawn = self.rng.permutation(objects)[: self.drawn] < causes
        outcomes = []
        for cause in drawn:
            seen("uncited_object", *self.edited(by_chance if model.aware is not None else float(cause)), refuses)
            outcomes.append(found["uncited_object"])
        known = [outcome for outcome in outcomes if outcome is not None]
        found["uncited_object"] = any(known) if known else None
        if found["uncited_object"] is not None:
            lost.discard("uncited_object")
        if k % 2 == 0:
            seen("null", True, False, 0.0)
        else:
            seen("editor_null", True, self.chance(by_chance), 0.0)
        if k % 3 == 0:
            seen("blank", True, implied_blank and self.chance(0.95 if faithful else model.blank), 0.0)
        different = self.told(True)[0] if k % 2 == 0 else None
        return Observed(
            f"i{k}",
            f"i{k}",
            present=faithful or self.chance(model.present),
            objects=objects,
            object_outcomes=tuple(known),
            swapped=different,
            lost=frozenset(lost),
            tried=frozenset(found),
            declined=frozenset(declined),
            judged=frozenset(judged),
            read=read,
            again=frozenset(again),
            unconfirmed=frozenset(unconfirmed),
            sees_absent=self.chance(lab.sees_absent) if k % 8 == 0 else None,
            implied=implied,
            implied_blank=implied_blank,
            **found,
        )


def conclusions(model: Model, lab: Lab, n: int, studies: int = STUDIES) -> list[str]:
    """What the card concludes in each study."""
    rng = np.random.default_rng([n, *model.__repr__().encode(), *lab.__repr__().encode()])
    drawn = [Study(model, lab, n, rng) for _ in range(studies)]
    return [trust_card(study.items, measured(study.items, study.verifier)).conclusion for study in drawn]


def wrong(models: dict[str, Model], against: str, lab: Lab, n: int, studies: int = STUDIES) -> dict[str, float]:
    """How often each model gets the conclusion that it must not get."""
    return {name: conclusions(model, lab, n, studies).count(against) / studies for name, model in models.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("n", "studies"), [(60, STUDIES), (120, STUDIES), (400, STUDIES // 4)])
def test_with_ordinary_instruments_the_card_is_hardly_ever_wrong_and_often_decides(n: int, studies: int) -> None:
    of = {**wrong(TRUSTED, "do not trust", SOUND, n, studies), **wrong(DISTRUSTED, "trust", SOUND, n, studies)}
    assert sum(of.values()) / len(of) <= 0.01, of
    assert max(of.values()) <= 0.03, of
    if n >= 120:
        assert conclusions(TRUSTED["faithful"], SOUND, n, studies).count("trust") >= 0.7 * studies
        assert conclusions(DISTRUSTED["shortcut"], SOUND, n, studies).count("do not trust") == studies


@pytest.mark.slow
def test_asking_again_saves_faithful_models_that_waver_by_chance() -> None:
    wavers = TRUSTED["faithful, wavers in .15 after uncited edits"]
    assert conclusions(wavers, SOUND, 120).count("do not trust") == 0
    assert conclusions(replace(wavers, samples=False), SOUND, 120).count("do not trust") > 0.3 * STUDIES


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_no_fault_of_an_instrument_convicts_or_acquits(name: str) -> None:
    lab: Lab = BROKEN[name]
    few = ("faithful", "faithful, verbose", "faithful, yes or no")
    of = wrong({one: TRUSTED[one] for one in few}, "do not trust", lab, 120)
    evader = "evades what it does not follow, truth .525"
    of |= wrong({one: DISTRUSTED[one] for one in ("shortcut", "mixed .7", "memorising", evader)}, "trust", lab, 120)
    assert max(of.values()) <= 0.03, of


@pytest.mark.slow
def test_a_model_that_refuses_what_it_does_not_follow_is_never_trusted() -> None:
    for name in ("refuses what it does not follow, truth .525", "refuses what it does not follow, truth .2"):
        said = conclusions(DISTRUSTED[name], SOUND, 120)
        assert said.count("trust") == 0
        assert said.count("cannot be tested") > 0.5 * STUDIES


@pytest.mark.slow
@pytest.mark.parametrize("reader", [(0.85, 0.1), (0.7, 0.15)])
def test_a_reader_keeps_failures_that_no_sham_edit_resembles_from_convicting(reader: tuple[float, float]) -> None:
    lab = Lab(failed=0.5, rejects=0.2, rejects_sham=0.95)
    honest = {name: TRUSTED[name] for name in ("faithful", "faithful, yes or no")}
    assert min(wrong(honest, "do not trust", lab, 120).values()) > 0.3
    lab = replace(lab, reader=reader)
    assert max(wrong(honest, "do not trust", lab, 120).values()) == 0
    assert conclusions(DISTRUSTED["memorising"], lab, 120).count("do not trust") > 0.8 * STUDIES
    assert conclusions(DISTRUSTED["shortcut"], replace(SOUND, reader=reader), 120).count("do not trust") == STUDIES
    assert conclusions(TRUSTED["faithful"], replace(SOUND, reader=reader), 120).count("trust") >= 0.7 * STUDIES
