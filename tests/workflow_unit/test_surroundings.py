"""What the workflow takes from its surroundings."""

from pathlib import Path

import pytest

import surroundings

STORE = ".cfeval/calls.sqlite"


def test_in_the_project_the_cache_is_where_the_parameters_say(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert surroundings.at_home(STORE) == STORE


@pytest.mark.parametrize("cache", [STORE, "/elsewhere/calls.sqlite"])
def test_a_copy_of_the_project_uses_the_projects_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: str
) -> None:
    copy = tmp_path / ".dvc/tmp/exps/tmpabc"
    copy.mkdir(parents=True)
    monkeypatch.chdir(copy)
    assert surroundings.at_home(cache) == str(tmp_path / cache)
