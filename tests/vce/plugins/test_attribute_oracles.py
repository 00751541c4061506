"""Oracles of attributes and VGGFace2's network: against the layers written out one by one, and files that are wrong."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional

from cfeval.core import registry
from cfeval.core.errors import InputError, ParamsError, PluginError
from cfeval.vce.interfaces import AttributeClassifier, Classifier, FeatureExtractor
from cfeval.vce.models import vggface2
from tests.slow import fast_only
from tests.tiny import classifiers
from tests.vce import measure_weights

NAMES = ("Smiling", "Young", "Wearing_Hat")
STAGES = {2: 3, 3: 4, 4: 6, 5: 3}
"""Blocks of each stage by Caffe's numbers."""


def as_caffe(weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The names under which the oracles of STEEX and DiME store the layers, behind what is around them."""
    parts = {"conv1": "1x1_reduce", "conv2": "3x3", "conv3": "1x1_increase"}
    names = {"conv1": "conv1_7x7_s2", "bn1": "conv1_7x7_s2_bn"}
    for stage, blocks in STAGES.items():
        for block in range(blocks):
            ours, theirs = f"layer{stage - 1}.{block}", f"conv{stage}_{block + 1}"
            for conv, part in parts.items():
                names |= {f"{ours}.{conv}": f"{theirs}_{part}", f"{ours}.bn{conv[-1]}": f"{theirs}_{part}_bn"}
            names |= {f"{ours}.downsample.0": f"{theirs}_1x1_proj", f"{ours}.downsample.1": f"{theirs}_1x1_proj_bn"}
    named = {
        f"feat_extract.{names[k.rpartition('.')[0]]}.{k.rpartition('.')[2]}": v
        for k, v in weights.items()
        if "fc." not in k
    }
    return named | {f"classifier.{kind}": weights[f"fc.{kind}"] for kind in ("weight", "bias")}


def by_hand(state: dict[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """The oracle's logits from stored weights: each block halves the image in its first layer, as in Caffe's ResNet."""

    def layer(name: str, x: torch.Tensor, stride: int = 1, padding: int = 0) -> torch.Tensor:
        weights = {
            kind: state.get(f"feat_extract.{name}_bn.{kind}")
            for kind in ("running_mean", "running_var", "weight", "bias")
        }
        x = functional.conv2d(x, state[f"feat_extract.{name}.weight"], None, stride, padding)
        return functional.batch_norm(x, *weights.values())  # type: ignore[arg-type]

    x = functional.max_pool2d(layer("conv1_7x7_s2", x, 2, 3).relu(), 3, 2, ceil_mode=True)
    for stage, blocks in STAGES.items():
        for block in range(1, blocks + 1):
            name, stride = f"conv{stage}_{block}", 2 if stage > 2 and block == 1 else 1
            inner = layer(f"{name}_1x1_reduce", x, stride).relu()
            inner = layer(f"{name}_1x1_increase", layer(f"{name}_3x3", inner, 1, 1).relu())
            x = (inner + (layer(f"{name}_1x1_proj", x, stride) if block == 1 else x)).relu()
    return x.mean(dim=(2, 3)) @ state["classifier.weight"].T + state["classifier.bias"]


def written(folder: Path) -> dict[str, str]:
    names = folder / "attributes.txt"
    names.write_text("\n".join(NAMES))
    labels = folder / "list_attr.txt"
    labels.write_text("2\nWearing_Hat Smiling  Young\n1.jpg  1 -1 1\n2.jpg -1  1 1\n")
    return {"attributes": str(names), "labels": str(labels)}


@pytest.fixture(scope="module")
def images() -> torch.Tensor:
    return torch.randint(0, 256, (2, 3, 64, 64), dtype=torch.uint8, generator=torch.Generator().manual_seed(1))


@pytest.mark.slow
def test_the_published_oracles_weights_are_found_by_their_names_and_decide_as_written_out(
    tmp_path: Path, images: torch.Tensor
) -> None:
    torch.manual_seed(6)
    network = vggface2.untrained(len(NAMES)).eval()
    state = as_caffe(dict(network.state_dict()))
    torch.save({"model_state_dict": state, "epoch": 3}, tmp_path / "checkpoint.tar")
    spec = {
        "plugin": "vggface2",
        "device": "cpu",
        "size": 64,
        "path": str(tmp_path / "checkpoint.tar"),
        **written(tmp_path),
    }
    oracle: Any = registry.build("attribute_classifiers", spec)
    resized = functional.interpolate(images / 127.5 - 1, size=(64, 64), mode="bicubic", align_corners=False)
    with torch.no_grad():
        expected = by_hand(state, resized)
        assert torch.allclose(oracle.network(resized), expected, rtol=1e-3, atol=1e-4)
    assert torch.equal(oracle.decisions(images), expected > 0)
    assert oracle.labels.tolist() == [[False, True, True], [True, True, False]], "in the order of the outputs"


@pytest.mark.slow
def test_the_embedding_takes_blue_green_red_without_their_means(images: torch.Tensor) -> None:
    spec = {"plugin": "vggface2", "device": "cpu", "weights": str(measure_weights.vggface2())}
    extractor: FeatureExtractor = registry.build("feature_extractors", spec)
    weights = vggface2.weights_in(measure_weights.vggface2())
    state = as_caffe(weights | {"fc.weight": torch.eye(2048), "fc.bias": torch.zeros(2048)})
    big = images.repeat_interleave(4, dim=2).repeat_interleave(4, dim=3)[:1, :, :224, :224]  # no resizing
    blue_first = torch.stack(
        [big[:, place].float() - mean for place, mean in ((2, 91.4953), (1, 103.8827), (0, 131.0912))], 1
    )
    with torch.no_grad():
        assert torch.allclose(extractor.features(big).float(), by_hand(state, blue_first), rtol=1e-3, atol=1e-3)


def test_a_pickle_of_arrays_runs_no_code(tmp_path: Path) -> None:
    import pickle

    class Attack:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return (Path.touch, (tmp_path / "ran",))

    (tmp_path / "bad.pkl").write_bytes(pickle.dumps({"conv1.weight": np.zeros(1), "a": Attack()}, protocol=2))
    with pytest.raises(PluginError, match=r"bad\.pkl do not fit VGGFace2's ResNet-50"):
        registry.build(
            "feature_extractors", {"plugin": "vggface2", "device": "cpu", "weights": str(tmp_path / "bad.pkl")}
        )
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", fast_only(["state_dict", "world"], "world"))
def test_an_oracle_decides_each_image_on_its_own(name: str, tmp_path: Path) -> None:
    spec: dict[str, Any] = {"plugin": name}
    if name == "state_dict":
        path = classifiers.write_weights(tmp_path / "weights.pt", "module.")
        spec |= {"device": "cpu", "architecture": classifiers.ARCHITECTURE, "path": path, **written(tmp_path)}
    oracle: AttributeClassifier = registry.build("attribute_classifiers", spec)
    shown = torch.randint(0, 256, (5, 3, 32, 32), dtype=torch.uint8, generator=torch.Generator().manual_seed(2))
    together = oracle.decisions(shown)
    assert (together.shape, together.dtype) == ((5, len(oracle.attributes)), torch.bool)
    assert torch.equal(torch.cat([oracle.decisions(one[None]) for one in shown]), together)
    assert oracle.labels is not None
    assert oracle.labels.shape[1] == len(oracle.attributes)
    assert all(finding.fine for finding in registry.diagnose("attribute_classifiers", spec))


def test_every_oracle_has_a_test() -> None:
    assert set(registry.names("attribute_classifiers")) == {"state_dict", "vggface2", "world"}


def test_the_built_in_oracle_sees_the_parts_of_cells_and_knows_that_they_exclude_each_other() -> None:
    from cfeval.core.registry import build

    oracle: AttributeClassifier = build("attribute_classifiers", {"plugin": "world"})
    labels = ["red circle", "blue star"]
    cells = [one.image.pixels for one in build("image_sets", {"plugin": "world"}).images(labels, 8, 32, 1)]
    seen = oracle.decisions(torch.from_numpy(np.stack(cells)).permute(0, 3, 1, 2)).numpy()
    wanted = [[name in labels[n // 8].split() for name in oracle.attributes] for n in range(16)]
    assert (seen == wanted).all(axis=1).mean() > 0.9
    assert oracle.of_class("red circle") == {"red", "circle"}
    assert oracle.of_class("zebra") is None
    assert np.corrcoef(np.asarray(oracle.labels).T)[0, 1] == pytest.approx(-1 / 7)  # eight colors, equally frequent


def test_one_attribute_of_a_network_is_a_classifier_of_two_classes(tmp_path: Path) -> None:
    names = tmp_path / "names.json"
    names.write_text(json.dumps(["ant", "bee", "cat"]))
    spec = {"plugin": "state_dict", "path": classifiers.write_weights(tmp_path / "w.pt"), "classes": str(names)}
    spec |= {"device": "cpu", "architecture": classifiers.ARCHITECTURE}
    whole: Classifier = registry.build("classifiers", spec)
    bee: Classifier = registry.build("classifiers", spec | {"attribute": "bee"})
    shown = classifiers.images(count=2)
    assert bee.classes == registry.class_names("classifiers", spec | {"attribute": "bee"}) == ("bee", "not bee")
    probability = bee.logits(shown).softmax(dim=1)[:, 0]
    assert torch.allclose(probability, torch.sigmoid(whole.logits(shown)[:, 1]))
    with pytest.raises(InputError, match="no attribute 'be'; did you mean 'bee'"):
        registry.build("classifiers", spec | {"attribute": "be"})
    with pytest.raises(ParamsError, match="name the file with the names of the outputs"):
        registry.check("classifiers", {**spec, "classes": "", "attribute": "bee"}, "here")


@pytest.mark.slow
def test_a_last_layer_that_stands_apart_from_the_others_is_found(tmp_path: Path) -> None:
    """As STEEX stores its classifiers: the trunk in a module of its own, and `classifier` beside it."""
    from torchvision.models import densenet121

    torch.manual_seed(1)
    state = densenet121(num_classes=2).state_dict()
    apart = {n if n.startswith("classifier.") else f"feat_extract.feat_extract.{n}": v for n, v in state.items()}
    torch.save({"model_state_dict": apart}, tmp_path / "checkpoint.tar")
    from cfeval.vce.models.checkpoints import stored

    found = stored(tmp_path / "checkpoint.tar", densenet121(num_classes=2)).weights
    assert {name: tensor.shape for name, tensor in found.items()} == {
        name: tensor.shape for name, tensor in state.items()
    }


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Smiling Young\n1.jpg 1 1\n", "no column 'Wearing_Hat'"),
        ("Smiling,Young,Wearing_Hat\n1.jpg,1,2,1\n", "line 1 of the labels is not a name and 3 of 1, -1 or 0"),
    ],
)
def test_a_wrong_table_of_labels_is_one_line(text: str, said: str, tmp_path: Path) -> None:
    from cfeval.vce.models.attributes import read_labels

    (tmp_path / "labels.csv").write_text(text)
    with pytest.raises(InputError, match=said):
        read_labels(tmp_path / "labels.csv", NAMES)
