"""The description of a bundle names what is in it; whether it is a Workflow Run RO-Crate, `tests/formats` asks."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from tests.audit.bundle.study import contents


def described(bundle: Path) -> dict[str, Any]:
    """What the description says of each thing, by its identifier."""
    graph = json.loads(contents(bundle)["ro-crate-metadata.json"])["@graph"]
    found = {entity["@id"]: entity for entity in graph}
    assert len(found) == len(graph)
    return found


@pytest.mark.parametrize("which", ["bundle", "redacted"])
def test_it_names_every_file_of_the_bundle_or_its_folder(which: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(which)
    parts = {unquote(part["@id"]) for part in described(path)["./"]["hasPart"]}
    names = contents(path).keys() - {"ro-crate-metadata.json", "manifest-sha256.txt"}
    folders = tuple(part for part in parts if part.endswith("/"))
    assert {name for name in names if not name.startswith(folders)} == {part for part in parts if part not in folders}
    assert all(any(name.startswith(folder) for name in names) for folder in folders)


def test_every_thing_that_it_refers_to_is_described(bundle: Path) -> None:
    things = described(bundle)
    run = things["#run"]
    assert run["instrument"] == things["./"]["mainEntity"] == {"@id": "Snakefile"}
    referred = [*run["object"], *run["result"], *things["./"]["hasPart"], *things["./"]["conformsTo"]]
    assert all(one["@id"] in things for one in referred)
    assert {"@id": "params.yaml"} in run["object"]
