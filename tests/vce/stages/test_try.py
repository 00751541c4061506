"""`cfeval vce try`: one image from start to end, and what is said before anything runs."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import PIL.Image
import PIL.ImageColor
import pytest

from cfeval.core.errors import InputError
from cfeval.report.bars import COLORS
from cfeval.vce.models.class_names import imagenet
from cfeval.vce.models.spelling import NAMED_BY, spec_of
from cfeval.vce.stages import try_one
from cfeval.vce.stages.targets import fitting, suggested, the_class
from cfeval.vce.wordnet import WordNet
from cfeval_testbed.scenes import CELL_CLASSES, draw_cells
from tests.conftest import Run
from tests.slow import fast_only
from tests.tiny.classifiers import images, write_names
from tests.tiny.image_classifiers import vit

NOUNS = WordNet(
    {"n1": (), "n2": ("n1",), "n3": ("n2",), "n4": ("n2",), "n5": ("n1",)},
    {"cat": ("n2",), "tabby": ("n3",), "lynx": ("n4",), "dog": ("n5",)},
)


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    """A red circle."""
    file = tmp_path / "photo.png"
    PIL.Image.fromarray(draw_cells(["red circle"], random.Random(5))[0]).save(file)
    return file


def test_one_image_from_start_to_end(cfeval: Run, photo: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    method = '{"preset": "dbvce", "respacing": "20", "start": 0.4, "scales": [1.0], "projection": "none"}'
    words = ["--classifier", "world:robust", "--target", "red square", "--denoiser", "world", "--method", method]
    status, told, err = cfeval("vce", "try", photo, *words, "--oracle", "world:small", "--out", out)
    assert (status, err) == (0, "")
    assert "the classifier sees red circle" in told
    assert "1 of 1 oracles see the target: world:small sees red square" in told
    figures = json.loads((out / "figures.json").read_text())
    assert figures["classifier_sees"] == "red square"
    assert figures["p_target"] > 0.5 > figures["p_target_before"]
    with PIL.Image.open(out / "counterfactual.png") as made, PIL.Image.open(out / "sheet.png") as sheet:
        assert made.size == (32, 32)
        assert sheet.width > 300


def test_without_a_target_it_lists_classes_and_makes_nothing(cfeval: Run, photo: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    status, told, _ = cfeval("vce", "try", photo, "--classifier", "world:standard", "--out", out)
    assert status == 0
    listed = next(line for line in told.splitlines() if line.startswith("what it sees next: "))
    assert all(name in CELL_CLASSES for name in listed.removeprefix("what it sees next: ").split(", "))
    assert not out.exists()


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("square", "'square' may mean red square, green square"),
        ("red squire", "no class 'red squire'; did you mean 'red square'"),
        ("red circle", "sees 'red circle' in the image already"),
    ],
)
def test_a_target_is_checked_before_anything_runs(
    cfeval: Run, photo: Path, tmp_path: Path, target: str, said: str
) -> None:
    words = ["--classifier", "world:standard", "--target", target, "--denoiser", "world", "--out", tmp_path / "out"]
    status, _, err = cfeval("vce", "try", photo, *words)
    assert (status, said in err) == (2, True), err
    assert not (tmp_path / "out").exists()


def test_a_target_is_checked_before_weights_are_fetched(
    cfeval: Run, photo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))  # no weights there, and the target is complained of, not they
    status, _, err = cfeval("vce", "try", photo, "--classifier", "torchvision:resnet50", "--target", "cat")
    assert (status, "'cat' may mean tabby, tiger cat, Persian cat" in err) == (2, True), err


def test_a_classifier_without_a_short_form_is_one_line(cfeval: Run, photo: Path) -> None:
    status, _, err = cfeval("vce", "try", photo, "--classifier", "random:resnet18")
    assert status == 2
    assert err.startswith("cfeval: --classifier random:resnet18: write timm:NAME, torchvision:NAME")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("state_dict:mine.pt",), "'state_dict:mine.pt' is weights alone; name their network by --architecture"),
        (("timm:resnet18", "--architecture", "resnet18"), "--architecture is for --classifier state_dict:FILE"),
        (("state_dict:mine.pt", "--architecture", "timm:resnt18"), "timm has no classifier 'resnt18'"),
    ],
)
def test_weights_without_their_network_are_one_line(
    cfeval: Run, photo: Path, words: tuple[str, ...], said: str
) -> None:
    status, _, err = cfeval("vce", "try", photo, "--classifier", *words)
    assert (status, said in err) == (2, True), err


def of_timm(folder: Path) -> list[object]:
    """A network of timm with random weights."""
    spec = {"plugin": "timm", "model": "test_resnet", "weights": "none", "seed": 4}
    return ["--classifier", json.dumps(spec), "--classes", write_names(folder)]


def of_torchvision(folder: Path) -> list[object]:
    """A network of torchvision, likewise; its classes are ImageNet's."""
    spec = {"plugin": "torchvision", "model": "squeezenet1_1", "weights": "none", "seed": 4}
    return ["--classifier", json.dumps(spec)]


def of_transformers(folder: Path) -> list[object]:
    """A checkpoint of transformers in a folder."""
    return ["--classifier", f"transformers:{vit(folder / 'model')}"]


def a_state_dict(folder: Path) -> list[object]:
    """A file of torch.save, and the name of its network in torchvision."""
    import torch
    from torchvision.models import get_model

    torch.manual_seed(0)
    torch.save(get_model("resnet18", num_classes=3).state_dict(), folder / "mine.pt")
    words = ["--classifier", f"state_dict:{folder / 'mine.pt'}", "--architecture", "resnet18"]
    return [*words, "--classes", write_names(folder)]


def a_state_dict_of_timm(folder: Path) -> list[object]:
    """The same of a network of timm, in safetensors."""
    import timm
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(0)
    network = timm.create_model("test_resnet", num_classes=3)
    save_file(network.state_dict(), folder / "mine.safetensors")
    words = ["--classifier", f"state_dict:{folder / 'mine.safetensors'}", "--architecture", "timm:test_resnet"]
    return [*words, "--classes", write_names(folder)]


@pytest.mark.parametrize(
    "own", fast_only([of_timm, of_torchvision, of_transformers, a_state_dict, a_state_dict_of_timm], a_state_dict)
)
def test_a_photograph_under_ones_own_classifier_from_start_to_end(
    cfeval: Run, tmp_path: Path, own: Callable[[Path], list[object]]
) -> None:
    photo = tmp_path / "photo.jpg"
    pixels = (127.5 * (images(5, 1, 96, 120)[0].permute(1, 2, 0) + 1)).round().byte().numpy()
    PIL.Image.fromarray(pixels).save(photo)
    words, out = own(tmp_path), tmp_path / "out"
    status, listed, err = cfeval("vce", "try", photo, *words)
    assert status == 0, err
    near = next(line for line in listed.splitlines() if line.startswith("what it sees next: "))
    target = near.removeprefix("what it sees next: ").split(", ")[0]
    denoiser = json.dumps({"plugin": "spectral", "image_size": 64})
    method = '{"preset": "dbvce", "respacing": "20", "start": 0.2, "scales": [3, 30], "projection": "none"}'
    how = ["--target", target, "--denoiser", denoiser, "--method", method, "--out", out]
    status, told, err = cfeval("vce", "try", photo, *words, *how)
    assert status == 0, err
    figures = json.loads((out / "figures.json").read_text())
    assert (figures["target"], figures["source"] != target) == (target, True)
    assert figures["p_target"] > figures["p_target_before"]
    assert 0 < figures["mean_change"] < 100
    assert f"target {target}: " in told
    assert "nothing says whether this is an adversarial example" in told
    with PIL.Image.open(out / "counterfactual.png") as made:
        assert made.size == (64, 64)


def test_a_name_is_a_word_of_a_class_or_a_kind_of_it() -> None:
    cats = ["tabby", "lynx", "dog", "cat flap", "catamaran"]
    assert fitting("cat", cats) == ["cat flap"], "words alone"
    assert fitting("cat", cats, NOUNS) == ["tabby", "lynx", "cat flap"]
    assert fitting("catam", cats) == ["catamaran"]
    assert fitting("TABBY ", cats) == ["tabby"]
    assert fitting("Cat_Flap", cats) == fitting("cat-flap", cats) == ["cat flap"]
    assert fitting("", cats) == []
    assert {"tabby", "tiger cat", "Egyptian cat", "Persian cat", "Siamese cat"} <= set(fitting("cat", imagenet()))
    assert fitting("puma", imagenet()) == ["cougar"], "another noun of the same synset"
    assert fitting("EGYPTIAN_cat", imagenet()) == ["Egyptian cat"]
    assert the_class("tabby", imagenet(), None, "--target") == "tabby"
    assert [one.name for one in suggested("tabby", cats, NOUNS, 2)] == ["lynx", "dog"]
    with pytest.raises(InputError, match="may mean tabby, lynx, cat flap; name one"):
        the_class("cat", cats, NOUNS, "--target")


def figures(**changes: Any) -> dict[str, Any]:
    sound = {"source": "cat", "target": "dog", "classifier_sees": "dog", "p_target": 0.9, "destroyed": False}
    return {**sound, "oracles_see": {"a": "dog", "b": "cat", "c": "dog"}, **changes}


@pytest.mark.parametrize(
    ("changes", "mood"),
    [
        ({}, "right"),
        ({"destroyed": True}, "wrong"),
        ({"classifier_sees": "cat"}, "wrong"),
        ({"p_target": 0.35}, "none"),
        ({"oracles_see": {"a": "cat", "b": "cat", "c": "dog"}}, "none"),
        ({"oracles_see": {"a": "dog", "b": "cat"}}, "none"),
        ({"oracles_see": {}}, "none"),
    ],
)
def test_success_is_painted_only_where_it_is_sure(changes: dict[str, Any], mood: str) -> None:
    assert try_one._mood(figures(**changes)) == mood


def test_a_destroyed_image_is_told_and_never_painted_as_a_success(cfeval: Run, photo: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    method = (
        '{"preset": "dbvce", "respacing": "10", "start": 1.0, "scales": [30], "projection": "none", "distance": "none"}'
    )
    denoiser = json.dumps({"plugin": "spectral", "image_size": 32})
    words = ["--classifier", "world:brittle", "--target", "red square", "--denoiser", denoiser, "--method", method]
    status, told, err = cfeval("vce", "try", photo, *words, "--out", out)
    assert status == 0, err
    assert "the image is destroyed" in told
    assert "it sees" in told
    assert ": it sees red square" not in told or "no counterfactual: it sees red square" in told
    with PIL.Image.open(out / "sheet.png") as sheet:
        colors = {color for _, color in sheet.convert("RGB").getcolors(1 << 24) or ()}
    assert PIL.ImageColor.getrgb(COLORS[2]) not in colors, "the color of success"


@pytest.mark.parametrize("name", ["torchvision:resnet18", "torchvision/resnet18", "timm/test_resnet", "world:standard"])
@pytest.mark.parametrize("more", ["efficientnet_lite/0", "efficientnet_lite:2", "state_dict:w.pt", "torchscript/w.pt"])
def test_a_name_is_the_same_wherever_it_is_written(name: str, more: str) -> None:
    for text in (name, more):
        spec = spec_of(text, "--classifier")
        assert spec == spec_of(text.replace(":", "/", 1), "--model") == spec_of(json.dumps(spec), "--oracle")
        assert set(spec) == {"plugin", NAMED_BY[spec["plugin"]]}
