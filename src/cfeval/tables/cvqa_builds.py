"""How a built set came about: what was written, what its sums, a second model and people said (C-VQA, Section 3.2)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from cfeval.records.common import Status
from cfeval.records.cvqa import Decision, Draft, Review
from cfeval.records.cvqa_tables import BuildsRow
from cfeval.tables.cvqa_items import ALL, counted
from cfeval.tables.cvqa_material import Built, CvqaMaterial
from cfeval.tables.formats import Sheet, cell
from cfeval.tables.items import rounded

ROW = BuildsRow
EMPTY = "Empty: no set was built from source questions."
NOTE = (
    "Sums wrong: the stated answer is not what the second step's sum gives, of the drafts that state one. Unrelated, "
    "unreasonable: what the second model says of question and answer. Nothing enters the set unverified."
)


@dataclass
class _Built:
    """Counts of one type."""

    n: int = 0
    written: set[str] = field(default_factory=set)
    failed: Counter[str] = field(default_factory=Counter)
    of: Counter[str] = field(default_factory=Counter)

    def draft(self, draft: Draft) -> None:
        """Count a draft."""
        self.n += 1
        if draft.status != Status.OK:
            self.failed[draft.status.value] += 1
            return
        self.written.add(draft.id)
        self.of["n_sums"] += draft.arithmetic is not None
        self.of["n_sums_wrong"] += draft.arithmetic is not None and str(draft.arithmetic) != draft.answer

    def review(self, review: Review) -> None:
        """Count what the second model said."""
        read = review.status == Status.OK
        self.of["n_reviewed" if read else "n_review_failed"] += 1
        self.of["n_unrelated"] += read and review.related == 0
        self.of["n_unreasonable"] += read and review.reasonable == 0

    def decision(self, decision: Decision) -> None:
        """Count what a person decided."""
        self.of["n_decided"] += decision.accept != ""
        self.of["n_person_accepted"] += decision.accept == "yes"
        self.of["n_person_rejected"] += decision.accept == "no"
        self.of["n_corrected"] += decision.accept == "yes" and bool(decision.question or decision.answer)


def rows(material: CvqaMaterial) -> list[BuildsRow]:
    """A row for each built set and type; `all` where there are several."""
    return [row for name, built in material.built.items() for row in _set_rows(name, built)]


def sheet(of: Sequence[BuildsRow]) -> Sheet:
    """The table for readers."""
    headings = (
        *("Set", "Type", "Source questions", "Written", "Sums wrong", "Reviewed", "Unrelated", "Unreasonable"),
        *("People: yes", "no", "corrected", "Accepted", "Share", "Missing"),
    )
    return Sheet("cvqa_builds", "Building a set", headings, tuple(map(_cells, of)), (NOTE if of else EMPTY,))


def _set_rows(name: str, built: Built) -> list[BuildsRow]:
    found, type_of = {ALL: _Built()}, {}
    for draft in built.drafts:
        type_of[draft.id] = draft.type
        for kind in (draft.type, ALL):
            found.setdefault(kind, _Built()).draft(draft)
    for review in built.reviews:
        for kind in _kinds(type_of, review.id):
            found[kind].review(review)
    for decision in built.decisions:
        for kind in _kinds(type_of, decision.id):
            found[kind].decision(decision)
    for one in built.accepted:
        for kind in _kinds(type_of, one):
            found[kind].of["n_accepted"] += 1
    some = [kind for kind in found if kind != ALL]
    shown = [*some, ALL] if len(some) != 1 else some
    return [_row(name, kind, found[kind]) for kind in shown if found[kind].n]


def _kinds(type_of: Mapping[str, str], of: str) -> tuple[str, ...]:
    """The rows that an item counts in; none where no draft is known."""
    return (type_of[of], ALL) if of in type_of else ()


def _row(name: str, kind: str, built: _Built) -> BuildsRow:
    written = len(built.written)
    share = rounded(built.of["n_accepted"] / written) if written else None
    figures = {"set": name, "type": kind, "n": built.n, "n_written": written, "missing": counted(built.failed)}
    return BuildsRow.model_validate({**figures, **built.of, "accepted": share})


def _cells(row: BuildsRow) -> tuple[str, ...]:
    return (
        *(row.set, row.type, str(row.n), str(row.n_written), f"{row.n_sums_wrong} of {row.n_sums}"),
        *(str(row.n_reviewed), str(row.n_unrelated), str(row.n_unreasonable), str(row.n_person_accepted)),
        *(str(row.n_person_rejected), str(row.n_corrected), str(row.n_accepted), cell(row.accepted), row.missing),
    )
