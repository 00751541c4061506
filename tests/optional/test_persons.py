"""The plug-ins of packages/cfeval_persons, installed as a user would: a real network on a real photograph."""

import asyncio
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core import registry
from cfeval.core.errors import PluginError
from cfeval.core.images import Image, import_image
from cfeval.core.records import Status
from cfeval.edct.interfaces import EditReply, EditRequest, Found, VerifyRequest
from tests.conftest import Run

PACKAGE = Path(__file__).parents[2] / "packages" / "cfeval_persons"
PEOPLE = ("person", "man", "woman", "people", "boy", "children")
THINGS = ("hat", "flag", "cat", "snowman", "portrait", "hair", "rocket", "woman's hair", "people carrier", "manhole")
BEFORE = ("", "the ", "an old ", "the Young ")
AFTER = ("", " with a {}", " behind the {}", " of the {}", ", {}")


@pytest.fixture(scope="module", autouse=True)
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The package, installed by pip into a folder of its own."""
    folder = tmp_path_factory.mktemp("installed")
    source = Path(shutil.copytree(PACKAGE, folder / "source"))  # building writes beside the sources
    ways = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check")
    program = [sys.executable, "-m", "pip", "install", *ways, "--target", folder / "site", source]
    subprocess.run(program, check=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder / "site")
        registry._offered.cache_clear()
        yield
    registry._offered.cache_clear()


@pytest.fixture(scope="module")
def astronaut() -> Image:
    """A person before a flag, in the middle of the photograph."""
    package = find_spec("skimage")
    assert package is not None
    return import_image(Path(str(package.origin)).parent / "data" / "astronaut.png")


@pytest.fixture(scope="module")
def persons() -> Any:
    return registry.build("segmenters", {"plugin": "persons"})


def find(segmenter: Any, image: Image, concept: str, verb: str = "Remove") -> Found:
    request = VerifyRequest("i", image, image, f"{verb} {concept}.", concept=concept)
    found: Found = segmenter.find(request, np.zeros((8, 8), dtype=bool))
    return found


def edit(spec: dict[str, Any], image: Image, concept: str, verb: str = "Remove", **more: Any) -> EditReply:
    editor = registry.build("editors", spec)
    reply: EditReply = asyncio.run(editor.edit(EditRequest("i", image, f"{verb} {concept}.", "", 1, concept, **more)))
    return reply


@given(st.sampled_from(PEOPLE), st.sampled_from(THINGS), st.sampled_from(BEFORE), st.sampled_from(AFTER))
def test_a_person_is_found_and_any_other_word_is_unknown_and_has_no_mask(
    persons: Any, astronaut: Image, person: str, thing: str, before: str, after: str
) -> None:
    seen = find(persons, astronaut, f"{before}{person}{after.format(thing)}")
    assert seen.original is not None, seen.reason
    assert seen.original[40:75, 100:125].mean() > 0.99, "the face is a person"
    assert seen.original[:40, 200:].mean() < 0.01, "the flag is none"
    other = find(persons, astronaut, f"{before}{thing}{after.format(person)}")
    assert other.original is other.edited is other.absent is None
    assert "only people are known" in other.reason


def test_a_person_is_painted_over_by_the_editor_that_takes_a_segmenter(astronaut: Image) -> None:
    spec = {"plugin": "inpaint", "segmenter": {"plugin": "persons"}}
    gone = edit(spec, astronaut, "the woman")
    assert gone.status == Status.OK
    assert gone.image is not None
    changed = (gone.image.pixels != astronaut.pixels).any(2)
    assert 0.4 < changed.mean() < 0.7
    unknown = edit(spec, astronaut, "the flag")
    assert (unknown.status, unknown.image) == (Status.EDIT_INVALID, None)
    assert "only people are known here, not 'the flag'" in unknown.reason


def test_the_background_goes_and_the_person_stays_as_she_was(astronaut: Image) -> None:
    spec = {"plugin": "backdrop"}
    plain = edit(spec, astronaut, "the background")
    assert plain.image is not None
    face = np.s_[80:150, 200:250]
    assert (plain.image.pixels[face] == astronaut.pixels[face]).all()
    assert len(np.unique(plain.image.pixels[:80, 400:].reshape(-1, 3), axis=0)) == 1
    assert plain == edit(spec, astronaut, "the background"), "the same request gives the same bytes"
    for concept, verb in (("the flag", "Remove"), ("a plain background", "Add")):
        assert edit(spec, astronaut, concept, verb).status == Status.EDIT_INVALID
    assert edit(spec, Image.from_pixels(np.zeros((64, 64, 3), np.uint8)), "background").status == Status.EDIT_INVALID
    assert edit(spec, astronaut, "the background", nothing=True).image == astronaut


def test_parameters_name_an_editor_and_a_command_edits_with_it(
    cfeval: Run, astronaut: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.png").write_bytes(astronaut.png)
    Path("items.csv").write_text("image,question\na.png,What is behind her?\n")
    writer = {"plugin": "mock", "concept": "the background", "positive": "Remove the background."}
    edct = {
        "items": 1,
        "datasets": {"own": {"plugin": "files", "path": "items.csv"}},
        "vlms": {"m": {"plugin": "mock"}},
        "instruction_writers": {"w": writer},
        "editors": {"plain": {"plugin": "backdrop", "threshold": 0.6}},
        "judges": {"j": {"plugin": "lexical"}},
    }
    Path("params.yaml").write_text(yaml.safe_dump({"edct": edct}))
    status, out, err = cfeval("try", "a.png", "What is behind her?", "--out", "out")
    assert status == 0, err
    assert "verdict" in out
    before, after = (import_image(Path("out") / f"{name}.png") for name in ("original", "counterfactual"))
    assert (before.pixels != after.pixels).any(2).mean() > 0.3


def test_without_the_weights_one_line_says_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cfeval_persons.find_spec", lambda name: None)
    with pytest.raises(PluginError, match=r"pip install --no-deps mediapipe==0\.10\.21"):
        registry.build("segmenters", {"plugin": "persons"})
