"""The description of a bundle is a Workflow Run RO-Crate, as the validator of its authors' community sees it."""

import json
import zipfile
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


def test_the_library_of_ro_crates_reads_it(bundle: Path, tmp_path: Path) -> None:
    rocrate = pytest.importorskip("rocrate.rocrate")
    zipfile.ZipFile(bundle).extractall(tmp_path)
    crate = rocrate.ROCrate(tmp_path)
    assert crate.mainEntity.id == "Snakefile"
    assert [action.id for action in crate.get_by_type("CreateAction")] == ["#run"]


@pytest.mark.parametrize("profile", ["ro-crate-1.1", "process-run-crate", "workflow-run-crate"])
def test_the_validator_finds_nothing_that_must_be_otherwise(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: str
) -> None:
    pytest.importorskip("rocrate_validator")
    import requests
    import rocrate
    from rocrate_validator import models, services
    from rocrate_validator.utils import http

    later = Path(rocrate.__file__).parent / "data" / "ro-crate.jsonld"
    names = later.read_bytes().replace(b"bioschemas.org/terms/", b"bioschemas.org/")  # as they are in RO-Crate 1.1

    def get(self: Any, url: str, *_: Any, **__: Any) -> requests.Response:
        """The names that RO-Crate defines, as the library has them: there is no network here."""
        response = requests.Response()
        response.status_code, response._content, response.url = 200, names, url
        response.headers["Content-Type"] = "application/ld+json"
        return response

    monkeypatch.setattr(http.HttpRequester, "get", get, raising=False)
    zipfile.ZipFile(bundle).extractall(tmp_path)
    settings = services.ValidationSettings(
        rocrate_uri=str(tmp_path), profile_identifier=profile, requirement_severity=models.Severity.REQUIRED
    )
    found = services.validate(settings)
    assert [issue.message for issue in found.get_issues()] == []
    assert found.passed()
