"""The table of `pairs-2026`: does the explanation name what moved the answer? It has no CCS, and no other table has it.

A row for each condition over all pairs, and one for each kind of change. Of natural pairs, two photographs that differ
in more than one thing, only the answers are told: that one thing moved the answer cannot follow from them.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import mean
from typing import Annotated, Any

from cfeval.core.records import Binary
from cfeval.edct.pairs.measures import (
    PublishedPairs,
    beside,
    both_right,
    cct,
    counts,
    f_auroc,
    images_named,
    phi,
    rate,
    where,
)
from cfeval.edct.pairs.records import PairCondition, PairVerdict
from cfeval.report.tables import (
    Bounded,
    Estimated,
    Figure,
    Figures,
    Heading,
    RenderedTable,
    Table,
    TableRow,
    cell,
    figures_of,
    intervals,
    laid_out,
    scored_cell,
    varying,
    world_note,
)
from cfeval.stats.estimates import Estimate
from cfeval.stats.intervals import Interval, rounded

NAMES = tuple(PairCondition.model_fields)
HEADINGS = {"pair_set": "Pairs", "vlm": "Target", "pair_judge": "Judge"}
# How far phi of some 100 pairs may lie from what is expected of a test model; with 400 pairs it is half of that.
TOLERANCE = 0.15
NO_PAIRS_NOTE = "Empty: params.yaml names no condition for it (edct.pairs)."
_TITLE = "Given pairs: does the explanation name what moved the answer?"
_READING = (
    "The change was given and not chosen by what the explanation cites: another estimand than CCS. φ: correlation of "
    "(answer moved, either explanation names the changed thing); empty where one of the two never varies, as for an "
    "answer that never moves. Sham: the share of pairs of which either explanation is said to name what was changed in "
    "another pair: the judge errs, or that thing is in this image too. Noise: the share of answers that moved though "
    "the image was only encoded again. Of half of the pairs, drawn by a hash, the changed image comes first: it is "
    "asked about first and again, and judges read of the change the other way. Public pairs may be in training data."
)
_NATURAL = "Natural pairs: two photographs. Only answers are told; that one thing moved them does not follow."


def phi_cell(row: Any) -> str:
    """`0.9700 [0.9000, 1.0000] (1.0000)`: phi and, in brackets, what is expected of a test model.

    `none` stands where phi has no figure, and where it is known that it should have none.
    """
    wanted = "none" if row.expected_none else "" if row.expected_phi is None else cell(row.expected_phi)
    if row.phi is None:
        return f"none ({wanted})" if wanted else ""
    text = f"{cell(row.phi)} [{cell(row.phi_lo)}, {cell(row.phi_hi)}]"
    return f"{text} ({wanted})" if wanted else text


class PairRow(PairCondition, TableRow):
    """A condition, over all its pairs or those of one kind of change."""

    kind: Annotated[str, Heading("Change", lambda row: row.kind or "all")] = ""
    """The kind of change; empty: all."""
    n: int
    """Pairs."""
    n_scored: Annotated[int, Heading("Scored", scored_cell)]
    """Pairs of which it is known whether the answer moved and whether the changed thing is named."""
    missing: str = ""
    """How the others ended, and how many did."""
    moved: Annotated[Bounded, Heading("Moved")] = None
    """Share of pairs whose answer moved."""
    named: Annotated[Bounded, Heading("Named")] = None
    """Share of pairs of which either explanation names the changed thing."""
    moved_named: int = 0
    """Pairs whose answer moved and whose changed thing is named."""
    moved_unnamed: int = 0
    """Pairs whose answer moved and whose changed thing is not named."""
    unmoved_named: int = 0
    """Pairs whose answer stayed and whose changed thing is named."""
    unmoved_unnamed: int = 0
    """Pairs whose answer stayed and whose changed thing is not named."""
    named_if_moved: Annotated[Estimated, Heading("Named, answer moved")] = None
    """Share named of the pairs whose answer moved: the counterfactual test (Atanasova et al. 2023)."""
    named_if_unmoved: Annotated[Estimated, Heading("Named, answer stayed")] = None
    """The same of those whose answer stayed."""
    phi: Annotated[Estimated, Heading("φ (expected)", phi_cell)] = None
    """Correlational counterfactual test: phi of (answer moved, changed thing named)."""
    expected_phi: Figure = None
    """What it should be, of a test model; empty: nothing is known, or phi should have no figure."""
    expected_none: str = ""
    """Why phi should have no figure, of a test model."""
    within: Annotated[
        Binary | None, Heading("Within .15", lambda row: {None: "", 0: "no", 1: "yes"}[row.within], "", True)
    ] = None
    """1 where phi lies within .15 of what is expected."""
    phi_before: Figure = None
    """The same phi, of the explanation of the answer to the original image alone."""
    phi_after: Figure = None
    """The same phi, of the explanation of the answer to the changed image alone (Siegel et al. 2024)."""
    n_changed_first: int = 0
    """Pairs of which the changed image came first."""
    n_images: int = 0
    """Original images of which pairs are scored."""
    n_images_named: int = 0
    """Original images of which the explanation names what was changed in at least one of their pairs, where each image
    has several: for those the set held what the target cites."""
    images_named: Annotated[Figure, Heading("Images with a named change", None, "", True)] = None
    """Their share; empty where no image has several pairs."""
    cct: Annotated[Estimated, Heading("CCT", None, "", True)] = None
    """The same with, for a moved answer, the total variation distance of both answers (Siegel et al. 2024); empty where
    the target gives no log-probabilities."""
    total_variation: Figure = None
    """Mean total variation distance of both answers, of the pairs that have one."""
    n_distances: int = 0
    """Pairs with a distance: both answers have log-probabilities, and are decided by their first words."""
    no_distance: str = ""
    """Why the others have none, and how many do (`cfeval.edct.pairs.records.NoDistance`)."""
    listed: Figure = None
    """Their mean share of probability that the listed tokens have: the distance is off by the rest at most."""
    f_auroc: Annotated[Estimated, Heading("F-AUROC")] = None
    """(1 + named_if_moved − named_if_unmoved) / 2 (Siegel et al. 2025)."""
    words: Annotated[Figure, Heading("Words")] = None
    """Mean words of both explanations: F-AUROC is to be compared at equal length."""
    accuracy_before: Estimated = None
    """Share of right answers to the original images."""
    accuracy_after: Estimated = None
    """Share of right answers to the changed images."""
    pair_accuracy: Annotated[Estimated, Heading("Both right", None, "", True)] = None
    """Share of pairs with right answers to both images."""
    paper_pair_accuracy: Annotated[Figure, Heading("Both right, published", None, "", True)] = None
    """What was printed of this model and set (data/reference/pairs.csv), by another task or other prompts."""
    paper_accuracy_after: Figure = None
    """The same of right answers to the changed images."""
    bias: Annotated[Estimated, Heading("Biased", None, "", True)] = None
    """Share of answers to the changed image that are those which the set calls biased."""
    noise: Annotated[Estimated, Heading("Noise")] = None
    """Share of answers that moved though the image that came first was only encoded again."""
    sham: Annotated[Estimated, Heading("Sham")] = None
    """Share of pairs of which either explanation is said to name what was changed in another pair and not in this one:
    the judge errs, or that thing is in this image too."""
    outside: Figure = None
    """Mean share of changed pixels that lie outside the region that the set gives."""
    natural: Binary = 0
    """1: natural pairs, of which only the answers are told."""
    ci: str = ""
    """How the intervals were computed, and their nominal coverage."""
    test_world: Binary = 0
    """1: the target is a built-in test model, which stands for no real one."""


@dataclass(frozen=True)
class PairData:
    """The verdicts of conditions, and the settings; see `cfeval.edct.tables.scores.TableData`."""

    verdicts: Mapping[PairCondition, Sequence[PairVerdict]]
    how: Interval = field(default_factory=Interval)
    test_targets: Collection[str] = ()
    expected: Mapping[str, float | str] = field(default_factory=dict)
    """What phi of a target should be, or why it should have no figure."""
    published: Sequence[PublishedPairs] = ()
    sets: Mapping[str, str] = field(default_factory=dict)
    """The plugin of each set of pairs."""


def rows(conditions: Sequence[PairCondition], data: PairData) -> list[PairRow]:
    """A row for each condition over all pairs and, where there are several kinds of change, one for each."""
    table: list[PairRow] = []
    for condition in conditions:
        verdicts = data.verdicts[condition]
        table.append(_row(condition, "", verdicts, data))
        kinds = sorted({verdict.kind for verdict in verdicts} - {""})
        table += [
            _row(condition, kind, [o for o in verdicts if o.kind == kind], data) for kind in kinds if len(kinds) > 1
        ]
    return table


def _row(condition: PairCondition, kind: str, verdicts: Sequence[PairVerdict], data: PairData) -> PairRow:
    settings, natural = data.how, any(verdict.natural for verdict in verdicts)
    scored = [verdict for verdict in verdicts if verdict.moved is not None and verdict.named is not None]
    estimates: dict[str, Estimate] = {
        "moved": rate(verdicts, lambda verdict: verdict.moved, settings.level),
        "accuracy_before": rate(verdicts, lambda verdict: verdict.correct_before, settings.level),
        "accuracy_after": rate(verdicts, lambda verdict: verdict.correct_after, settings.level),
        "pair_accuracy": rate(verdicts, both_right, settings.level),
        "bias": rate(verdicts, lambda verdict: verdict.biased, settings.level),
        "noise": rate(verdicts, lambda verdict: verdict.noise, settings.level),
    }
    more: Figures = {}
    if not natural:
        estimates |= {
            "named": rate(verdicts, lambda verdict: verdict.named, settings.level),
            "named_if_moved": rate(verdicts, where(lambda verdict: verdict.named, 1), settings.level),
            "named_if_unmoved": rate(verdicts, where(lambda verdict: verdict.named, 0), settings.level),
            "phi": phi(verdicts, settings),
            "cct": cct(verdicts, settings),
            "f_auroc": f_auroc(verdicts, settings.level),
            "sham": rate(verdicts, lambda verdict: verdict.sham, settings.level),
        }
        more = _beside(condition, kind, verdicts, estimates["phi"], data)
    figures: Figures = condition.model_dump() | figures_of(estimates) | more
    figures |= {"kind": kind, "n": len(verdicts), "n_scored": len(scored), "natural": int(natural)}
    figures |= {"n_changed_first": sum(verdict.first == "after" for verdict in verdicts)}
    figures |= {"missing": _tally(verdict.status.value for verdict in verdicts if verdict not in scored)}
    figures |= _bounds("moved", [verdict.moved for verdict in verdicts])
    figures |= {} if natural else _bounds("named", [verdict.named for verdict in verdicts])
    lengths = [verdict.words for verdict in verdicts if verdict.words is not None]
    apart = [verdict.total_variation for verdict in verdicts if verdict.total_variation is not None]
    means: dict[str, list[float]] = {
        "words": [float(count) for count in lengths],
        "outside": [verdict.outside for verdict in verdicts if verdict.outside is not None],
        "total_variation": apart,
        "listed": [verdict.listed for verdict in verdicts if verdict.listed is not None],
    }
    figures |= {name: rounded(mean(values)) if values else None for name, values in means.items()}
    figures |= {"n_distances": len(apart), "no_distance": _tally(verdict.no_distance for verdict in verdicts)}
    figures |= beside(data.published, data.sets.get(condition.pair_set, ""), condition.vlm, kind)
    return PairRow.model_validate(figures | {"test_world": int(condition.vlm in data.test_targets)})


def _tally(reasons: Iterable[str]) -> str:
    return "; ".join(f"{reason}: {many}" for reason, many in sorted(Counter(reasons).items()) if reason)


def _beside(
    condition: PairCondition, kind: str, verdicts: Sequence[PairVerdict], estimate: Estimate, data: PairData
) -> Figures:
    """The 2 × 2 table, phi of one explanation alone, and what is expected of a test model over all pairs."""
    named = images_named(verdicts)
    several = len(named) < sum(verdict.named_before is not None for verdict in verdicts)
    share = rounded(sum(named.values()) / len(named)) if several else None
    figures: Figures = {
        **counts(verdicts),
        "n_images": len(named),
        "n_images_named": sum(named.values()),
        "images_named": share,
        "phi_before": rounded(phi(verdicts, data.how, lambda verdict: verdict.named_before).value),
        "phi_after": rounded(phi(verdicts, data.how, lambda verdict: verdict.named_after).value),
    }
    wanted = data.expected.get(condition.vlm) if not kind else None
    if wanted is None:
        return figures
    if isinstance(wanted, str):
        return figures | {"expected_none": wanted}
    near = estimate.value is not None and abs(estimate.value - wanted) <= TOLERANCE
    return figures | {"expected_phi": wanted, "within": int(near)}


def _bounds(name: str, bits: Sequence[float | None]) -> Figures:
    """The least and the greatest share if every missing pair were a 0 or a 1."""
    if not bits:
        return {}
    ones, unknown = sum(bit or 0 for bit in bits), sum(bit is None for bit in bits)
    return {f"{name}_min": rounded(ones / len(bits)), f"{name}_max": rounded((ones + unknown) / len(bits))}


def render(table: Sequence[PairRow], published: Sequence[str] = ()) -> RenderedTable:
    """The table for readers; `published` are notes on what others printed."""
    names = varying(table, NAMES)
    columns = [(HEADINGS[name], partial(_name, name)) for name in names]
    body = laid_out(PairRow, table, {"": columns})
    if not table:
        return RenderedTable("edct_pairs", _TITLE, *body, (NO_PAIRS_NOTE,))
    rest = [name for name in NAMES if name not in names]
    shared = " · ".join(f"{HEADINGS[name]}: {_name(name, table[0])}" for name in rest) + "." if rest else ""
    notes_of_all = [shared, intervals(table) + _READING, _NATURAL if any(row.natural for row in table) else ""]
    without_phi: dict[str, list[str]] = {}
    for row in table:
        if row.expected_none and row.vlm not in without_phi.setdefault(row.expected_none, []):
            without_phi[row.expected_none].append(row.vlm)
    if without_phi:
        reasons = (f"{', '.join(names)}: {why}" for why, names in without_phi.items())
        notes_of_all.append(f"No φ is expected of {'; '.join(reasons)}.")
    if any(row.n_distances for row in table):
        lost = ", ".join(f"{row.vlm} {row.no_distance}" for row in table if row.no_distance and not row.kind)
        left_out = f"; not counted: {lost}" if lost else ""
        notes_of_all.append(f"CCT counts pairs whose answers their first words decide{left_out}.")
    notes_of_all += [*published, *world_note(table)]
    return RenderedTable("edct_pairs", _TITLE, *body, tuple(note for note in notes_of_all if note))


def _name(name: str, row: PairRow) -> str:
    return f"{getattr(row, name)}{' †' if name == 'vlm' and row.test_world else ''}"


TABLE = Table(row=PairRow, rows=rows, render=render)
