"""A study of a folder as people have it: what cannot be used is said from `init` to the report; the rest goes on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from cfeval.config import load
from tests.conftest import Run
from tests.study.service import init_options, photographs, service
from tests.troubles import TROUBLES, make, photograph

COMMAND = [sys.executable, "-m", "cfeval"]
LOCAL = ["--model", "other/m@http://127.0.0.1:9/v1"]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CI", "1")
    return tmp_path


def init(cfeval: Run, *words: object) -> tuple[int, str, str]:
    return cfeval("init", "s", "--images", "photos", "--question", "What?", *LOCAL, *words)


def test_init_estimate_and_doctor_say_the_same_of_a_folder(cfeval: Run, place: Path) -> None:
    make(place / "photos", 3, TROUBLES)
    said = init(cfeval)[1].splitlines()[0]
    assert said.startswith("photos: 3 images, 10 unreadable: ")
    line = said.removeprefix("photos: ")
    assert line in cfeval("estimate", "s")[1]
    assert json.loads(cfeval("estimate", "s", "--json")[1])["items"] == {"own": 3}
    doctor = cfeval("doctor", "s", "--no-probe")[1]
    assert "ok   edct.datasets.own: items: 3" in doctor
    assert f"warn edct.datasets.own: ../photos: {line}" in doctor


def test_strict_refuses_and_writes_nothing(cfeval: Run, place: Path) -> None:
    make(place / "photos", 3, TROUBLES[:1])
    status, _, err = init(cfeval, "--strict")
    assert (status, err.count("\n")) == (2, 1)
    assert "cut.jpg" in err
    assert not (place / "s").exists()


def test_the_options_are_written_and_hold(cfeval: Run, place: Path) -> None:
    make(place / "photos", 3, [])
    assert init(cfeval, "--strict", "--recursive", "--allow-outside")[0] == 0
    edct = load(place / "s/params.yaml").edct
    assert edct is not None
    options = edct.datasets["own"].plugin_options()
    assert {"strict", "recursive", "allow_outside"} == {name for name, value in options.items() if value is True}
    assert cfeval("check", "s")[0] == 0


def test_a_folder_without_an_image_that_can_be_used_makes_no_study(cfeval: Run, place: Path) -> None:
    make(place / "photos", 0, TROUBLES)
    status, _, err = init(cfeval)
    assert (status, err.count("\n")) == (2, 1)
    assert "no image can be used: 0 images, 10 unreadable" in err
    assert not (place / "s").exists()


def test_a_table_that_names_a_private_image_makes_no_study(cfeval: Run, place: Path) -> None:
    (place / "private.png").write_bytes(photograph(1, "PNG"))
    (place / "set").mkdir()
    (place / "set/q.csv").write_text("image,question\n../private.png,What?\n")
    words = ("init", "s", "--questions", "set/q.csv", *LOCAL)
    status, _, err = cfeval(*words)
    assert (status, err.count("\n")) == (2, 1)
    assert "set/q.csv, line 2: 'set/../private.png' leads out of set" in err
    assert not (place / "s").exists()
    assert cfeval(*words, "--allow-outside")[0] == 0


@pytest.mark.slow
@pytest.mark.parametrize("archive", [False, True])
def test_a_run_goes_on_without_what_cannot_be_read_and_its_report_says_so(place: Path, archive: bool) -> None:
    photographs(place / "photos", 4)
    for trouble in TROUBLES:
        trouble.make(place / "photos" / trouble.name)

    def cfeval(*words: str) -> str:
        done = subprocess.run([*COMMAND, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-4000:]}"
        return done.stdout

    with service() as server:
        cfeval("init", "mine", *init_options(server, Path("photos"), targets=("vlm-a",)))
        if archive:
            with (place / "mine/params.yaml").open("a") as stream:
                stream.write("images: archive\n")
        said = cfeval("run", "mine", "--yes")
        assert "4 of 4 scored" in said
        assert "up to date" in cfeval("run", "mine", "--yes")
        results = place / "mine/results/mine/edct"
        page = (results / "report/index.html").read_text(encoding="utf-8")
        assert "Not used of own: 10 unreadable: CUT.PNG (broken or truncated image), cut.bmp" in page
        assert (place / "mine/logs/edct/items/own.log").read_text().count("left out: ") == len(TROUBLES)
        for trouble in TROUBLES:
            path = place / "photos" / trouble.name
            path.rmdir() if path.is_dir() else path.unlink()
        cfeval("run", "mine", "--yes")
    assert "Not used of own" not in (results / "report/index.html").read_text(encoding="utf-8")


def animals(place: Path, *classes: str) -> None:
    for name in classes:
        photographs(place / "animals" / name, 3)


def test_a_classifier_that_does_not_know_the_folders_is_told_at_init(cfeval: Run, place: Path) -> None:
    animals(place, "cat", "puma")
    status, _, err = cfeval("init", "v", "--study", "vce", "--images", "animals")
    assert (status, err.count("\n")) == (2, 1)
    assert "the classifier has no class 'cat'; 'tabby', 'tiger cat'" in err
    assert "may be meant: name it by --class cat=CLASS, or your own outputs by --classes FILE" in err
    assert not (place / "v").exists()
    (place / "animals/classes.csv").write_text("folder,class\ncat,tabby\npuma,cougar\n")
    assert cfeval("init", "v", "--study", "vce", "--images", "animals")[0] == 0
    vce = load(place / "v/params.yaml").vce
    assert vce is not None
    assert [(group.source, group.ideal) for group in vce.groups] == [("tabby", "cougar"), ("cougar", "tabby")]
    assert cfeval("check", "v")[0] == 0


def weights(path: Path, classes: int = 2) -> str:
    import timm
    from safetensors.torch import save_file

    save_file(timm.create_model("test_resnet", num_classes=classes).state_dict(), path)
    return f"timm:test_resnet@{path.name}"


def test_own_weights_are_named_by_the_folders_and_loaded_at_init(cfeval: Run, place: Path) -> None:
    animals(place, "cat", "dog")
    (place / "animals/dog/broken.jpg").write_text("no image")
    model = weights(place / "own.safetensors")
    status, out, err = cfeval("init", "v", "--study", "vce", "--images", "animals", "--model", model)
    assert status == 0, err
    assert "animals: 6 images, 1 unreadable: dog/broken.jpg (not an image in a format Pillow reads)" in out
    assert (place / "v/classes.txt").read_text() == "cat\ndog\n"
    vce = load(place / "v/params.yaml").vce
    assert vce is not None
    assert vce.images == 3
    assert vce.classifiers["own"].plugin_options()["path"] == "../own.safetensors"
    assert cfeval("check", "v")[0] == 0
    status, out, _ = cfeval("doctor", "v")
    assert (status, "timm's test_resnet with 2 classes" in out) == (0, True)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        (
            "timm:test_resnet@three.safetensors",
            "'three' has 3 outputs, and animals has 2 folders of classes; name all outputs, in their order",
        ),
        ("timm:test_resnet@none.safetensors", "no file none.safetensors"),
        ("timm:test_resnt@three.safetensors", "timm has no classifier 'test_resnt'; did you mean 'test_resnet'?"),
        ("timm:test_resnet@", "write timm:ARCHITECTURE@FILE"),
        ("keras/x", "no such plugin as 'keras'"),
    ],
)
def test_weights_that_do_not_fit_make_no_study(cfeval: Run, place: Path, model: str, says: str) -> None:
    animals(place, "cat", "dog")
    weights(place / "three.safetensors", classes=3)
    status, _, err = cfeval("init", "v", "--study", "vce", "--images", "animals", "--model", model)
    assert (status, err.count("\n")) == (2, 1)
    assert says in err
    assert not (place / "v").exists()


@pytest.mark.slow
def test_a_study_of_own_weights_runs_to_its_report(place: Path) -> None:
    animals(place, "cat", "dog")
    (place / "animals/cat/IMG_0000.jpg").write_text("no image")
    model = weights(place / "own.safetensors")
    words = ["init", "v", "--study", "vce", "--images", "animals", "--model", model, "--items", "1"]
    assert subprocess.run([*COMMAND, *words], check=True, capture_output=True).returncode == 0
    quick = {"respacing": "4"}
    overlay = {"vce": {"methods": dict.fromkeys(("dbvce", "no-x0", "unguided"), quick)}}
    (place / "quick.yaml").write_text(json.dumps(overlay))
    done = subprocess.run(
        [*COMMAND, "run", "v", "--yes", "--params", str(place / "quick.yaml")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    page = Path(done.stdout.rpartition("report: ")[2].strip()).read_text(encoding="utf-8")
    finding = page.partition('<p class="finding">')[2].partition("</p>")[0]
    assert finding.startswith("Of 2 counterfactuals for own by dbvce, ")
    assert f"\n{finding} " in done.stdout
    assert "Not used of own: 1 unusable left out: cat/IMG_0000.jpg" in page
