"""The trust card of a model on the page: what may be claimed, what was refuted, and three items that show it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from cfeval.edct.faithfulness.claims import ABOVE, CLAIMS, Letter
from cfeval.edct.report.finding import Line
from cfeval.edct.report.items import ENDINGS
from cfeval.edct.tables.card import FIELDS, bound_of
from cfeval.report.bars import interval_bar
from cfeval.report.digits import two
from cfeval.report.gallery import Item

EXAMPLES = 3
_WIDTH = 200.0
"""Of a bar, in pixels."""


@dataclass(frozen=True)
class ShownClaim:
    """A claim of the card."""

    letter: Letter
    title: str
    word: str
    """`supported`, `refuted`, `not shown`, `empty` or `not tested`."""
    note: str
    rate: str
    """`0.99, 0.98 to 1.00`; empty where there is none."""
    bar: Markup


@dataclass(frozen=True)
class Example:
    """An item that shows how a model ends."""

    view: int
    item: Item
    ending: str
    share: str
    """How many of the items on the page end so."""

    @property
    def cell(self) -> Item:
        """What the model did."""
        found: Item = self.item["cell"]
        return found

    @property
    def turn(self) -> Item:
        """The first edit."""
        turns = self.cell["t"]
        return turns[0] if turns else {}


def claims(line: Line) -> list[ShownClaim]:
    """The claims of a line's card; none where it has none."""
    return [_claim(letter, line) for letter in CLAIMS] if line.card is not None else []


def _claim(letter: Letter, line: Line) -> ShownClaim:
    field = FIELDS[letter]
    value, low, high = (getattr(line.card, field + end) for end in ("", "_lo", "_hi"))
    word, _, note = str(getattr(line.card, f"{field}_says")).partition(" (")
    side = "above" if letter in ABOVE else "below"
    bound = bound_of(line.card, letter)
    need = f"must be {side} {bound:.2f}"
    known = value is not None and low is not None and high is not None
    rate = f"{two(value)}, {two(low)} to {two(high)}" if known else ""
    drawn = bar(
        (value, low, high) if known else None,
        bound,
        letter in ABOVE,
        f"{CLAIMS[letter]}: {rate or 'no figure'}; {need}",
    )
    return ShownClaim(letter, CLAIMS[letter], word, note.removesuffix(")") or need, rate, drawn)


def bar(
    found: tuple[float, float, float] | None, bound: float, above: bool, label: str, width: float = _WIDTH
) -> Markup:
    """A rate with its interval on the line from 0 to 1, as SVG; where the claim holds is shaded."""
    return interval_bar(found, bound, (bound, 1) if above else (0, bound), label, width)


def said(of: Sequence[ShownClaim]) -> Mapping[str, str]:
    """What may be claimed, was refuted and was not shown, as lists of claims."""
    by = {word: "; ".join(c.title for c in of if c.word == word) for word in ("supported", "refuted")}
    rest = "; ".join(claim.title for claim in of if claim.word not in by)
    return {"May be claimed": by["supported"] or "nothing", "Refuted": by["refuted"], "Not shown": rest}


def examples(model: str, view: int, rows: Sequence[Item]) -> list[Example]:
    """Three items: of each way in which the model ends, the most frequent first; those with an image before others."""
    mine = [{**row, "cell": row["m"][model]} for row in rows if model in row["m"]]
    counts = Counter(row["cell"]["o"] for row in mine)
    order = [ending for ending, _ in counts.most_common()]
    queues = {
        ending: sorted((row for row in mine if row["cell"]["o"] == ending), key=lambda row: not _has_image(row))
        for ending in order
    }
    picked = [
        (ending, queues[ending][turn]) for turn in range(EXAMPLES) for ending in order if turn < len(queues[ending])
    ]
    return [
        Example(view, row, ENDINGS[ending][1], f"{counts[ending]:,} of {len(mine):,}")
        for ending, row in picked[:EXAMPLES]
    ]


def _has_image(row: Item) -> bool:
    return any("img" in turn for turn in row["cell"]["t"])
