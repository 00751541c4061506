"""Files of weights: found in what training code puts around them, fitted, and read without running their code."""

import os
from pathlib import Path
from typing import Any

import pytest
import torch

from cfeval.core import registry
from cfeval.core.errors import InputError, PluginError
from cfeval.vce.models.classifier import IMAGENET_MEAN, IMAGENET_STD
from tests.tiny.classifiers import ARCHITECTURE, NAMES, images, network, write_script, write_weights


def build(path: object, **options: Any) -> Any:
    spec = {"plugin": "state_dict", "path": str(path), "architecture": ARCHITECTURE, "device": "cpu"}
    return registry.build("classifiers", {**spec, "num_classes": len(NAMES), **options})


@pytest.mark.slow
def test_weights_are_found_behind_any_prefix(tmp_path: Path) -> None:
    given = images()
    expected = network()(given)
    for prefix in ("", "module.", "model.", "module.model.", "_orig_mod.backbone.0."):
        classifier = build(write_weights(tmp_path / "w.pt", prefix))
        assert torch.allclose(classifier.logits(given, prepared=False), expected, atol=1e-5), prefix


def test_weights_are_found_under_the_keys_that_training_code_uses(tmp_path: Path) -> None:
    state = network().state_dict()
    for content in ({"state_dict": state, "epoch": 3}, {"model": {"state_dict": state}, "lr": 0.1}):
        torch.save(content, tmp_path / "w.pt")
        assert torch.allclose(build(tmp_path / "w.pt").logits(images(), prepared=False), network()(images()), atol=1e-5)


def test_safetensors_are_read(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    save_file(network().state_dict(), tmp_path / "w.safetensors")
    assert torch.allclose(
        build(tmp_path / "w.safetensors").logits(images(), prepared=False), network()(images()), atol=1e-5
    )


class TrainingState:
    """What a checkpoint may hold beside the weights; making it again would run a command."""

    def __init__(self, left: Path) -> None:
        self.left = left

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch {self.left}",)


@pytest.mark.parametrize("zipped", [True, False], ids=["of today", "of old"])
def test_a_checkpoint_of_the_robustness_library_is_read_and_its_code_is_not_run(tmp_path: Path, zipped: bool) -> None:
    state: dict[str, Any] = {}
    for name, tensor in network().state_dict().items():
        state |= {f"module.model.{name}": tensor, f"module.attacker.model.{name}": tensor + 1}
    for where in ("module.normalizer", "module.attacker.normalize"):
        state |= {f"{where}.new_mean": torch.tensor([0.1, 0.2, 0.3]).view(3, 1, 1)}
        state |= {f"{where}.new_std": torch.tensor([0.4, 0.5, 0.6]).view(3, 1, 1)}
    content = {"model": state, "epoch": 90, "amp": TrainingState(tmp_path / "ran")}
    torch.save(content, tmp_path / "robust.pt", _use_new_zipfile_serialization=zipped)
    classifier = build(tmp_path / "robust.pt", robust=True)
    assert not (tmp_path / "ran").exists()
    assert torch.allclose(classifier.logits(images(), prepared=False), network()(images()), atol=1e-5)
    assert classifier.robust
    assert classifier.preprocessing.mean == pytest.approx((0.1, 0.2, 0.3))
    assert classifier.preprocessing.std == pytest.approx((0.4, 0.5, 0.6))
    own = build(tmp_path / "robust.pt", mean=(0, 0, 0), std=(1, 1, 1)).preprocessing
    assert (own.mean, own.std) == ((0, 0, 0), (1, 1, 1))


def test_without_a_normalizer_the_architectures_own_preprocessing_holds(tmp_path: Path) -> None:
    preprocessing = build(write_weights(tmp_path / "w.pt"), size=64).preprocessing
    assert (preprocessing.mean, preprocessing.std) == (IMAGENET_MEAN, IMAGENET_STD)
    assert (preprocessing.size, preprocessing.resize) == (64, 73)


def test_weights_that_do_not_fit_are_one_line_with_a_few_names(tmp_path: Path) -> None:
    path = write_weights(tmp_path / "w.pt", "module.")
    with pytest.raises(
        PluginError, match=r"w.pt do not fit torchvision's resnet18 with 3 classes: 102 missing"
    ) as said:
        build(path, architecture="resnet18")
    assert str(said.value).count("\n") == 0
    assert len(str(said.value)) < 500
    with pytest.raises(PluginError, match=r"squeezenet1_1 in w.pt has 3 outputs, and 1000 classes are named"):
        build(path, num_classes=None)
    state = network().state_dict()
    del state["classifier.1.bias"]
    torch.save(state | {"head.weight": torch.ones(2)}, tmp_path / "w.pt")
    with pytest.raises(PluginError, match=r"1 missing \(classifier.1.bias\); 1 unexpected \(head.weight\)"):
        build(path)


def test_a_file_that_holds_no_weights_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "w.pt"
    with pytest.raises(InputError, match=r"w.pt: cannot be read as weights.*No such file"):
        build(path)
    for content in (b"", b"no weights", Path(write_weights(tmp_path / "whole.pt")).read_bytes()[:5000]):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"w.pt: cannot be read as weights"):
            build(path)
    torch.save({"epoch": 3, "note": "later"}, path)
    with pytest.raises(InputError, match=r"w.pt: no weights by name in it, but epoch, note"):
        build(path)


def test_the_files_that_results_depend_on_are_named_and_the_doctor_looks(tmp_path: Path) -> None:
    spec = {"plugin": "state_dict", "path": "w.pt", "architecture": "resnet5", "classes": "c.txt", "device": "cpu"}
    assert registry.dependencies("classifiers", spec) == ("w.pt", "c.txt")
    found = list(registry.diagnose("classifiers", spec))
    assert [one.fine for one in found] == [True, False]
    assert "did you mean 'resnet50'" in found[1].text or "resnet" in found[1].text


@pytest.mark.slow
def test_timms_architectures_take_weights_too(tmp_path: Path) -> None:
    import timm

    made: Any = timm.create_model("test_resnet", num_classes=3).eval()
    torch.save({"state_dict": {f"module.{k}": v for k, v in made.state_dict().items()}}, tmp_path / "w.pt")
    classifier = build(tmp_path / "w.pt", library="timm", architecture="test_resnet")
    assert torch.allclose(classifier.logits(images(), prepared=False), made(images()), atol=1e-5)


@pytest.mark.parametrize(
    ("content", "taken", "others"),
    [
        (lambda raw, ema: {"state_dict": raw, "state_dict_ema": ema}, "state_dict", ["state_dict_ema"]),
        (lambda raw, ema: {"model_ema": ema, "model": raw, "epoch": 3}, "model", ["model_ema"]),
        (lambda raw, ema: {"ema": {"module": ema}, "net": raw}, "net", ["ema.module"]),
        (lambda raw, ema: before("online_model.", raw) | before("ema_model.", ema), "ema_model", ["online_model"]),
        (
            lambda raw, ema: {"state_dict": before("net.", raw) | before("ema.", ema)},
            "state_dict.net",
            ["state_dict.ema"],
        ),
    ],
)
def test_of_several_sets_of_weights_each_can_be_had_and_which_is_told(
    tmp_path: Path, content: Any, taken: str, others: list[str]
) -> None:
    raw, ema = network(3).state_dict(), network(4).state_dict()
    torch.save(content(raw, ema), tmp_path / "w.pt")
    found = build(tmp_path / "w.pt")
    [note] = found.notes
    assert f"took '{taken}', not '{others[0]}'" in note
    given = images()
    for name in (taken, *others):
        of_ema = "ema" in name
        said = build(tmp_path / "w.pt", weights=name).logits(given, prepared=False)
        assert torch.allclose(said, network(4 if of_ema else 3)(given), atol=1e-5), name
    default = found.logits(given, prepared=False)
    assert torch.allclose(default, build(tmp_path / "w.pt", weights=taken).logits(given, prepared=False))
    with pytest.raises(InputError, match=r"no weights 'both' in it; it holds"):
        build(tmp_path / "w.pt", weights="both")


def before(prefix: str, state: dict[str, Any]) -> dict[str, Any]:
    return {f"{prefix}{name}": tensor for name, tensor in state.items()}


def test_one_set_of_weights_is_no_news(tmp_path: Path) -> None:
    state = network().state_dict()
    optimizer = {"state": {0: {"exp_avg": torch.zeros(3)}}}
    torch.save({"optimizer": optimizer, "weird": {"x": torch.zeros(2)}, "state_dict": state}, tmp_path / "w.pt")
    found = build(tmp_path / "w.pt")
    assert found.notes == ()
    assert torch.allclose(found.logits(images(), prepared=False), network()(images()), atol=1e-5)


def test_a_single_output_is_the_second_of_two_classes(tmp_path: Path) -> None:
    one = network(classes=1)
    torch.save(one.state_dict(), tmp_path / "w.pt")
    names = tmp_path / "two.txt"
    names.write_text("healthy\nill\n")
    found = build(tmp_path / "w.pt", num_classes=None, classes=str(names))
    ill = found.logits(images(), prepared=False).softmax(1)[:, found.classes.index("ill")]
    assert torch.allclose(ill, one(images()).sigmoid()[:, 0], atol=1e-6)


def test_torchscript_for_weights_is_told_as_such(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="it is TorchScript: a network with its weights, which torchscript:FILE"):
        build(write_script(tmp_path / "w.pt"))
