"""`cfeval try` in the folder of a study that `cfeval init` wrote: one photograph goes through all steps."""

import re
from pathlib import Path

import pytest

from tests.conftest import Run
from tests.loopback.site import Loopback
from tests.study.service import QUESTION, init_options, photographs


def study(cfeval: Run, study_server: Loopback, place: Path, *targets: str) -> Path:
    """A study that `cfeval init` wrote, beside a folder of photographs."""
    photographs(place / "photos", 2)
    assert cfeval("init", place / "mine", *init_options(study_server, place / "photos", targets))[0] == 0
    return place / "mine"


def test_a_study_of_one_model_needs_nothing_but_image_and_question(
    cfeval: Run, study_server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study(cfeval, study_server, tmp_path, "vlm-a"))
    status, out, err = cfeval("try", "../photos/IMG_0001.jpg", QUESTION)
    assert status == 0, err
    rows = [line.split("  ")[0] for line in out.splitlines() if line[:1].strip()]
    assert rows == [
        *("model", "question", "answer", "explanation", "cited concept", "edit"),
        *("new answer", "new explanation", "verdict", "images", "calls"),
    ]
    assert "PCS 1: the new answer is consistent with the edit" in out
    assert Path("results/try/both.png").stat().st_size > 1000
    said = err.splitlines()
    assert any(line.startswith("Images and texts go to 127.0.0.1") and "vlm-a" in line for line in said), err
    assert [line for line in said if line.endswith(" …")] == [
        "Asking the model …",
        "Writing the edit …",
        "Editing the image …",
        "Asking the model about the edited image …",
        "Judging both answers …",
    ]
    sent = len(study_server.log)
    assert cfeval("try", "../photos/IMG_0001.jpg", QUESTION, "--offline")[0] == 0
    assert len(study_server.log) == sent


def test_of_several_models_the_first_is_tried_and_the_others_are_named(
    cfeval: Run, study_server: Loopback, tmp_path: Path
) -> None:
    folder = study(cfeval, study_server, tmp_path, "vlm-a", "vlm-b")
    photo = tmp_path / "photos/IMG_0000.jpg"
    status, out, err = cfeval("try", photo, QUESTION, "-C", folder)
    assert status == 0, err
    assert re.match(r"model +vlm-a \(--vlm chooses another: vlm-b\)", out)
    assert (folder / "results/try/both.png").is_file()
    _, out, _ = cfeval("-C", folder, "try", photo, QUESTION, "--vlm", "vlm-b")
    assert out.splitlines()[0].split() == ["model", "vlm-b"]


def test_a_study_without_edct_says_what_to_use(cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    photographs(Path("photos/tabby"), 1)
    photographs(Path("photos/cougar"), 1)
    assert cfeval("init", "mine", "--study", "vce", "--images", "photos", "--model", "timm/resnet18")[0] == 0
    status, _, err = cfeval("try", "../photos/tabby/IMG_0000.jpg", QUESTION, "-C", "mine")
    assert (status, err.count("\n")) == (2, 1)
    assert "no section edct, which `cfeval try` needs; for a classifier, see `cfeval vce try`" in err
