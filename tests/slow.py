"""What `make test` tries on a few cases, `make test-slow` tries on the others."""

from collections.abc import Iterable
from typing import Any

import pytest
from _pytest.mark import ParameterSet
from hypothesis import settings


def first_fast(cases: Iterable[Any], fast: int = 2) -> list[Any]:
    """The cases of a parameter; those after the first few are marked slow."""
    return [case if place < fast else _slow(case) for place, case in enumerate(cases)]


def fast_only(cases: Iterable[Any], *fast: Any) -> list[Any]:
    """The cases of one or several parameters; all but the ones named are marked slow."""
    cases = list(cases)
    assert all(case in cases for case in fast)
    return [case if case in fast else _slow(case) for case in cases]


def each_once_fast(cases: Iterable[Any], values: Iterable[Any]) -> list[Any]:
    """Every case with every value of a further parameter; just so many are fast that each is in one of them."""
    these = [case if isinstance(case, tuple) else (case,) for case in cases]
    further = list(values)
    places = range(max(len(these), len(further)))
    fast = [(*these[n % len(these)], further[n % len(further)]) for n in places]
    return fast_only(((*case, value) for case in these for value in further), *fast)


def slow(*case: Any) -> Any:
    """A case of one or several parameters that is marked slow."""
    return pytest.param(*case, marks=pytest.mark.slow)


def examples(most: int) -> settings:
    """How many examples the slow tests draw; of a hundred the fast ones draw as many as conftest's profile says."""
    return settings(max_examples=max(most * settings.default.max_examples // 100, 5))


def _slow(case: Any) -> Any:
    if isinstance(case, ParameterSet):
        return case if "slow" in {mark.name for mark in case.marks} else slow(*case.values)
    return slow(*case) if isinstance(case, tuple) else slow(case)
