"""What cannot fit is an error before anything runs: a line that names what, where, what would do, and what to do."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Run, image

ROOT = Path(__file__).parents[2]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """One condition of the built-in study about two photographs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").symlink_to(ROOT / "data")
    (tmp_path / "photos").mkdir()
    for number in range(2):
        (tmp_path / "photos" / f"{number}.png").write_bytes(image(number, (90, 60)).png)
    edct = copy.deepcopy(yaml.safe_load((ROOT / "params.yaml").read_text())["edct"])
    edct["datasets"]["mine"] = {"plugin": "files", "path": "photos", "question": "What is this?"}
    edct["vlms"]["said"] = {"plugin": "mock"}
    edct["editors"]["drawn"] = {"plugin": "mock"}
    first = {"dataset": ["mine"], "vlm": ["said"], "writer": ["grammar"], "editor": ["drawn"], "judge": ["grammar"]}
    edct["tables"] = {name: [] for name in edct["tables"]} | {"table1": [first]}
    return {"edct": edct | {"known": {}, "expected": {}, "judge_error": []}}


def check(cfeval: Run, study: dict[str, Any], verb: str = "check") -> tuple[int, str, str]:
    Path("params.yaml").write_text(yaml.safe_dump(study))
    return cfeval(verb)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"vlm": ["said", "grounded"]},
            "cfeval: params.yaml: edct: the target 'grounded' (plugin world) needs images of 64 × 64 pixels, which "
            "the dataset 'mine' does not have; datasets that have: easy-vqa, world; take 'grounded' out of the "
            "conditions of 'mine', or name another target there\n",
        ),
        (
            {"editor": ["flawed-gated"]},
            "cfeval: params.yaml: edct: the editor 'flawed-gated' (plugin gated) needs the record of a drawn scene, "
            "which the dataset 'mine' does not have; datasets that have: world; take 'flawed-gated' out of the "
            "conditions of 'mine', or name another editor there\n",
        ),
    ],
)
def test_what_cannot_fit_is_one_line_before_anything_runs(
    cfeval: Run, study: dict[str, Any], change: dict[str, list[str]], said: str
) -> None:
    study["edct"]["tables"]["table1"][0] |= change
    assert check(cfeval, study) == (2, "", said)
    status, out, _ = check(cfeval, study, "doctor")
    told = said.removeprefix("cfeval: params.yaml: ")
    assert (status, f"FAIL {told}" in out) == (2, True)


def test_a_conversation_about_photographs_fits_and_so_do_photographs_of_the_right_size(
    cfeval: Run, study: dict[str, Any]
) -> None:
    assert check(cfeval, study)[0] == 0
    for file in Path("photos").iterdir():
        file.write_bytes(image(int(file.stem), (64, 64)).png)
    study["edct"]["tables"]["table1"][0]["vlm"] = ["grounded"]
    assert check(cfeval, study)[0] == 0
