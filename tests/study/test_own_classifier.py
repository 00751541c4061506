"""One's own classifier to a study: every way of naming it, folders and classes, what is told before a run."""

import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import save_file

from cfeval.config import load
from cfeval.study import init
from tests.conftest import Run
from tests.tiny.classifiers import write_colors
from tests.tiny.own_networks import trained, write_module


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with images of two colors, and a module that makes networks."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    write_colors(tmp_path / "photos")
    write_module(tmp_path)
    (tmp_path / "names.txt").write_text("blue\nred\n")
    yield tmp_path
    sys.modules.pop("own_colors", None)


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Weights of a network that tells blue from red, in this order, in several wrappings."""
    folder = tmp_path_factory.mktemp("weights")
    network = trained(folder / "mine.pt")
    state = network.state_dict()
    save_file(state, folder / "mine.safetensors")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that TorchScript is no longer developed
        torch.jit.trace(network, torch.zeros(1, 3, 64, 64)).save(folder / "script.pt")  # type: ignore[no-untyped-call]
    averaged = {f"module.{name}": tensor for name, tensor in state.items()}
    torch.save({"model": state, "model_ema": averaged, "epoch": 3}, folder / "both.pt")
    return folder


def made(cfeval: Run, *words: object) -> tuple[Any, str]:
    """The parameters of a new study, and what init printed."""
    status, out, err = cfeval("init", "v", "--study", "vce", "--images", "photos", *words)
    assert status == 0, err
    study = load(Path("v/params.yaml")).vce
    assert study is not None
    return study, out


def refused(cfeval: Run, *words: object) -> str:
    """The one line with which init refuses; nothing is written."""
    status, _, err = cfeval("init", "v", "--study", "vce", "--images", "photos", *words)
    assert (status, err.count("\n"), Path("v").exists()) == (2, 1, False), err
    return err


@pytest.mark.parametrize(
    ("named", "more"),
    [
        ("state_dict:{}/mine.pt", ["--architecture", "timm:test_resnet"]),
        ("state_dict/{}/mine.safetensors", ["--architecture", "timm/test_resnet"]),
        ("timm:test_resnet@{}/mine.pt", []),
        ("torchscript:{}/script.pt", []),
        ("own_colors:colors", []),
        ("python:own_colors:colors", []),
        ('{{"plugin": "torchscript", "path": "{}/script.pt"}}', []),
    ],
)
def test_every_form_of_an_own_network_makes_a_study_that_passes_its_check(
    cfeval: Run, place: Path, weights: Path, named: str, more: list[str]
) -> None:
    study, out = made(cfeval, "--model", named.format(weights), *more, "--classes", "names.txt")
    assert "reads 12 of 12 of your images rightly" in out
    assert "images become " in out
    assert [(group.source, group.ideal) for group in study.groups] == [("blue", "red"), ("red", "blue")]
    assert study.oracles == ("probe",), "another family that knows these classes"
    assert {condition.classifier for condition in study.all_conditions()} == set(study.classifiers) - {"probe"}
    status, told, err = cfeval("check", "v")
    assert status == 0, err
    assert "reads 12 of 12 of your images rightly" in told


def test_a_file_of_names_is_kept_whatever_it_is_called(cfeval: Run, place: Path) -> None:
    (place / "classes.txt").write_text("red\nblue\n")  # not the order of the folders
    study, out = made(cfeval, "--model", "own_colors:swapped", "--classes", "classes.txt")
    assert "reads 12 of 12" in out
    assert study.classifiers["own_colors-swapped"].plugin_options()["classes"] == "../classes.txt"
    assert not (place / "v/classes.txt").exists()


def test_outputs_without_names_are_the_folders_where_these_fit_the_images(cfeval: Run, place: Path) -> None:
    _, out = made(cfeval, "--model", "own_colors:colors")
    assert "Wrote classes.txt" in out
    assert (place / "v/classes.txt").read_text() == "blue\nred\n"


def test_outputs_in_another_order_are_never_taken_silently(cfeval: Run, place: Path) -> None:
    said = refused(cfeval, "--model", "own_colors:swapped")
    assert "as blue, red it reads 0 of 12 images rightly, as red, blue more" in said
    assert "by --classes FILE" in said


def test_a_terminal_is_asked_for_the_order(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str]] = []

    def prompt(question: str, default: str | None = None) -> str:
        asked.append((question, default or ""))
        return default or ""

    monkeypatch.setattr("typer.prompt", prompt)
    monkeypatch.setattr(init.Answers, "__init__", lambda self, terminal: setattr(self, "terminal", True))
    init.run(Path("v"), "vce", images=Path("photos"), model_=["own_colors:swapped"])
    assert asked[0][1] == "red, blue"
    assert (place / "v/classes.txt").read_text() == "red\nblue\n"


def test_names_in_a_wrong_order_are_told_with_what_mends_them(cfeval: Run, place: Path) -> None:
    _, out = made(cfeval, "--model", "own_colors:swapped", "--classes", "names.txt")
    assert "reads 0 of 12 of your images rightly" in out
    assert "In another order of its outputs it would read 12" in out


def test_a_file_with_raw_and_averaged_weights_says_which_were_taken(cfeval: Run, place: Path, weights: Path) -> None:
    words = ("--model", f"timm:test_resnet@{weights / 'both.pt'}", "--classes", "names.txt")
    _, out = made(cfeval, *words)
    assert "took 'model', not 'model_ema.module' (`weights` chooses)" in out


@pytest.mark.parametrize("value", ["nan", "inf", "-inf"])
def test_outputs_that_are_no_numbers_are_refused_everywhere(cfeval: Run, place: Path, value: str) -> None:
    write_module(place, "broken_colors", value)
    try:
        words = ("--model", "broken_colors:nan", "--classes", "names.txt")
        assert "its outputs are not finite" in refused(cfeval, *words)
        photo = place / "photos/red/00.png"
        for more in ((), ("--target", "blue")):
            args = ("vce", "try", photo, "--classifier", "broken_colors:nan", "--classes", "names.txt", *more)
            status, _, err = cfeval(*args)
            assert (status, "its outputs are not finite" in err, err.count("\n")) == (2, True, 1), err
        made(cfeval, "--model", "own_colors:colors", "--classes", "names.txt")
        params = place / "v/params.yaml"
        params.write_text(params.read_text().replace('"own_colors:colors"', '"broken_colors:nan"'))
        status, _, err = cfeval("check", "v")
        assert (status, "its outputs are not finite" in err, err.count("\n")) == (2, True, 1), err
    finally:
        sys.modules.pop("broken_colors", None)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_no_numbers_are_refused(cfeval: Run, place: Path, weights: Path, value: float) -> None:
    state = torch.load(weights / "mine.pt")
    name = next(reversed([key for key in state if key.endswith("weight")]))
    state[name].view(-1)[0] = value
    torch.save(state, "broken.pt")
    said = refused(cfeval, "--model", "timm:test_resnet@broken.pt", "--classes", "names.txt")
    assert f"weights of 'broken.pt' are not finite: 1 of {name}" in said


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--model", "names.txt"], "a file alone; write state_dict:names.txt with --architecture"),
        (["--model", "state_dict:none.pt", "--architecture", "resnet18"], "no file none.pt"),
        (["--model", "own_colors:colours"], "'own_colors' has no function 'colours'; did you mean 'colors'"),
        (["--model", "efficientnet_lite:0"], "name it by --class blue=CLASS"),
        (["--model", "own_colors:colors", "--class", "blue=red"], "give them by --classes FILE"),
        (["--model", "own_colors:colors", "--classes", "names.txt", "--class", "blu=red"], "FOLDER one of blue, red"),
        (
            ["--model", "own_colors:colors", "--architecture", "resnet18"],
            "--architecture is for --model state_dict:FILE",
        ),
    ],
)
def test_what_is_wrong_is_one_line_with_the_option_that_mends_it(
    cfeval: Run, place: Path, words: list[str], says: str
) -> None:
    assert says in refused(cfeval, *words)


def test_folders_are_matched_with_the_classes_of_the_classifier(cfeval: Run, place: Path) -> None:
    (place / "names.txt").write_text("Deep Blue\nred\n")
    assert "--class blue=CLASS" in refused(cfeval, "--model", "own_colors:colors", "--classes", "names.txt")
    words = ("--model", "own_colors:colors", "--classes", "names.txt", "--class", "blue=deep_blue")
    study, out = made(cfeval, *words)
    assert [group.source for group in study.groups] == ["Deep Blue", "red"]
    assert study.image_sets["own"].plugin_options()["classes"] == {"blue": "Deep Blue"}
    assert "reads 12 of 12" in out
    assert cfeval("check", "v")[0] == 0


@pytest.mark.parametrize(
    ("blue", "red"), [("0", "1"), ("no", "yes"), ("a: b", "c #d"), ("Übung", "照片"), ("1.5", "null"), ('"q"', "{x}")]
)
def test_folders_may_be_called_anything(cfeval: Run, place: Path, blue: str, red: str) -> None:
    (place / "photos/blue").rename(place / "photos" / blue)
    (place / "photos/red").rename(place / "photos" / red)
    study, out = made(cfeval, "--model", "own_colors:colors")
    assert [group.source for group in study.groups] == sorted([blue, red])
    assert "reads 12 of 12" in out
    (place / "names.txt").write_text("first\nsecond\n")
    shutil.rmtree(place / "v")
    words = ("--classes", "names.txt", "--class", f"{blue}=first", "--class", f"{red}=second")
    study, out = made(cfeval, "--model", "own_colors:colors", *words)
    assert study.image_sets["own"].plugin_options()["classes"] == {blue: "first", red: "second"}
    assert "reads 12 of 12" in out


def test_a_look_that_takes_long_is_slow_and_no_fault(cfeval: Run, place: Path) -> None:
    made(cfeval, "--model", "own_colors:colors", "--classes", "names.txt")
    source = place / "own_colors.py"
    source.write_text(source.read_text().replace("return Colors()", "import time; time.sleep(99); return Colors()"))
    done = types("check", "v", "--seconds", "1")
    assert (done.returncode, done.stderr) == (0, "")
    assert "warning: slow: not finished after 1 s; going on" in done.stdout


def types(*words: str) -> "subprocess.CompletedProcess[str]":
    """The installed command, at which nobody sits."""
    command = [str(Path(sys.executable).with_name("cfeval")), *words]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True)


@pytest.mark.slow
def test_five_commands_lead_from_weights_in_an_empty_folder_to_the_page(place: Path, weights: Path) -> None:
    (place / "mine.pt").write_bytes((weights / "mine.pt").read_bytes())

    def does(*words: str) -> str:
        done = types(*words)
        assert done.returncode == 0, f"{words}: {done.stdout[-2000:]}{done.stderr[-3000:]}"
        return done.stdout

    own = ("--model", "state_dict:mine.pt", "--architecture", "timm:test_resnet", "--classes", "names.txt")
    does("init", "my-vce", "--study", "vce", *own, "--images", "photos", "--items", "1")
    assert "reads 12 of 12 of your images rightly" in does("check", "my-vce")
    assert "costs nothing" in does("estimate", "my-vce")
    ran = does("run", "my-vce")
    assert "2 of 2 scored" in ran
    assert Path(ran.rpartition("report: ")[2].strip()).is_file()
    assert "index.html" in does("report", "my-vce")
