"""What goes out is what the makers of its format take: a bundle as a Workflow Run RO-Crate, a set as Croissant."""

import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.cvqa.stages.test_questions import PAIRS


def test_the_library_of_ro_crates_reads_it(bundle: Path, tmp_path: Path) -> None:
    from rocrate import rocrate

    zipfile.ZipFile(bundle).extractall(tmp_path)
    crate = rocrate.ROCrate(tmp_path)
    assert crate.mainEntity.id == "Snakefile"
    assert [action.id for action in crate.get_by_type("CreateAction")] == ["#run"]


@pytest.mark.parametrize("profile", ["ro-crate-1.1", "process-run-crate", "workflow-run-crate"])
def test_the_validator_finds_nothing_that_must_be_otherwise(
    bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, profile: str
) -> None:
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


@pytest.mark.filterwarnings("ignore")
def test_croissants_own_checker_takes_it_and_reads_the_rows(published: Path) -> None:
    import mlcroissant

    found = mlcroissant.Dataset(jsonld=str(published / "croissant.json"))
    assert not found.metadata.ctx.issues.errors
    records = list(found.records("pairs"))
    assert len(records) == 5
    assert [record["pairs/id"].decode() for record in records] == [one.id for one in PAIRS]
