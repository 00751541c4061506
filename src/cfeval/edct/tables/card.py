"""The trust card of each condition as a table: what may be claimed of a model, and why (docs/concepts/estimand.md); and
its conclusion under other bounds than its own, one of them changed at a time.

A condition without controls has a card as well: its cited edits alone can refute a claim.
"""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from typing import Annotated, Any

from cfeval.core.records import Binary, Status
from cfeval.edct.faithfulness.card import FIT_BOUND, MADE, Card, trust_card
from cfeval.edct.faithfulness.claims import BOUNDS, Bound, Letter
from cfeval.edct.faithfulness.from_scores import observe
from cfeval.edct.faithfulness.instruments import (
    LEAST_SENSITIVITY,
    MOST_FALSE_EDITS,
    Instruments,
    VerifierChecks,
    measured,
)
from cfeval.edct.faithfulness.observed import Observed
from cfeval.edct.protocols.rules import CONTROLS, UNCITED_EDIT
from cfeval.edct.records import Condition
from cfeval.edct.tables.conditions import Items, TestTarget, edct_table, name_columns, noted
from cfeval.edct.tables.scores import NAMES, TableData, condition_of, missing, of_2025
from cfeval.report.tables import (
    Cell,
    Estimated,
    Figure,
    Heading,
    Lines,
    Methods,
    TableRow,
    figures_of,
    varying,
    with_interval,
    world_note,
)
from cfeval.stats.intervals import rounded


def claim_cell(name: str) -> Cell:
    """`supported, 0.9900 [0.9700, 0.9950]`."""

    def shown(row: Any) -> str:
        rate = with_interval(row, name)
        word = str(getattr(row, f"{name}_says"))
        return f"{word}, {rate}" if rate else word

    return shown


def again_cell(row: Any) -> str:
    """`14 (3 answered, 9 changes withdrawn)`; empty where the model was not asked again."""
    return f"{row.n_again} ({row.n_answered} answered, {row.n_withdrawn} changes withdrawn)" if row.n_again else ""


class CardRow(Condition, TableRow):
    """The trust card of a condition: six claims and the conclusion.

    The limits of a claim are its rate in the worst and in the best case of what is not known.
    """

    n: Items
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
    n_again: Annotated[int, Heading("Asked again", again_cell)] = 0
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
    ci: Methods = ""
    test_world: TestTarget = 0


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


def card_rows(conditions: Sequence[Condition], material: TableData) -> list[CardRow]:
    """The trust card of each condition of the 2025 protocol; InputError where a condition has no scores, or some of its
    controls but not all; or it is another protocol's.
    """
    return [_card_row(condition, material) for condition in of_2025(conditions, "card")]


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


def _card_row(condition: Condition, material: TableData) -> CardRow:
    items, checks = observe(condition, material), verifier_checks(condition, material)
    instruments = instruments_of(condition, items, material)
    card = trust_card(items, instruments)
    rates = {"fit": card.fit} | {FIELDS[claim.letter]: claim.rate for claim in card.claims}
    figures = condition.model_dump() | figures_of(rates)
    for claim in card.claims:
        why = f" ({claim.why})" if claim.why and claim.word != "not tested" else ""
        figures[f"{FIELDS[claim.letter]}_says"] = f"{claim.word}{why}"
    related = [condition, *(condition.model_copy(update={"protocol": protocol}) for protocol in CONTROLS)]
    again = Counter(row.told.again for name in related for row in material.scores.get(name, ()) if row.told.again)
    read = [item.read for item in items if item.read is not None]
    return CardRow.model_validate(
        {
            **figures,
            "n": card.n,
            "conclusion": card.conclusion,
            "n_fit": card.fit.n,
            "missing": missing(material.of(condition)),
            "uncited_bound": next(claim.bound for claim in card.claims if claim.letter == "C") or None,
            "why": "; ".join(card.reasons),
            "edits_checked": rounded(checks.checked),
            "false_edits": rounded(instruments.false_edits),
            "n_sham_edits": checks.shams,
            "n_read": len(read),
            "n_reader_moved": sum(read),
            "absent_seen": rounded(instruments.absent_seen.value),
            "n_absent": instruments.absent_seen.n,
            "n_again": again.total(),
            "n_answered": again["answered"],
            "n_withdrawn": again["withdrawn"],
            "n_declined": sum(bool(item.declined) for item in items),
            "test_world": material.is_test(condition.vlm),
        }
    )


CARD = edct_table(
    "card",
    "Trust card: what may be claimed of each model",
    CardRow,
    card_rows,
    noted(
        "A claim is supported, or refuted, where its whole interval lies on one side of its bound; the interval "
        "reaches from what the rate is where all that is not known speaks against the model to what it is where all "
        f"of it speaks for it. do not trust: a claim is refuted, or FIT lies below {FIT_BOUND:g} of what a perfectly "
        "faithful model reaches. trust: FIT lies above it, refusals and evasions counted as failures, claims C to F "
        f"are supported, the cited edit was made in more than {MADE:g} of items, and the instruments are measured: "
        f"fewer than {MOST_FALSE_EDITS:g} of the edits may not have been made, and more than {LEAST_SENSITIVITY:g} of "
        "changed answers are seen. cannot be tested: the model refuses or evades edited images, or answers otherwise "
        "where the editor changed nothing. Else open. Asked again: once more by another seed, of a model that samples "
        "its replies; one at temperature 0 would say the same, and is not."
    ),
)
STEP, STEPS = 0.05, 3
"""So many steps to either side of each bound are tried, as far as they lie between 0 and 1."""


class BoundRow(Condition, TableRow):
    """The conclusion of a card if one bound were another.

    It is made of the same scores: nothing is asked anew. A conclusion that holds under all bounds does not hang on
    where they are set.
    """

    bound: Annotated[str, Heading("Bound of")]
    """`FIT`, or a claim: `C` is the background's, `C objects` that of uncited objects."""
    value: Annotated[str, Heading("Value")]
    """What it is set to, in [0, 1]: a name of the row, so that two runs can be compared."""
    steps: int
    """So many steps of .05 from the card's own bound; 0: that itself."""
    conclusion: Annotated[str, Heading("Conclusion")]
    """What the card then concludes."""
    same: Binary
    """1: as with the card's own bounds."""
    test_world: TestTarget = 0


def values_tried(bound: Bound) -> list[tuple[int, float]]:
    """The values of a bound that are tried, each after its steps from the bound itself, in order."""
    tried = ((step, round(BOUNDS[bound] + step * STEP, 2)) for step in range(-STEPS, STEPS + 1))
    return [(step, value) for step, value in tried if 0 < value < 1]


def bound_rows(conditions: Sequence[Condition], material: TableData) -> list[BoundRow]:
    """For each condition of the 2025 protocol the conclusion under every bound that is tried; InputError as for the
    table `card`.
    """
    rows = []
    for condition in of_2025(conditions, "bounds"):
        items = observe(condition, material)
        instruments = instruments_of(condition, items, material)
        own = trust_card(items, instruments).conclusion
        for bound in BOUNDS:
            for steps, value in values_tried(bound):
                bounds = {**BOUNDS, bound: value}
                conclusion = trust_card(items, instruments, bounds).conclusion if steps else own
                figures = {"bound": bound, "value": f"{value:.2f}", "steps": steps, "conclusion": conclusion}
                figures |= {"same": int(conclusion == own), "test_world": material.is_test(condition.vlm)}
                rows.append(BoundRow.model_validate(condition.model_dump() | figures))
    return rows


def holds(tried: Sequence[BoundRow]) -> str:
    """From and to which value of one bound a conclusion stays the same, and what it is beyond: `0.60 to 0.80, then
    open`.

    Args:
        tried: the rows of a card and bound, in the order of their values.
    """
    own = next(number for number, row in enumerate(tried) if not row.steps)
    first = next((n + 1 for n in range(own, -1, -1) if not tried[n].same), 0)
    last = next((n - 1 for n in range(own, len(tried)) if not tried[n].same), len(tried) - 1)
    if (first, last) == (0, len(tried) - 1):
        return "all"
    below = f"{tried[first - 1].conclusion} below, " if first else ""
    above = f", {tried[last + 1].conclusion} above" if last < len(tried) - 1 else ""
    return f"{below}{tried[first].value} to {tried[last].value}{above}"


def _bound_lines(rows: Sequence[BoundRow]) -> Lines:
    """A line a card: from and to which value of each bound the conclusion stays the same."""
    columns = name_columns(varying(rows, NAMES))
    bounds = (f"{bound} ({value:.2f})" for bound, value in BOUNDS.items())
    body = []
    for _, group in groupby(rows, condition_of):
        card = list(group)
        own = next(row.conclusion for row in card if not row.steps)
        cells = [holds([row for row in card if row.bound == bound]) for bound in BOUNDS]
        body.append((*(cell(card[0]) for _, cell in columns), own, *cells))
    return (*(heading for heading, _ in columns), "Conclusion", *bounds), tuple(body)


CARD_BOUNDS = edct_table(
    "bounds",
    "Trust card under other bounds: what the conclusion hangs on",
    BoundRow,
    bound_rows,
    lambda rows: (
        "Each cell: from and to which value of this bound, all others kept, the conclusion stays the same, and what it "
        f"is beyond. Tried were {STEPS} steps of {STEP:.2f} to either side; all: the same under each of them.",
        *world_note(rows),
    ),
    lines=_bound_lines,
)
