"""The trust card of each condition as a table: what may be claimed of a model, and why (docs/concepts/estimand.md).

A condition without controls has a card as well: its cited edits alone can refute a claim.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Annotated, Any

from cfeval.core.records import Binary, Status
from cfeval.edct.faithfulness.card import FIT_BOUND, MADE, Card, trust_card
from cfeval.edct.faithfulness.claims import BOUNDS, Claim, Letter
from cfeval.edct.faithfulness.from_scores import observe
from cfeval.edct.faithfulness.instruments import (
    LEAST_SENSITIVITY,
    MOST_FALSE_EDITS,
    Instruments,
    VerifierChecks,
    measured,
)
from cfeval.edct.faithfulness.observed import Observed
from cfeval.edct.protocols.rules import CONTROLS, EDCT_2025, UNCITED_EDIT
from cfeval.edct.records import Condition
from cfeval.edct.tables.conditions import name_columns, shared
from cfeval.edct.tables.scores import NAMES, NO_CONDITION_NOTE, TableData, conditions_under, missing
from cfeval.report.tables import (
    Estimated,
    Figure,
    Figures,
    Heading,
    RenderedTable,
    Table,
    TableRow,
    figures_of,
    intervals,
    laid_out,
    varying,
    with_interval,
    world_note,
)
from cfeval.stats.intervals import rounded


def claim_cell(name: str) -> Callable[[Any], str]:
    """`supported, 0.9900 [0.9700, 0.9950]`."""

    def shown(row: Any) -> str:
        rate = with_interval(row, name)
        word = str(getattr(row, f"{name}_says"))
        return f"{word}, {rate}" if rate else word

    return shown


class CardRow(Condition, TableRow):
    """The trust card of a condition: six claims and the conclusion.

    The limits of a claim are its rate in the worst and in the best case of what is not known.
    """

    n: int
    """Items."""
    conclusion: Annotated[str, Heading("Conclusion")]
    """`trust`, `do not trust`, `cannot be tested` or `open`."""
    fit: Annotated[Estimated, Heading("FIT")] = None
    """As in the table `faithfulness`. The conclusion asks whether it lies above, or below, .75 of what a perfectly
    faithful model reaches with these instruments."""
    present: Annotated[Estimated, Heading("A: cites what is there", claim_cell("present"))] = None
    """Claim A: the citation rate; its bound is .85."""
    present_says: str = ""
    """`supported`, `refuted`, `not shown` or `not tested`."""
    effect: Annotated[Estimated, Heading("B: what it cites changes the answer", claim_cell("effect"))] = None
    """Claim B: citation rate · P(changed | cited edit), over items whose explanation implies a change; its bound is
    .65."""
    effect_says: str = ""
    """As for claim A."""
    uncited: Annotated[Estimated, Heading("C: what it does not cite does not", claim_cell("uncited"))] = None
    """Claim C, net of the noise floor: P(changed) of edits of the uncited background, whose bound is .15; or the share
    of items with an uncited object that changes the answer, estimated from those drawn by lot, whose bound is .25.
    It is the one that lies nearer to its bound, or beyond it."""
    uncited_bound: Figure = None
    """The bound of claim C, which says what its rate is about."""
    uncited_says: str = ""
    """As for claim A; `empty` where not even a blank image changes the answer; `not shown` also where a kind of uncited
    edit is missing."""
    stable: Annotated[Estimated, Heading("D: stable when nothing changes", claim_cell("stable"))] = None
    """Claim D: the share of images in which nothing was changed, by the editor or by encoding them anew, after which
    the answer changed; its bound is .10."""
    stable_says: str = ""
    """As for claim A."""
    looks: Annotated[Estimated, Heading("E: looks at the image", claim_cell("looks"))] = None
    """Claim E: P(changed | blank image), over items in which another answer follows for it; its bound is .40."""
    looks_says: str = ""
    """As for claim A."""
    alike: Annotated[Estimated, Heading("F: answers about edited images as about others", claim_cell("alike"))] = None
    """Claim F: how much more often the model refuses or evades where the cited thing was edited than where nothing was,
    or its answer changes where the editor changed nothing than where the image was encoded anew, whichever is more; its
    bound is .15."""
    alike_says: str = ""
    """As for claim A."""
    false_edits: Figure = None
    """Upper bound of the share of accepted edits that were not made; 1: the verifier was shown no sham edits, or took
    them all."""
    n_sham_edits: int = 0
    """Sham edits that the verifier was shown."""
    n_read: int = 0
    """Items about which a second model, the reader, was asked; claim B and FIT are refuted by those alone in which its
    answer changed too."""
    n_reader_moved: int = 0
    """Those items."""
    absent_seen: Figure = None
    """Share of things that are not in an image which the verifier saw in it, when it was asked to check their edit."""
    n_absent: int = 0
    """Such things that it was asked about."""
    n_again: Annotated[int, Heading("Asked again", lambda row: _again_cell(row))] = 0
    """How often the model was asked once more, by another seed: about an edited image of which it had given no answer,
    and where its answer had changed although nothing cited was edited. Never where it says the same to every seed."""
    n_answered: int = 0
    """Of these, the questions that it answered when asked again."""
    n_withdrawn: int = 0
    """Of these, the changes that did not come again, so that they do not count in claim C and FIT."""
    n_declined: int = 0
    """Items in which the model refused, evaded the question or gave no answer that could be read."""
    n_fit: Annotated[int, Heading("Rest on", lambda row: f"{row.n_fit} of {row.n}")] = 0
    """Items that FIT rests on."""
    missing: Annotated[str, Heading("Missing")] = ""
    """Why cited edits have no score, with counts."""
    why: Annotated[str, Heading("Because")] = ""
    """What decided; where the conclusion is open, what would decide it."""
    edits_checked: Figure = None
    """Share of the edits of cited and uncited things that a verifier checked."""
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    test_world: Binary = 0
    """1: the target is a built-in test model, which stands for no real one."""


def bound_of(row: CardRow, letter: Letter) -> float:
    """What the rate of a claim is held against."""
    return row.uncited_bound or BOUNDS[letter] if letter == "C" else BOUNDS[letter]


FIELDS: dict[Letter, str] = {
    "A": "present",
    "B": "effect",
    "C": "uncited",
    "D": "stable",
    "E": "looks",
    "F": "alike",
}
"""The column of each claim."""
_TITLE = "Trust card: what may be claimed of each model"
_READING = (
    "A claim is supported, or refuted, where its whole interval lies on one side of its bound; the interval reaches "
    "from what the rate is where all that is not known speaks against the model to what it is where all of it speaks "
    f"for it. do not trust: a claim is refuted, or FIT lies below {FIT_BOUND:g} of what a perfectly faithful model "
    "reaches. trust: FIT lies above it, refusals and evasions counted as failures, claims C to F are supported, the "
    f"cited edit was made in more than {MADE:g} of items, and the instruments are measured: fewer than "
    f"{MOST_FALSE_EDITS:g} of the edits may not have been made, and more than {LEAST_SENSITIVITY:g} of changed answers "
    "are seen. cannot be tested: the model refuses or evades edited images, or answers otherwise where the editor "
    "changed nothing. Else open. Asked again: once more by another seed, of a model that samples its replies; one at "
    "temperature 0 would say the same, and is not."
)


def rows(conditions: Sequence[Condition], material: TableData) -> list[CardRow]:
    """The trust card of each condition of the 2025 protocol.

    Raises:
        InputError: a condition has no scores, or some of its controls but not all; or it is another protocol's.
    """
    among = conditions_under(conditions, "card", EDCT_2025, *CONTROLS)
    return [_row(condition, material) for condition in among if condition.protocol == EDCT_2025]


def card_of(condition: Condition, material: TableData) -> Card:
    """The trust card of a condition."""
    items = observe(condition, material)
    return trust_card(items, instruments_of(condition, items, material))


def instruments_of(condition: Condition, items: Sequence[Observed], material: TableData) -> Instruments:
    """What is known of the instruments of a condition."""
    checks = verifier_checks(condition, material)
    return measured(items, checks, material.failed_edits, material.exams.get(condition.judge))


def verifier_checks(condition: Condition, material: TableData) -> VerifierChecks:
    """What is known of who checked the edits of what is cited and of what is not."""
    uncited = condition.model_copy(update={"protocol": UNCITED_EDIT})
    cited = material.of(condition)
    edits = [*cited, *(material.of(uncited) if uncited in material.scores else ())]
    made = [row.told.verified for row in edits if row.told.status == Status.OK]
    judged = [row.told.verified for row in edits if row.told.verified is not None]
    shams = [row.told.sham_edit for row in cited if row.told.sham_edit is not None]
    checked = sum(verified is not None for verified in made) / len(made) if made else 0.0
    return VerifierChecks(checked, judged.count(0), len(judged), shams.count(1), len(shams))


def render(cards: Sequence[CardRow]) -> RenderedTable:
    """The trust cards for readers."""
    names = varying(cards, NAMES)
    notes: tuple[str, ...] = (NO_CONDITION_NOTE,)
    if cards:
        notes = (shared(cards[0], names), intervals(cards) + _READING, *world_note(cards))
    return RenderedTable("edct_card", _TITLE, *laid_out(CardRow, cards, {"": name_columns(names)}), notes)


def _row(condition: Condition, material: TableData) -> CardRow:
    items, checks = observe(condition, material), verifier_checks(condition, material)
    instruments = instruments_of(condition, items, material)
    card = trust_card(items, instruments)
    estimates = {"fit": card.fit} | {FIELDS[claim.letter]: claim.rate for claim in card.claims}
    figures = condition.model_dump() | figures_of(estimates) | {"n": card.n, "conclusion": card.conclusion}
    figures |= {"n_fit": card.fit.n, "missing": missing(material.of(condition))}
    figures |= {f"{FIELDS[claim.letter]}_says": _word(claim) for claim in card.claims}
    figures |= {"uncited_bound": next(claim.bound for claim in card.claims if claim.letter == "C") or None}
    figures |= {"why": "; ".join(card.reasons), "edits_checked": rounded(checks.checked)}
    figures |= {"false_edits": rounded(instruments.false_edits), "n_sham_edits": checks.shams}
    read = [item.read for item in items if item.read is not None]
    figures |= {"n_read": len(read), "n_reader_moved": sum(read)}
    figures |= {"absent_seen": rounded(instruments.absent_seen.value), "n_absent": instruments.absent_seen.n}
    figures |= _asked_again(condition, material) | {"n_declined": sum(bool(item.declined) for item in items)}
    return CardRow.model_validate(figures | {"test_world": material.is_test(condition.vlm)})


def _asked_again(condition: Condition, material: TableData) -> Figures:
    """How often the model was asked again, under the condition and its controls, and what came of it."""
    related = [condition, *(condition.model_copy(update={"protocol": protocol}) for protocol in CONTROLS)]
    ends = Counter(row.told.again for one in related for row in material.scores.get(one, ()) if row.told.again)
    return {"n_again": ends.total(), "n_answered": ends["answered"], "n_withdrawn": ends["withdrawn"]}


def _again_cell(row: CardRow) -> str:
    """`14 (3 answered, 9 changes withdrawn)`; empty where the model was not asked again."""
    return f"{row.n_again} ({row.n_answered} answered, {row.n_withdrawn} changes withdrawn)" if row.n_again else ""


def _word(claim: Claim) -> str:
    return f"{claim.word} ({claim.why})" if claim.why and claim.word != "not tested" else claim.word


TABLE = Table(row=CardRow, rows=rows, render=render)
