"""Classes of a study that a classifier, oracle or image set does not tell apart are named before anything runs."""

from pathlib import Path
from typing import Any

import pytest

from cfeval.config import parse
from cfeval.core.errors import ParamsError
from cfeval.study.components import check_params, unknown_classes
from cfeval.vce.models.class_names import imagenet
from tests.conftest import Run


def study(source: str = "cat", target: str = "tabby", **more: Any) -> dict[str, Any]:
    """One classifier of ImageNet's classes, whose weights are nowhere."""
    return {
        "vce": {
            "size": 224,
            "image_sets": {"own": {"plugin": "photographs"}},
            "denoisers": {"spectral": {"plugin": "spectral"}},
            "classifiers": {"resnet": {"plugin": "torchvision", "model": "resnet50"}},
            "methods": {"dbvce": {"preset": "dbvce", "projection": "none"}},
            "groups": [{"source": source, "ideal": target}],
            **more,
        }
    }


def faults(content: dict[str, Any]) -> list[str]:
    vce = parse(content, "here").vce
    assert vce is not None
    return list(unknown_classes(vce))


def test_a_name_that_is_no_class_comes_with_those_that_it_may_mean() -> None:
    own, classifier = faults(study("cat", "Egyptian_cat"))[:2]
    assert own == "vce: groups name the class 'cat', which the image set 'own' cannot tell apart; write 'Egyptian cat'"
    assert "which the classifier 'resnet' cannot tell apart; it may mean tabby, tiger cat, Persian cat" in classifier
    with pytest.raises(ParamsError, match="here: vce: groups name the class 'cat'"):
        check_params(study(), "here")


def test_classes_that_all_know_are_fine() -> None:
    assert faults(study("Egyptian cat", "espresso")) == []
    check_params(study("Egyptian cat", "espresso"), "here")


def test_an_oracle_and_the_robust_classifier_need_the_target_alone(tmp_path: Path) -> None:
    names = tmp_path / "names.txt"
    names.write_text("tabby\nespresso")
    other = {"plugin": "random", "classes": str(names), "robust": True}
    classifiers = {"resnet": {"plugin": "torchvision", "model": "resnet50"}, "other": other}
    condition = {"image_set": ["own"], "denoiser": ["spectral"], "classifier": ["resnet"], "method": ["dbvce"]}
    more = {
        **{"classifiers": classifiers, "conditions": [condition], "oracles": ["other"], "robust": "other"},
        "methods": {"dbvce": {"preset": "dbvce"}},
    }
    assert faults(study("Egyptian cat", "tabby", **more)) == []
    (line,) = faults(study("Egyptian cat", "lynx", **more))
    assert "'lynx', which the robust classifier 'other' and 1 more cannot tell apart" in line


def test_targets_that_images_are_taken_of_must_be_in_the_image_set() -> None:
    assert faults(study("Egyptian cat", "tabby")) == []
    (line,) = faults(study("Egyptian cat", "tabby", target_images=1))
    assert "'tabby', which the image set 'own' cannot tell apart" in line


def test_the_doctor_says_so_too(cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import yaml

    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    file = tmp_path / "params.yaml"
    file.write_text(yaml.safe_dump(study("Egyptian cat", "cat")))
    status, said, _ = cfeval("doctor", tmp_path, "--evaluation", "vce")
    assert status == 2
    assert "FAIL vce.groups: groups name the class 'cat', which the classifier 'resnet' cannot tell apart" in said


def test_imagenets_names_are_torchvisions_and_its_weights_have_no_others() -> None:
    from torchvision.models import get_model_weights
    from torchvision.models._meta import _IMAGENET_CATEGORIES

    assert imagenet() == tuple(_IMAGENET_CATEGORIES)
    for name in ("resnet50", "vit_h_14", "regnet_y_32gf"):
        assert all(tuple(entry.meta["categories"]) == imagenet() for entry in get_model_weights(name))
