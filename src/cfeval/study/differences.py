"""What differs between two sides, study by study: why, then what, from the parameters to the items."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from cfeval.core.errors import InputError
from cfeval.study.causes import Change, parameters
from cfeval.study.changes import Condition, Row, changed_conditions, changed_rows, tables_of
from cfeval.study.making import Made, made
from cfeval.study.revisions import NotAtHandError, Side

Names = tuple[str, ...]


@dataclass(frozen=True)
class OfStudy:
    """What differs in one study: what files were made from, the code among that, rows of tables, conditions with items.

    `notes`: what could not be compared, and what to do about it.
    """

    made: tuple[Made, ...]
    code: tuple[str, ...]
    rows: tuple[Row, ...]
    conditions: tuple[Condition, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """What differs between two sides, by their names. `notes`: what could not be compared."""

    before: str
    after: str
    parameters: tuple[Change, ...]
    studies: dict[str, OfStudy]
    notes: tuple[str, ...] = ()


def difference(before: Side, after: Side, studies: Sequence[str], conditions: Sequence[str], items: int) -> Difference:
    """What differs, and why.

    Args:
        before, after: the sides.
        studies: which studies to look at; what neither side has is left out.
        conditions: patterns; rows and conditions count only if each pattern is the name of one of their parts.
        items: how many flipped items to show of each condition.

    Raises:
        InputError: a side has no results of these studies, or their content is not at hand.
    """
    for side in (before, after):
        if not any(_there(side, study) for study in studies):
            raise InputError(
                f"{side.name} has no results of {', '.join(studies)}: run `dvc repro` there and commit dvc.lock and "
                "the tables"
            )
    there = [study for study in studies if any(_there(side, study) for side in (before, after))]
    found = {study: _of_study(before, after, study, _wanted(conditions), items) for study in there}
    notes: list[str] = []
    changed = tuple(parameters(before, after, notes.append))
    return Difference(before.name, after.name, changed, found, tuple(notes))


def _there(side: Side, study: str) -> bool:
    return _tables(side, study) or _scores(side, study)


def _tables(side: Side, study: str) -> bool:
    folder = tables_of(side, study)
    return any(path.startswith(f"{folder}/{study}_") for path in side.entries(folder)[0])


def _scores(side: Side, study: str) -> bool:
    return side.at(f"{study}/scores") in side.folders(side.at(study))


def _wanted(conditions: Sequence[str]) -> Callable[[Names], bool]:
    return lambda names: all(any(fnmatchcase(name, pattern) for name in names) for pattern in conditions)


def _of_study(before: Side, after: Side, study: str, wanted: Callable[[Names], bool], items: int) -> OfStudy:
    rows = tuple(row for row in changed_rows(before, after, study) if wanted(row.names))
    notes: list[str] = []
    causes = tuple(made(before, after, study, notes.append))
    conditions: tuple[Condition, ...] = ()
    try:
        _ensure_scores(before, after, study)
        conditions = tuple(changed_conditions(before, after, study, wanted, items))
    except NotAtHandError as error:
        notes.append(str(error))
    code = sorted({module for step in causes for module in step.code})
    return OfStudy(causes, tuple(code), rows, conditions, tuple(notes))


def _ensure_scores(before: Side, after: Side, study: str) -> None:
    """A side whose tables are in git and whose scores were never brought here has not lost its conditions."""
    there = [_scores(side, study) for side in (before, after)]
    for side, found in zip((before, after), there, strict=True):
        if any(there) and not found and _tables(side, study):
            raise NotAtHandError(
                f"{side.name} has tables of {study}, and not the scores behind them: `dvc pull` brings them to the "
                "working folder, `dvc repro` and a commit of dvc.lock keep them"
            )
