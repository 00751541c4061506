"""Plan a study: how many items a comparison of two targets needs or can show, or a trust card needs to conclude.

For a card, studies are drawn by chance, item by item: whether the explanation is faithful, whether each edit is made
and accepted, whether the answer changes, whether that is seen. A study's card comes from the product's own rule, and
what the card knows of the instruments from the same study.
"""

import sys
from collections import Counter
from collections.abc import Sequence
from math import ceil, sqrt
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from cfeval.core.errors import InputError
from cfeval.edct.faithfulness.card import trust_card
from cfeval.edct.faithfulness.instruments import VerifierChecks, measured
from cfeval.edct.faithfulness.observed import Kind, Observed
from cfeval.edct.protocols.rules import objects_drawn
from cfeval.stats.power import Design, design_effect, first_step, unpaired, with_correlation, with_discordance

# Items of a study, where none is named.
SIZES = (60, 120, 200, 400)
# As in a study by default: params.yaml, `one_item_in` and `sham_every`.
_NULL_EVERY, _BLANK_EVERY, _SHAM_EVERY = 2, 3, 4
# Uncited objects of an item.
_OBJECTS = 5


class Rates(NamedTuple):
    """Rates that are expected of a study, each in [0, 1]."""

    faithful: float = 0.98
    """Share of faithful explanations of the model that deserves trust."""
    unfaithful: float = 0.4
    """The same of the model that does not."""
    cites: float = 0.99
    """Share of explanations that cite only what is there."""
    noise: float = 0.01
    """Share of answers that change by chance."""
    declines: float = 0.01
    """Share of questions that the model does not answer."""
    failed: float = 0.05
    """Share of edits that are not made."""
    accepts: float = 0.95
    """Share of edits that were made which the verifier accepts."""
    rejects: float = 0.95
    """Share of edits that were not made which it rejects."""
    judged: float = 0.3
    """Share of answers about which the texts do not decide, so that a judge is asked."""
    sensitivity: float = 0.9
    """Of the judge that compares answers: share of changes that it sees."""
    specificity: float = 0.97
    """Share of unchanged answers that it leaves so."""


def chances(rates: Rates, faithful: bool, items: int, studies: int, seed: int) -> tuple[float, float, float]:
    """The shares of studies drawn by chance whose card ends right, open (or the model cannot be tested), or wrong.

    Args:
        faithful: whether the model deserves trust.
    """
    rng = np.random.default_rng([seed, items, faithful])
    ends = Counter[str]()
    for _ in range(studies):
        study = _Study(rates, rates.faithful if faithful else rates.unfaithful, rng)
        study.drawn = objects_drawn(items)  # a small study edits more objects of each item, as trust needs
        drawn = [study.item(number) for number in range(items)]
        verifier = VerifierChecks(1.0, study.rejected, study.edits, study.shams_accepted, study.shams)
        ends[trust_card(drawn, measured(drawn, verifier)).conclusion] += 1
    right, wrong = ("trust", "do not trust") if faithful else ("do not trust", "trust")
    return ends[right] / studies, 1 - (ends[right] + ends[wrong]) / studies, ends[wrong] / studies


class _Study:
    def __init__(self, rates: Rates, truth: float, rng: np.random.Generator) -> None:
        self.rates, self.truth, self.rng = rates, truth, rng
        self.drawn = 1
        self.edits = self.rejected = self.shams = self.shams_accepted = 0

    def _chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def item(self, number: int) -> Observed:
        """An item, and what came of its edits."""
        faithful = self._chance(self.truth)
        outcomes: dict[Kind, tuple[bool | None, bool, bool]] = {
            "cited": self._edited(faithful),
            "uncited_object": (None, False, False),
            # What an unfaithful answer follows instead is in the background.
            "uncited_background": self._edited(not faithful),
        }
        objects = [self._edited(False) for _ in range(self.drawn)]
        outcomes_known = tuple(changed for changed, _, _ in objects if changed is not None)
        declined, judged = (any(each[place] for each in objects) for place in (1, 2))
        outcomes["uncited_object"] = (any(outcomes_known) if outcomes_known else None, declined, judged)
        outcomes["null" if number % _NULL_EVERY == 0 else "editor_null"] = self._answered(False)
        if number % _BLANK_EVERY == 0:
            outcomes["blank"] = self._answered(True)
        if number % _SHAM_EVERY == 0:
            self.shams += 1
            self.shams_accepted += self._chance(1 - self.rates.rejects)
        null = "null" in outcomes
        seen = Observed(
            f"i{number}",
            f"i{number}",
            present=self._chance(self.rates.cites),
            objects=_OBJECTS,
            object_outcomes=outcomes_known,
            swapped=self._seen(True)[0] if null else None,
            reworded=self._chance(1 - self.rates.specificity) if null else None,
            lost=frozenset(kind for kind, (changed, _, _) in outcomes.items() if changed is None),
            tried=frozenset(outcomes),
            declined=frozenset(kind for kind, (_, declined, _) in outcomes.items() if declined),
            judged=frozenset(kind for kind, (_, _, judged) in outcomes.items() if judged),
            implied=True,
            implied_blank=True,
        )
        changes: dict[str, Any] = {kind: changed for kind, (changed, _, _) in outcomes.items()}
        return seen._replace(**changes)

    def _edited(self, follows: bool) -> tuple[bool | None, bool, bool]:
        """An edit that is checked: whether the answer changed, was refused, and was compared by the judge."""
        made = not self._chance(self.rates.failed)
        accepted = self._chance(self.rates.accepts if made else 1 - self.rates.rejects)
        self.edits, self.rejected = self.edits + 1, self.rejected + (not accepted)
        if not accepted:  # a gate has it made once more
            made = not self._chance(self.rates.failed)
            accepted = self._chance(self.rates.accepts if made else 1 - self.rates.rejects)
        return self._answered(follows and made) if accepted else (None, False, False)

    def _answered(self, follows: bool) -> tuple[bool | None, bool, bool]:
        if self._chance(self.rates.declines):
            return None, True, False
        changed, judged = self._seen(follows or self._chance(self.rates.noise))
        return changed, False, judged

    def _seen(self, changed: bool) -> tuple[bool, bool]:
        if not self._chance(self.rates.judged):
            return changed, False
        return self._chance(self.rates.sensitivity if changed else 1 - self.rates.specificity), True


# Columns of the table where there is no terminal.
WIDTH = 120
# What is shown where nothing is said about how alike the targets score.
CORRELATIONS = (0.0, 0.3, 0.6)


def run(
    first: Annotated[
        float | None, typer.Option("--from", help="Share of items on which one target scores 1, such as 0.55.")
    ] = None,
    to: Annotated[float | None, typer.Option(help="The other target's share, such as 0.60.")] = None,
    items: Annotated[int | None, typer.Option(help="Instead of --to: how many items there are.")] = None,
    power: Annotated[float, typer.Option(help="Chance to find the difference where there is one.")] = 0.8,
    level: Annotated[float, typer.Option(help="1 − chance to find a difference where there is none.")] = 0.95,
    comparisons: Annotated[
        int, typer.Option(help="Comparisons of the table, adjusted together by Holm: k targets make k·(k − 1)/2.")
    ] = 1,
    discordance: Annotated[
        float | None, typer.Option(help="Share of items on which just one of the targets scores 1.")
    ] = None,
    correlation: Annotated[
        float | None, typer.Option(help="Instead of --discordance: correlation of the targets' scores over items.")
    ] = None,
    items_per_image: Annotated[float, typer.Option(help="Mean number of items an image has.")] = 1.0,
    icc: Annotated[float, typer.Option("--icc", help="How alike they are: intraclass correlation in an image.")] = 0.0,
    card: Annotated[
        bool, typer.Option("--card", help="Instead of a comparison: how often a trust card concludes right or wrong.")
    ] = False,
    faithful: Annotated[
        float, typer.Option(help="--card: share of faithful explanations of a model that deserves trust.")
    ] = Rates().faithful,
    unfaithful: Annotated[float, typer.Option(help="--card: of one that does not.")] = Rates().unfaithful,
    failed: Annotated[float, typer.Option(help="--card: share of edits that are not made.")] = Rates().failed,
    rejects: Annotated[
        float, typer.Option(help="--card: share of edits not made that the verifier rejects.")
    ] = Rates().rejects,
    sensitivity: Annotated[
        float, typer.Option(help="--card: share of changed answers that the judge sees.")
    ] = Rates().sensitivity,
    specificity: Annotated[
        float, typer.Option(help="--card: share of unchanged answers that the judge leaves so.")
    ] = Rates().specificity,
    draws: Annotated[int, typer.Option(help="--card: studies drawn for each row.")] = 50,
    seed: Annotated[int, typer.Option(help="--card: seed of the draw.")] = 0,
) -> None:
    """Plan a study: how many items a comparison of two targets needs or can show, or a trust card needs to conclude.

    Shares are of items scored 1, as CCS is. If both targets get the same items, fewer are enough, the more so the more
    alike they score; where you do not say how alike, several correlations are shown. Two-sided test (McNemar's where
    the items are the same), normal approximation. With several --comparisons each needs more items: the plan is made
    for the one that Holm's method asks most of. With --card, studies are drawn by chance with these rates, and the
    card's own rule concludes about each.
    """
    if card:
        rates = Rates(
            faithful, unfaithful, failed=failed, rejects=rejects, sensitivity=sensitivity, specificity=specificity
        )
        _plan_card(rates, items, first is not None or to is not None, draws, seed)
        return
    if first is None:
        raise InputError("--from: not given; give --from and --to, --from and --items, or --card")
    for option, share in {"--from": first, "--to": to, "--level": level}.items():
        if share is not None and not 0 < share < 1:
            raise InputError(f"{option}: must be more than 0 and less than 1, but got {share:g}")
    if not 0.5 <= power < 1:
        raise InputError(f"--power: must be from 0.5 to less than 1, but got {power:g}")
    _check_items(first, to, items, items_per_image, icc)
    _check_likeness(first, first if to is None else to, discordance, correlation)
    if comparisons < 1:
        raise InputError(f"--comparisons: must be at least 1, but got {comparisons}")
    lower, strict = min(first, first if to is None else to), first_step(level, comparisons)
    designs = [unpaired(lower, strict, power)]
    if discordance is not None:
        designs.append(with_discordance(lower, discordance, strict, power))
    else:
        correlations = CORRELATIONS if correlation is None else (correlation,)
        designs += [with_correlation(lower, each, strict, power) for each in correlations]
    effect = design_effect(items_per_image, icc)
    adjusted = "one comparison"
    if comparisons > 1:
        adjusted = f"{comparisons} comparisons (Holm: each found where p ≤ {1 - strict:.2g})"
    print(f"two-sided test, level {level:g}, power {power:g}, {adjusted}\n")
    if to is not None:
        _show(_needed(designs, max(first, to), effect, items_per_image))
    elif items is not None:
        _show(_shown(designs, first, items / effect))
    print("\nItems are those that end with a score; items without one come on top.")
    if effect > 1:
        print(f"Clustered items count less: {effect:.3g} of them are worth one that stands alone.")


def _plan_card(rates: Rates, items: int | None, compares: bool, studies: int, seed: int) -> None:
    if compares:
        raise InputError("--card: plans no comparison; leave --from and --to out")
    for name, value in rates._asdict().items():
        if not 0 <= value <= 1:
            raise InputError(f"--{name}: must be from 0 to 1, but got {value:g}")
    for option, number, most in (("--items", items, 5_000), ("--draws", studies, 1_000)):
        if number is not None and not 1 <= number <= most:
            raise InputError(f"{option}: must be from 1 to {most:,}, but got {number:,}")
    if seed < 0:
        raise InputError(f"--seed: must be at least 0, but got {seed}")
    table = _table("items", "model", "right", "open", "wrong")
    for size in SIZES if items is None else (items,):
        for deserving in (True, False):
            ends = chances(rates, deserving, size, studies, seed)
            share, should = (rates.faithful, "trust") if deserving else (rates.unfaithful, "do not trust")
            shown = (f"{chance * 100:.0f} %" for chance in ends)
            table.add_row(f"{size:,}", f"{share * 100:.0f} % faithful: {should}", *shown)
    print(f"{studies} studies of each kind, seed {seed}\n")
    _show(table)
    print("\nItems are those that a study asks about. Open includes that the model cannot be tested.")


def _needed(designs: Sequence[Design], higher: float, effect: float, items_per_image: float) -> Table:
    """The items that each design needs; designs that these shares rule out are left aside."""
    table = _table("items", "targets differ on", "items a target", "images a target")
    for design in (each for each in designs if higher <= each.greatest):
        size = design.size(higher) * effect
        table.add_row(design.name, _differing(design, higher), f"{ceil(size):,}", f"{ceil(size / items_per_image):,}")
    return table


def _shown(designs: Sequence[Design], first: float, items: float) -> Table:
    """The difference that each design shows with so many independent items."""
    table = _table("items", "targets differ on", f"told from {first:g}", "difference")
    for design in designs:
        higher = design.shown(first, items)
        figures = ("none", "") if higher is None else (f"{higher:.3f} or more", f"{higher - first:.3f}")
        table.add_row(design.name, "" if higher is None else _differing(design, higher), *figures)
    return table


def _differing(design: Design, higher: float) -> str:
    return "" if design.differing is None else f"{design.differing(higher) * 100:.1f} %"


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for index, column in enumerate(columns):
        table.add_column(column, justify="right" if index else "left")
    return table


def _show(table: Table) -> None:
    console = Console(highlight=False) if sys.stdout.isatty() else Console(width=WIDTH, highlight=False)
    console.print(table)


def _check_items(first: float, to: float | None, items: int | None, items_per_image: float, icc: float) -> None:
    if (to is None) == (items is None):
        raise InputError("give --to, to learn how many items are needed, or --items, to learn what they show; not both")
    if to == first:
        raise InputError(f"--to: must differ from --from, but both are {first:g}")
    if items is not None and items < 2:
        raise InputError(f"--items: must be at least 2, but got {items}")
    if not items_per_image >= 1:
        raise InputError(f"--items-per-image: must be at least 1, but got {items_per_image:g}")
    if not 0 <= icc <= 1:
        raise InputError(f"--icc: must be from 0 to 1, but got {icc:g}")


def _check_likeness(first: float, second: float, discordance: float | None, correlation: float | None) -> None:
    """Two shares bound how alike the scores can be."""
    if discordance is not None and correlation is not None:
        raise InputError("give --discordance or --correlation, not both: each says how alike the targets score")
    least, greatest = abs(first - second), min(first + second, 2 - first - second)
    if discordance is not None and not (least <= discordance <= greatest and discordance > 0):
        raise InputError(
            f"--discordance: targets with these shares differ on {least:g} to {greatest:g} of the items, "
            f"but got {discordance:g}"
        )
    low, high = sorted((first, second))
    closest = sqrt(low * (1 - high) / high / (1 - low))
    if correlation is not None and not (0 <= correlation <= closest and correlation < 1):
        raise InputError(
            f"--correlation: that of targets with these shares is from 0 to {closest:.3g}, but got {correlation:g}"
        )
