"""What others printed about a set of given pairs (data/reference/pairs.csv), beside a study's own figures.

A reading aid: the sets' own tasks ask another question than ours, or ask it otherwise: a figure beside is no
replication.
"""

import re
from collections.abc import Iterable, Mapping, Sequence

from cfeval.core.records import Record
from cfeval.report.tables import cell

METRICS = ("pair_accuracy", "accuracy_after")
"""Columns of the table beside which there may be a published figure."""
_MARKS = re.compile(r"[\W_]+")


class PublishedPairs(Record):
    """A figure that was printed about a set of pairs."""

    source: str
    plugin: str
    """The plugin that reads the set."""
    model: str
    kind: str = ""
    """The kind of change; empty: all pairs."""
    metric: str
    """A column of the table of given pairs."""
    value: float
    """In [0, 1]."""
    printed: str
    """What the source calls it."""


def beside(published: Iterable[PublishedPairs], plugin: str, model: str, kind: str) -> dict[str, float]:
    """What was printed of a model and a kind of change, by column: `paper_pair_accuracy`.

    Names of models are compared without letter case and marks; where several lines match, the first counts.
    """
    found: dict[str, float] = {}
    for line in published:
        if (line.plugin, line.kind, _plain(line.model)) == (plugin, kind, _plain(model)) and line.metric in METRICS:
            found.setdefault(f"paper_{line.metric}", line.value)
    return found


def notes(published: Iterable[PublishedPairs], sets: Mapping[str, str]) -> list[str]:
    """A line for each source of the sets that a table shows: its figures, the highest first.

    Args:
        published: all that is known.
        sets: the plugin of each set that is shown, by name.
    """
    shown: dict[tuple[str, str, str], list[PublishedPairs]] = {}
    for line in published:
        if line.plugin in sets.values():
            shown.setdefault((line.source, line.printed, line.kind), []).append(line)
    return [_note(*key, of) for key, of in shown.items()]


def _note(source: str, printed: str, kind: str, of: Sequence[PublishedPairs]) -> str:
    ranked = sorted(of, key=lambda line: (-line.value, line.model))
    figures = ", ".join(f"{line.model} {cell(line.value)}" for line in ranked)
    of_kind = f"{printed} ({kind})" if kind else printed
    return f"Published for {source}: {of_kind}: {figures}. Its task or its prompts are others than ours."


def _plain(name: str) -> str:
    return _MARKS.sub("", name.casefold())
