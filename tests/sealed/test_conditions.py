"""One condition of each kind of edct and cvqa, made here and now, has the bytes that the sealed tables were made from.

Conditions of vce are computed in float32 and differ between processors: `tests/sealed/test_vce.py`.
"""

import hashlib
import json

import pytest

from tests.sealed.conftest import KINDS
from tests.workflow.study import PROJECT, Study


@pytest.fixture(scope="module")
def sealed() -> dict[str, str]:
    """Every file that a sealed table rests on, by hash."""
    found: dict[str, str] = {}
    for sidecar in sorted(PROJECT.glob("results/**/tables/*.made.json")):
        found |= json.loads(sidecar.read_text())["inputs"]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_a_condition_made_here_has_the_bytes_of_the_sealed_one(kind: str, sealed: dict[str, str], study: Study) -> None:
    made = {file: hashlib.sha256((study.root / file).read_bytes()).hexdigest() for file in KINDS[kind]}
    assert made == {file: sealed[file] for file in KINDS[kind]}
