"""Curation: what became of every candidate, by the model's decisions and the people's who overrule it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cfeval.errors import InputError
from cfeval.records.curation import Decision, Override
from cfeval.records.edct import Sample


@dataclass(frozen=True)
class Fates:
    """The ids of the candidates that are kept, and of those that nobody decided about; the others are left out."""

    kept: frozenset[str]
    undecided: frozenset[str]


def fates(
    candidates: Mapping[str, Sample], decisions: Iterable[Decision] | None, overrides: Iterable[Override] = ()
) -> Fates:
    """What was decided about every candidate; where a person and the model differ, the person is right.

    Args:
        candidates: by id.
        decisions: the model's, one a candidate; without them all are kept.
        overrides: people's.

    Raises:
        InputError: a decision is missing, or one is about no candidate or twice about the same.
    """
    keep: dict[str, bool | None] = dict.fromkeys(candidates, True)
    if decisions is not None:
        keep = _decided(candidates, decisions)
    seen: set[str] = set()
    for override in overrides:
        if override.id not in candidates:
            raise InputError(f"overrides: no candidate '{override.id}'; correct the id or take the line out")
        if override.id in seen:
            raise InputError(f"overrides: '{override.id}' stands there twice; agree on one line")
        seen.add(override.id)
        keep[override.id] = override.keep
    kept, undecided = (frozenset(item for item in keep if keep[item] is fate) for fate in (True, None))
    return Fates(kept, undecided)


def _decided(candidates: Mapping[str, Sample], decisions: Iterable[Decision]) -> dict[str, bool | None]:
    keep: dict[str, bool | None] = {}
    for decision in decisions:
        if decision.id not in candidates or decision.question != candidates[decision.id].question:
            raise InputError(
                f"decisions: '{decision.id}' is no candidate, or its question is another one now; "
                "run the filter on these candidates"
            )
        if decision.id in keep:
            raise InputError(f"decisions: '{decision.id}' stands there twice; run the filter again")
        keep[decision.id] = None if decision.keep is None else bool(decision.keep)
    missing = [item for item in candidates if item not in keep]
    if missing:
        raise InputError(
            f"decisions: none about '{min(missing)}' ({len(missing)} of {len(candidates)} candidates have none); "
            "run the filter on these candidates"
        )
    return keep
