"""The package as people meet it: its size, its extras, its types, and what an index shows of it."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from tests.first_hour.conftest import ROOT, ran

BYTES = 4_000_000
"""What the wheel may have at most."""
TAKEN = ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", "CHANGELOG.md", "Snakefile", "src", "workflow")
SITE = "https://git.example.org/team/cfeval"
LINK = re.compile(r'\]\(([^)\s]+)\)|(?:src|srcset)="([^"]+)"')


def metadata(wheel: Path) -> Message:
    """What a package index shows of a wheel."""
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return message_from_bytes(archive.read(name))


def links(about: Message) -> list[str]:
    """All that the long description leads to or shows."""
    text = about.get_payload(decode=True).decode()  # type: ignore[union-attr]
    return [target or source for target, source in LINK.findall(text)]


def built(folder: Path, *words: str, **more: str) -> Path:
    """The wheel that is built in a folder."""
    env = os.environ | more
    command = [sys.executable, "-m", "uv", "build", "--quiet", "--out-dir", "dist", *words, "."]
    subprocess.run(command, cwd=folder, env=env, check=True)
    [wheel] = (folder / "dist").glob("*.whl")
    return wheel


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of what cfeval is built from, as a git repository whose remote has a user and a password."""
    place = tmp_path / "checkout"
    place.mkdir()
    for name in (*TAKEN, "profiles", "data/reference"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        (place / name).parent.mkdir(exist_ok=True)
        copy(ROOT / name, place / name)
    for package in ("cfeval_audit", "cfeval_testbed"):
        (place / "packages" / package).mkdir(parents=True)
    ran("git", "init", "--quiet", cwd=place)
    ran("git", "remote", "add", "origin", f"{SITE.replace('//', '//me:secret@')}.git", cwd=place)
    return place


def test_the_wheel_is_small_says_its_types_and_shows_no_dead_link(wheel: Path) -> None:
    assert wheel.stat().st_size < BYTES
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert "cfeval/py.typed" in names
    assert not [name for name in names if name.endswith(".safetensors")]
    about = metadata(wheel)
    assert "Typing :: Typed" in about.get_all("Classifier", ())
    if about.get_all("Project-URL") is None:  # this checkout has no remote
        assert [target for target in links(about) if "://" not in target] == []


def test_an_index_shows_absolute_links_addresses_and_no_requirement_that_names_a_folder(checkout: Path) -> None:
    for words in (("--wheel",), ()):  # from the checkout, and by way of a source distribution
        about = metadata(built(checkout, *words, CFEVAL_RELEASE="1"))
        assert f"Source, {SITE}" in about.get_all("Project-URL", ())
        assert not [target for target in links(about) if not target.startswith("https://")]
        own = {target.removeprefix(f"{SITE}/") for target in links(about) if target.startswith(f"{SITE}/")}
        files = [re.sub(r"^(blob|raw)/HEAD/|#.*", "", target) for target in own]
        assert len(files) > 10
        assert all((ROOT / file).exists() for file in files)
        assert "secret" not in str(about)
        requirements = about.get_all("Requires-Dist", ())
        for package in ("cfeval-audit", "cfeval-testbed"):
            assert any(text.startswith(f"{package}<0.2") for text in requirements)
        assert not [text for text in requirements if "@" in text]
        shutil.rmtree(checkout / "dist")


def test_the_extra_of_the_test_bed_brings_the_weights_of_the_checkout(tmp_path: Path) -> None:
    place = tmp_path / "environment"
    ran(sys.executable, "-m", "venv", place)
    ran(place / "bin/python", "-m", "pip", "install", "--quiet", f"{ROOT}[world]", env=dict(os.environ))
    code = "import cfeval; from cfeval_testbed.weights import load, models_dir; "
    code += "load('vlm'); print(models_dir(), dir(cfeval))"
    place_of_weights = ran(place / "bin/python", "-c", code, cwd=tmp_path)
    assert place_of_weights.startswith(str(place))
    assert "'load', 'try_item'" in place_of_weights
