"""How a built set came about: what became of every draft, and who verified what entered (C-VQA, Section 3.2)."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

from cfeval.cvqa.records import REAL, SYNTHETIC, CvqaBuild, Fate
from cfeval.cvqa.tables.items import ALL, counted
from cfeval.cvqa.tables.replies import CvqaTableData
from cfeval.report.columns import Heading, TableRow, laid_out
from cfeval.report.tables import Figure, RenderedTable, Table
from cfeval.stats.intervals import rounded


class BuildsRow(TableRow):
    """How a built set came about: what became of its drafts."""

    set: Annotated[str, Heading("Set")]
    """The built set."""
    type: Annotated[str, Heading("Type")]
    """The group of questions, or `all`."""
    n: Annotated[int, Heading("Drafts")]
    """Drafts that were asked for."""
    n_written: Annotated[int, Heading("Written")] = 0
    """Those that could be read; the others are missing."""
    missing: Annotated[str, Heading("Missing", after="accepted")] = ""
    """Why others could not, with counts."""
    n_wrong_sum: Annotated[int, Heading("Wrong sum")] = 0
    """Drafts left out because the second step's sum does not give the stated answer."""
    n_no_sum: Annotated[int, Heading("No sum")] = 0
    """Because the second step of a direct draft states no sum that can be recomputed."""
    n_inconsistent: Annotated[int, Heading("Inconsistent")] = 0
    """Because the steps name other numbers, or another answer, than the question."""
    n_not_related: Annotated[int, Heading("Not related")] = 0
    """Because the second model says that the question is not about the image."""
    n_not_reasonable: Annotated[int, Heading("Not reasonable")] = 0
    """Because the second model says that the answer is not right."""
    n_not_reviewed: Annotated[int, Heading("Not reviewed")] = 0
    """Because the second model failed or said nothing that can be read."""
    n_rejected: Annotated[int, Heading("People: no")] = 0
    """Because a person said no."""
    n_undecided: Annotated[int, Heading("undecided")] = 0
    """Because a person must accept it and has not."""
    n_accepted: Annotated[int, Heading("Accepted")] = 0
    """Pairs of the set."""
    n_by_people: Annotated[int, Heading("by people")] = 0
    """Those of them that a person accepted."""
    n_corrected: Annotated[int, Heading("corrected")] = 0
    """Those of them whose question or answer a person changed."""
    accepted: Annotated[Figure, Heading("Share")] = None
    """Share of the written drafts."""


EMPTY = "Empty: no set was built from source questions."
NOTE = (
    "Left out: the first reason that holds. Wrong sum: the second step's sum gives another number than the stated "
    "answer, or begins with another than the original's. No sum: a number was worked out in words alone. Inconsistent: "
    "the steps name other numbers or another answer than the question. Not related, not reasonable: what the second "
    "model says. Nothing enters the set unverified."
)
_LEFT_OUT: dict[Fate, str] = {
    "wrong sum": "n_wrong_sum",
    "no sum": "n_no_sum",
    "inconsistent": "n_inconsistent",
    "not reviewed": "n_not_reviewed",
    "not related": "n_not_related",
    "not reasonable": "n_not_reasonable",
    "rejected": "n_rejected",
    "undecided": "n_undecided",
}
"""The column that counts each fate of a draft that was written."""


def rows(material: CvqaTableData) -> list[BuildsRow]:
    """A row for each built set and type, in the paper's order; `all` where there are several."""
    return [row for name, fates in material.built.items() for row in _set_rows(name, fates)]


def render(of: Sequence[BuildsRow]) -> RenderedTable:
    """The table for readers."""
    return RenderedTable("cvqa_builds", "Building a set", *laid_out(BuildsRow, of), (NOTE if of else EMPTY,))


def _set_rows(name: str, fates: Iterable[CvqaBuild]) -> Iterator[BuildsRow]:
    found: dict[str, Counter[str]] = {}
    for build in fates:
        for kind in (build.type, ALL):
            found.setdefault(kind, Counter()).update(_counts(build))
    kinds = [kind for kind in (*REAL, *SYNTHETIC) if kind in found]
    for kind in kinds if len(kinds) == 1 else (*kinds, ALL):
        yield _row(name, kind, found.get(kind, Counter()))


def _counts(build: CvqaBuild) -> list[str]:
    """The columns that a draft counts in."""
    if build.fate == "not written":
        return ["n", f"missing {build.reason.split(':')[0]}"]
    if build.fate != "accepted":
        return ["n", "n_written", _LEFT_OUT[build.fate]]
    return [
        "n",
        "n_written",
        "n_accepted",
        *["n_by_people"] * (build.by == "person"),
        *["n_corrected"] * build.corrected,
    ]


def _row(name: str, kind: str, counts: Counter[str]) -> BuildsRow:
    written = counts["n_written"]
    missing = Counter({key.removeprefix("missing "): n for key, n in counts.items() if key.startswith("missing ")})
    figures = {key: n for key, n in counts.items() if key in BuildsRow.model_fields} | {"n": counts["n"]}
    share = rounded(counts["n_accepted"] / written) if written else None
    return BuildsRow.model_validate(
        {"set": name, "type": kind, **figures, "missing": counted(missing), "accepted": share}
    )


TABLE = Table(row=BuildsRow, rows=rows, render=render)
