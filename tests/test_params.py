"""params.yaml: what is wrong is named, with the nearest right name."""

import copy
from pathlib import Path
from typing import Any

import pytest
import yaml

from cfeval.errors import ParamsError
from cfeval.params import Params, load, parse

BLOCK = {"dataset": ["d"], "vlm": ["m", "n"], "writer": ["w"], "editor": ["e"], "judge": ["j"]}
SCRIPTED = {"backend": "scripted"}
GOOD: dict[str, Any] = {
    "edct": {
        "items": 4,
        "seed": 1,
        "datasets": {"d": {"backend": "world"}},
        "vlms": {"m": SCRIPTED, "n": SCRIPTED},
        "writers": {"w": SCRIPTED},
        "editors": {"e": SCRIPTED},
        "judges": {"j": SCRIPTED},
        "verifiers": {},
        "tables": {"table1": [BLOCK], "table2": [BLOCK | {"vlm": ["m"]}]},
    }
}


def changed(path: str, value: object) -> dict[str, Any]:
    """GOOD with one key set."""
    content = copy.deepcopy(GOOD)
    *parents, last = path.split(".")
    here: Any = content
    for part in parents:
        here = here[int(part)] if part.isdigit() else here[part]
    here[last] = value
    return content


def test_arms_are_the_cross_product_each_once_in_the_order_of_the_tables() -> None:
    arms = parse(GOOD).edct.arms()
    assert [(arm.vlm, arm.judge) for arm in arms] == [("m", "j"), ("n", "j")]


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        ("edct.itmes", 3, "unknown key 'edct.itmes'; did you mean 'items'?"),
        ("shard", 3, "unknown key 'shard'; did you mean 'shards'?"),
        ("edct.interval", {"levl": 0.9}, "unknown key 'edct.interval.levl'; did you mean 'level'?"),
        ("edct.tables.table1.0.editors", ["e"], "unknown key 'edct.tables.table1.0.editors'; did you mean 'editor'?"),
        ("edct.items", "many", "edct.items: Input should be a valid integer, .* but got 'many'"),
        ("edct.items", 0, "edct.items: Input should be greater than or equal to 1, but got 0"),
        ("shards", 1000, "shards: Input should be less than or equal to 999"),
        (
            "edct.tables.table2.0.judge",
            ["i"],
            "tables name the judge 'i', which edct.judges does not define; allowed: j",
        ),
        ("edct.tables.table1.0.vlm", ["mm"], "did you mean 'm'"),
        ("edct.verifiers", {"x": SCRIPTED}, "verifiers names 'x'; allowed: d"),
        ("edct.calibration", {"m": 2}, "edct.calibration.m: Input should be less than or equal to 1"),
        ("edct.vlms", {"../m": SCRIPTED}, "edct.vlms"),
    ],
)
def test_a_fault_is_named_in_one_line(path: str, value: object, complaint: str) -> None:
    with pytest.raises(ParamsError, match=complaint) as error:
        parse(changed(path, value))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("content", ["edct: [", "", "- 1", "edct: {items: 1}"])
def test_a_broken_file_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "params.yaml").write_text(content)
    with pytest.raises(ParamsError, match=r"params\.yaml") as error:
        load(tmp_path / "params.yaml")
    assert "\n" not in str(error.value)


def test_the_schema_describes_every_key() -> None:
    definitions = Params.model_json_schema()["$defs"]
    undescribed = [
        f"{name}.{key}"
        for name, definition in definitions.items()
        for key, schema in definition.get("properties", {}).items()
        if "description" not in schema and "$ref" not in str(schema)
    ]
    assert not undescribed


def test_the_shipped_parameters_are_sound() -> None:
    root = Path(__file__).parents[1]
    for path in [root / "params.yaml"]:
        assert load(path).edct.arms()
        assert yaml.safe_load(path.read_text())
