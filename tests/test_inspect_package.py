"""The package for inspect-ai pins the prompts that its tasks use; `make test-inspect` runs the tasks themselves."""

import sys
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.errors import InputError
from cfeval.edct.plugins.judges import FORMS
from cfeval.edct.plugins.pair_judges import COMPARE, NAMES
from cfeval.edct.protocols.rules import EDCT_2025, NULL_EDIT

PACKAGE = Path(__file__).parents[1] / "packages" / "cfeval_inspect"


@pytest.fixture
def assets(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(PACKAGE)
    before = set(sys.modules)
    from cfeval_inspect import assets

    yield assets
    for name in set(sys.modules) - before:
        if name.startswith("cfeval_inspect"):
            del sys.modules[name]


def test_the_pinned_prompts_are_those_of_the_study_and_all_that_are_asked(assets: Any) -> None:
    pairs = {(form.folder, name) for form in (NAMES, COMPARE) for name in form.templates}
    edct = {(form.folder, name) for key in (EDCT_2025, NULL_EDIT) for form in FORMS[key] for name in form.templates}
    assert (set(assets.PAIRS), set(assets.EDCT)) == (pairs, edct)
    assert set(assets.CONVERSATION) == {("conversation", "answer"), ("conversation", "explain")}
    for pinned in (assets.CONVERSATION, assets.PAIRS, assets.EDCT):
        assert list(assets.checked(pinned).values()) == list(pinned.values())


def test_other_prompts_are_refused(assets: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "explain.md").write_text("Why so?")
    monkeypatch.setattr(assets, "prompt_file", lambda name, protocol: tmp_path / f"{name}.md")
    with pytest.raises(InputError, match=r"not the prompt that this cfeval-inspect was made for"):
        assets.checked({("conversation", "explain"): assets.CONVERSATION["conversation", "explain"]})
