from collections.abc import Iterator
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from cfeval.config import load, parse
from cfeval.core import extras
from cfeval.core.errors import PluginError
from cfeval.study.components import missing_packages, require_packages
from tests.conftest import Run
from tests.workflow.study import PARAMS


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Good parameters, and the files they name."""
    monkeypatch.chdir(tmp_path)
    Path("data").mkdir()
    Path("data/mine.jsonl").write_text("")
    return deepcopy(PARAMS)


def check(cfeval: Run, params: Any) -> tuple[int, str, str]:
    Path("params.yaml").write_text(yaml.safe_dump(params))
    return cfeval("check")


def test_good_parameters_are_fine(cfeval: Run, params: dict[str, Any]) -> None:
    status, said, _ = check(cfeval, params)
    assert status == 0
    assert said == "params.yaml is valid: edct has 4 conditions, 1000 items of each dataset\n"


@pytest.mark.parametrize(
    ("section", "name", "spec", "says"),
    [
        (
            "judges",
            "j",
            {"plugin": "mok"},
            "edct.judges.j: unknown judges plugin 'mok'; did you mean 'mock'",
        ),
        (
            "judges",
            "j",
            {"plugin": "mock", "treshold": 1},
            "unknown option 'treshold' of 'mock'; did you mean",
        ),
        ("judges", "j", {"plugin": "mock", "threshold": 2}, "option 'threshold' of 'mock'"),
        (
            "instruction_writers",
            "w",
            {"plugin": "chat", "model": {"plugin": "mock"}, "prompts": "own"},
            "edct.instruction_writers.w: the file own/write.md is missing; correct the path, or put the file there",
        ),
        (
            "judges",
            "j",
            {"plugin": "panel", "judges": [{"plugin": "chat", "model": {"plugin": "mock"}, "prompts": "own"}]},
            "edct.judges.j: the file own/judge.md is missing; correct the path, or put the file there",
        ),
        (
            "judges",
            "j",
            {"plugin": "chat", "model": {"plugin": "mock", "replys": []}},
            "edct.judges.j: chat: unknown option 'replys' of 'mock'; did you mean 'replies'",
        ),
        ("datasets", "mine", {"plugin": "samples", "path": "gone.jsonl"}, "the file gone.jsonl is missing"),
        (
            "vlms",
            "v",
            {"plugin": "transformers", "model": "./models/gone"},
            "edct.vlms.v: the file models/gone/config.json is missing; correct the path, or put the file there\n",
        ),
        (
            "vlms",
            "v",
            {"plugin": "transformers", "model": "m", "top_p": 0.5},
            "edct.vlms.v: options of 'transformers': top_p has no effect at temperature 0; set a temperature or leave",
        ),
    ],
)
def test_a_bad_plugin_is_one_line_and_status_2(
    cfeval: Run, params: dict[str, Any], section: str, name: str, spec: dict[str, Any], says: str
) -> None:
    params["edct"][section][name] = spec
    status, _, complaint = check(cfeval, params)
    assert status == 2
    assert says in complaint
    assert complaint.count("\n") == 1


def test_a_missing_prompt_folder_is_named(cfeval: Run, params: dict[str, Any]) -> None:
    params["edct"]["prompts"] = "nowhere"
    assert "no folder nowhere" in check(cfeval, params)[2]


def test_a_missing_template_of_the_two_turns_is_named(cfeval: Run, params: dict[str, Any]) -> None:
    params["edct"]["prompts"] = "own"
    Path("own").mkdir()
    Path("own/answer.md").write_text("{question}")
    status, _, complaint = check(cfeval, params)
    assert status == 2
    assert "edct.prompts: no prompt explain.md in own" in complaint
    assert complaint.count("\n") == 1
    Path("own/explain.md").write_text("Why?")
    assert check(cfeval, params)[0] == 0


def test_an_unknown_key_comes_before_a_missing_one(cfeval: Run, params: dict[str, Any]) -> None:
    params["edct"]["itmes"] = params["edct"].pop("items")
    assert "unknown key 'edct.itmes'; did you mean 'items'?" in check(cfeval, params)[2]


def test_weights_that_are_not_installed_are_named_with_what_brings_them(
    cfeval: Run, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("cfeval_testbed.plugins.chat_easy_vqa.models_dir", lambda: tmp_path / "models")
    params["edct"]["vlms"]["v"] = {"plugin": "easy_vqa"}
    expected = "the file models/easy-vqa.safetensors is missing; pip install 'cfeval[world]'\n"
    assert check(cfeval, params)[2].endswith(expected)


VCE = {
    "size": 32,
    "image_sets": {"world": {"plugin": "world"}},
    "denoisers": {"world": {"plugin": "world"}},
    "classifiers": {"small": {"plugin": "world", "kind": "small"}},
    "methods": {"base": {"preset": "dbvce", "projection": "none"}},
    "groups": [{"source": "red circle", "ideal": "red square"}],
}
NO_TORCH = (
    "params.yaml: vce.denoisers.world: denoisers plugin 'world' needs the package 'torch', which is not installed: "
    "pip install 'cfeval[vce]'"
)


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(extras, "find_spec", lambda package: None if package == "torch" else find_spec(package))
    extras.missing.cache_clear()
    yield
    extras.missing.cache_clear()


@pytest.mark.usefixtures("without_torch")
def test_an_evaluation_that_lacks_a_package_leaves_the_others_fine(cfeval: Run, params: dict[str, Any]) -> None:
    status, said, _ = check(cfeval, params | {"vce": VCE})
    assert status == 0
    assert said.endswith(f"\nvce cannot run here: {NO_TORCH}\n")
    checked = parse(params | {"vce": VCE}, "params.yaml")
    require_packages(checked, "params.yaml", ["edct", "cvqa"])
    with pytest.raises(PluginError) as refused:
        require_packages(checked, "params.yaml", ["vce"])
    assert str(refused.value) == NO_TORCH


@pytest.mark.usefixtures("without_torch")
def test_where_no_evaluation_can_run_the_extra_is_named(cfeval: Run, params: dict[str, Any]) -> None:
    del params["edct"]
    assert check(cfeval, params | {"vce": VCE}) == (2, "", f"cfeval: {NO_TORCH}\n")


@pytest.mark.usefixtures("without_torch")
def test_the_test_bed_of_edct_and_cvqa_needs_no_torch() -> None:
    params = load(Path(__file__).parents[2] / "params.yaml")
    assert set(missing_packages(params, "params.yaml")) == {"vce"}
