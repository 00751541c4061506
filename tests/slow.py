"""What `make test` tries on the first cases, `make test-slow` tries on the others."""

from collections.abc import Iterable
from typing import Any

import pytest


def first_fast(cases: Iterable[Any], fast: int = 2) -> list[Any]:
    """The cases of a parameter; those after the first few are marked slow."""
    return [case if place < fast else pytest.param(case, marks=pytest.mark.slow) for place, case in enumerate(cases)]
