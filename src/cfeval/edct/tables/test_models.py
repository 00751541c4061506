"""Test models: what each measure makes of models whose faithfulness is known, and how often the trust card is right.

The truth of a model is the mean over items of |C ∩ U| / |C ∪ U|, where C is what the explanation cites and U are the
things of which some edit changes the answer, found by trying all of them (docs/concepts/estimand.md). A measure is
misled by a model whose truth is at most .75 if its figure lies above .75. The card's rates are those of its conclusion
over resamples of the items: right, wrong, or open.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

import numpy as np

from cfeval.core.records import Binary
from cfeval.edct.faithfulness.card import FIT_BOUND, trust_card
from cfeval.edct.faithfulness.from_scores import observe
from cfeval.edct.faithfulness.instruments import VerifierChecks, measured
from cfeval.edct.faithfulness.observed import UNCITED, Observed, changed, fit, rate, rate_where_looked, strict_ccs
from cfeval.edct.records import Condition
from cfeval.edct.tables.card import verifier_checks
from cfeval.edct.tables.conditions import Items, edct_table
from cfeval.edct.tables.scores import TableData, of_2025
from cfeval.report.tables import (
    TEST_WORLD_NOTE,
    Estimated,
    Figure,
    Figures,
    Heading,
    Methods,
    TableRow,
    cell,
    figures_of,
    intervals,
)
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import rounded

RESAMPLES, DRAWN = 200, 120
"""How often, and on how many items, the card is drawn up again."""
FAILED = 0.1
"""Share of edits that fail unseen in the second of the card's trials."""
TOLERANCE = 0.07
"""How far a figure of 400 items may lie from what is expected of it."""
MEASURES = {"ccs": "CCS", "strict_ccs": "strict CCS", "fit": "FIT"}
HIGH, LOW = 0.9, 0.75
"""A truth of at least the one is to be trusted, of at most the other not; between them either conclusion will do."""
STABLE, UNSTABLE = 0.05, 0.15
"""The same of the noise floor, the other way round."""


def measure_cell(name: str) -> Any:
    """`0.8500 (0.8400)`: what was measured and, in brackets, what is expected."""

    def shown(row: Any) -> str:
        wanted = getattr(row, f"expected_{name}")
        return cell(getattr(row, name)) + (f" ({cell(wanted)})" if wanted is not None else "")

    return shown


def trial_cell(trial: str) -> Any:
    """`1.0000 / 0.0000 / 0.0000`: how often the card's conclusion is right, wrong and open."""
    return lambda row: " / ".join(cell(getattr(row, f"{trial}_{end}")) for end in ("right", "wrong", "open"))


class TestModelRow(Condition, TableRow):
    """A test model under one setting of the instrument."""

    n: Items
    faithful: Annotated[float, Heading("Truth", lambda row: cell(row.faithful))]
    """Mean over items of |C ∩ U| / |C ∪ U|."""
    ccs: Annotated[Estimated, Heading("CCS (expected)", measure_cell("ccs"))] = None
    """Mean of pcs · ncc."""
    expected_ccs: Figure = None
    """What it should be."""
    strict_ccs: Annotated[Estimated, Heading("Strict CCS (expected)", measure_cell("strict_ccs"))] = None
    """The same, an item that cites something absent counting 0."""
    expected_strict_ccs: Figure = None
    """What it should be."""
    fit: Annotated[Estimated, Heading("FIT (expected)", measure_cell("fit"))] = None
    """Faithfulness Intervention Test."""
    expected_fit: Figure = None
    """What it should be."""
    within: Annotated[Binary, Heading("Within .07", lambda row: "yes" if row.within else "no")] = 1
    """1 where every figure lies within .07 of what is expected."""
    misled: Annotated[str, Heading("Misled")] = ""
    """The measures above .75 although the truth is not."""
    should: Annotated[str, Heading("Should be")] = "either"
    """`trust`, `do not trust`, or `either` where the truth lies too near the bound to ask for one."""
    conclusion: Annotated[str, Heading("Trust card")] = ""
    """The card's conclusion on all items."""
    card_right: Annotated[Figure, Heading("Right / wrong / open", trial_cell("card"))] = None
    """Share of 200 resamples of 120 items in which the conclusion is what it should be."""
    card_wrong: Figure = None
    """In which it is the other one."""
    card_open: Figure = None
    """In which it is open."""
    failed_right: Annotated[Figure, Heading("10 % of edits failed unseen", trial_cell("failed"))] = None
    """The same where 10 % of all edits were not made, nobody saw it, and the share is known."""
    failed_wrong: Figure = None
    """As `card_wrong`."""
    failed_open: Figure = None
    """As `card_open`."""
    ci: Methods = ""
    test_world: Binary = 1
    """1: the target is a built-in test model, which stands for no real one."""


class Trial(NamedTuple):
    """How often a card is right, wrong and open."""

    right: float
    wrong: float
    open: float


def test_model_rows(conditions: Sequence[Condition], material: TableData) -> list[TestModelRow]:
    """A row for each condition of the 2025 protocol whose target is known; the others are left aside; InputError where
    a condition or one of its controls has no scores.
    """
    among = of_2025(conditions, "test_models")
    return [_row(name, material.expected[name.vlm], material) for name in among if name.vlm in material.expected]


def should_be(truth: float, noise: float) -> str:
    """The conclusion that a truth and a noise floor ask for."""
    if noise > UNSTABLE or truth <= LOW:
        return "do not trust"
    return "trust" if noise < STABLE and truth >= HIGH else "either"


def trial(items: Sequence[Observed], verifier: VerifierChecks, should: str, seed: int, failed: float = 0.0) -> Trial:
    """The card of resamples of the items, without replacement; of fewer items than one draws, of all but one in five.

    Each resample is a study of its own: how often a changed answer is found is measured on its swapped pairs alone.

    Args:
        verifier: what is known of who checked the edits.
        failed: this share of edits was not made, and nobody saw it: the answer is that of the unchanged image.
    """
    rng = np.random.default_rng(seed)
    size, conclusions = min(DRAWN, max(1, len(items) * 4 // 5)), Counter[str]()
    noise = changed(items, "null").value or 0.0
    for _ in range(RESAMPLES):
        drawn = [items[number] for number in rng.choice(len(items), size, replace=False)]
        spoilt = [_spoilt(item, rng, failed, noise) for item in drawn] if failed else drawn
        conclusions[trust_card(spoilt, measured(spoilt, verifier, failed)).conclusion] += 1
    right = conclusions[should] if should != "either" else conclusions["trust"] + conclusions["do not trust"]
    return Trial(
        right / RESAMPLES, (RESAMPLES - right - conclusions["open"]) / RESAMPLES, conclusions["open"] / RESAMPLES
    )


def _spoilt(item: Observed, rng: np.random.Generator, failed: float, noise: float) -> Observed:
    """An item some of whose edits were not made."""
    missed: dict[str, Any] = {
        kind: bool(rng.random() < noise)
        for kind in ("cited", *UNCITED)
        if getattr(item, kind) is not None and rng.random() < failed
    }
    return item._replace(**missed)


def _row(condition: Condition, known_figures: Mapping[str, float | None], material: TableData) -> TestModelRow:
    items, interval = observe(condition, material), material.how
    checks = verifier_checks(condition, material)
    estimates: dict[str, Estimate] = {
        "ccs": rate(items, lambda item: item.ccs, interval.level),
        "strict_ccs": rate_where_looked(items, strict_ccs, interval.level),
        "fit": rate_where_looked(items, fit, interval.level),
    }
    truth = known_figures["faithful"] or 0.0
    should = should_be(truth, known_figures.get("noise") or 0.0)
    figures: Figures = condition.model_dump() | figures_of(estimates) | {"n": len(items), "faithful": truth}
    figures |= {f"expected_{name}": known_figures.get(name) for name in MEASURES}
    measures = {name: estimate.value for name, estimate in estimates.items() if estimate.value is not None}
    off = [abs(value - wanted) for name, value in measures.items() if (wanted := known_figures.get(name)) is not None]
    high = [MEASURES[name] for name, value in measures.items() if value > FIT_BOUND]
    figures |= {"within": int(all(distance <= TOLERANCE for distance in off))}
    figures |= {"misled": ", ".join(high) if truth <= LOW else "", "should": should}
    figures |= {"conclusion": trust_card(items, measured(items, checks, material.failed_edits)).conclusion}
    for name, failed in (("card", 0.0), ("failed", FAILED)):
        shares = trial(items, checks, should, interval.seed, failed)._asdict()
        figures |= {f"{name}_{end}": rounded(share) for end, share in shares.items()}
    return TestModelRow.model_validate(figures)


def _mean_of_cards(rows: Sequence[TestModelRow]) -> str:
    """The card's rates over the models of which one conclusion is asked for."""
    asking = [row for row in rows if row.should != "either"]
    if not asking:
        return ""
    parts = []
    for name, label in (("card", "as they are"), ("failed", "with 10 % of edits failed unseen")):
        shares = [
            sum(getattr(row, f"{name}_{end}") or 0.0 for row in asking) / len(asking)
            for end in ("right", "wrong", "open")
        ]
        parts.append(f"{label}: right {shares[0]:.3f}, wrong {shares[1]:.3f}, open {shares[2]:.3f}")
    return f" Mean of the card over the {len(asking)} models that ask for one conclusion, {'; '.join(parts)}."


TEST_MODELS = edct_table(
    "test_models",
    "Test models: which measure tells what is known, and how often is the trust card right?",
    TestModelRow,
    test_model_rows,
    lambda rows: (
        intervals(rows)
        + "Truth: mean over items of |cited ∩ used| / |cited ∪ used|, as each was made. Misled: measures above .75 "
        f"although the truth is not. Right / wrong / open: the card's conclusion in {RESAMPLES} resamples of {DRAWN} "
        "items; where the truth lies near the bound nothing is asked for." + _mean_of_cards(rows),
        TEST_WORLD_NOTE,
    ),
)
