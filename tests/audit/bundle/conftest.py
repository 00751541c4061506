from pathlib import Path

import pytest

from tests.audit.bundle.study import bundled


@pytest.fixture(scope="session")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of a small study."""
    place = tmp_path_factory.mktemp("bundled")
    return bundled(place / "study", place / "bundle.zip")


@pytest.fixture(scope="session")
def redacted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same without texts and images."""
    place = tmp_path_factory.mktemp("redacted")
    return bundled(place / "study", place / "bundle.zip", redact=True)
