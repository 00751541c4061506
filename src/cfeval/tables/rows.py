"""Score rows in little memory: what tables need of a score, and what many rows share held once."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from operator import attrgetter
from sys import intern
from typing import NamedTuple

from cfeval.errors import InputError
from cfeval.records.common import Status
from cfeval.records.edct import Arm, Bit, Score
from cfeval.tables.arms import NAMES, label


class Told(NamedTuple):
    """What a score says, whatever its item; the fields are those of `Score`. Few are different, so rows share them."""

    status: Status
    evidence: str
    pcs: Bit | None
    ncc: Bit | None
    ac: Bit | None
    ef: Bit | None
    ccs: Bit | None
    ccs_graded: float | None
    answer_moved: Bit | None
    explanation_moved: Bit | None
    correct: float | None
    verified: Bit | None


class Row(NamedTuple):
    """A score. Rows with the same `group` are of items about one image: a cluster."""

    id: str
    edit: int
    group: str
    told: Told


_told, _names = attrgetter(*Told._fields), attrgetter(*NAMES)


def gathered(arm: Arm, scores: Iterable[Score], same: dict[Told, Told]) -> list[Row]:
    """The scores of an arm in the order of items and edits, however they were cut into files.

    Args:
        same: what was told before, by this arm or another; added to.

    Raises:
        InputError: a score is of another arm, or an item and edit appears twice.
    """
    rows = [_row(score, same) for score in _of(arm, scores)]
    rows.sort(key=attrgetter("id", "edit"))
    for one, other in pairwise(rows):
        if (one.id, one.edit) == (other.id, other.edit):
            where = f"item '{one.id}', edit {one.edit} of {label(arm)}"
            raise InputError(f"two score rows for {where}; make its score files again")
    return rows


def _of(arm: Arm, scores: Iterable[Score]) -> Iterator[Score]:
    names = _names(arm)
    for score in scores:
        if _names(score) != names:
            raise InputError(f"a score of {label(score)} stands in the files of {label(arm)}; make these again")
        yield score


def _row(score: Score, same: dict[Told, Told]) -> Row:
    told = Told._make(_told(score))
    return Row(intern(score.id), score.edit, intern(score.group or score.id), same.setdefault(told, told))
