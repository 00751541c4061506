"""`cfeval vce targets`: what it prints can stand in params.yaml."""

import json
from pathlib import Path

import pytest
import yaml

from cfeval.vce.config import Targets
from cfeval.vce.models.class_names import imagenet, imagenet_synsets
from tests.conftest import Run
from tests.tiny.classifiers import ARCHITECTURE, write_names
from tests.tiny.wordnet import write_wordnet


@pytest.fixture
def classifier(tmp_path: Path) -> str:
    spec = {"plugin": "random", "architecture": ARCHITECTURE, "classes": write_names(tmp_path), "device": "cpu"}
    return json.dumps(spec)


def test_it_prints_groups_with_similarities_as_comments(cfeval: Run, tmp_path: Path, classifier: str) -> None:
    files = write_wordnet(tmp_path / "wordnet")
    status, out, err = cfeval(
        "vce", "targets", "--classifier", classifier, "--source", "ant", "--source", "cat", "--wordnet", files
    )
    assert (status, err) == (0, "")
    groups = [Targets.model_validate(group) for group in yaml.safe_load(out)["groups"]]
    assert [(one.source, one.ideal, one.others) for one in groups] == [
        ("ant", "bee", ("cat",)),
        ("cat", "ant", ("bee",)),
    ]
    assert out.splitlines()[1].endswith("# 0.333, 0.250")


def test_imagenets_classes_are_found_by_their_synset_ids(cfeval: Run, tmp_path: Path) -> None:
    ids = dict(zip(imagenet(), imagenet_synsets(), strict=True))
    lines = [
        f"{ids[name][1:]} 05 n 01 other_word 0 001 @ 00000001 n 0000 | text  \n" for name in ("crane bird", "crane")
    ]
    (tmp_path / "data.noun").write_text("00000001 05 n 01 entity 0 000 | all  \n" + "".join(lines))
    (tmp_path / "index.noun").write_text("entity n 1 1 @ 1 0 00000001  \n")
    spec = json.dumps({"plugin": "random", "architecture": ARCHITECTURE, "device": "cpu"})
    status, out, _ = cfeval(
        "vce", "targets", "--classifier", spec, "--source", "crane bird", "--count", 1, "--wordnet", tmp_path
    )
    assert status == 0
    assert yaml.safe_load(out)["groups"] == [{"source": "crane bird", "ideal": "crane", "others": []}]


def test_a_class_that_the_classifier_does_not_have_is_one_line(cfeval: Run, tmp_path: Path, classifier: str) -> None:
    files = write_wordnet(tmp_path / "wordnet")
    status, out, err = cfeval("vce", "targets", "--classifier", classifier, "--source", "aunt", "--wordnet", files)
    assert (status, out) == (2, "")
    assert err == "cfeval: --source: the classifier has no class 'aunt'; did you mean 'ant'? allowed: ant, bee, cat\n"
