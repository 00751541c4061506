"""params.yaml: what is wrong is named, with the nearest right name."""

import copy
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from snakemake.utils import update_config

from cfeval.config import Params, load, merged, parse, read
from cfeval.core import registry
from cfeval.core.config import Limits, Spec
from cfeval.core.errors import ParamsError
from cfeval.core.jsonl import read_csv
from cfeval.cvqa.config import FAMILIES as CVQA_FAMILIES
from cfeval.edct.config import FAMILIES
from cfeval.edct.records import Condition
from cfeval.edct.tables.conditions import TABLE1, TABLE2
from cfeval.edct.tables.scores import Published, TableData
from cfeval.vce.config import FAMILIES as VCE_FAMILIES
from cfeval.vce.config import PaperName, Vce
from cfeval.vce.method import Method, Preset
from cfeval.vce.models.class_names import imagenet
from cfeval.vce.plugins import image_sets
from cfeval.vce.tables.group_scores import PublishedFigure
from cfeval.vce.tables.methods import classes_of
from tests.edct.tables.study import made_of, score

ROOT = Path(__file__).parents[1]
PAPER = ROOT / "data" / "reference" / "edct-2025.csv"

BLOCK = {"dataset": ["d"], "vlm": ["m", "n"], "writer": ["w"], "editor": ["e"], "judge": ["j"]}
SCRIPTED = {"plugin": "mock"}
GOOD: dict[str, Any] = {
    "edct": {
        "items": 4,
        "seed": 1,
        "datasets": {"d": {"plugin": "world"}},
        "vlms": {"m": SCRIPTED, "n": SCRIPTED},
        "instruction_writers": {"w": SCRIPTED},
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


def test_conditions_are_the_cross_product_each_once_in_the_order_of_the_tables() -> None:
    conditions = parse(GOOD).edct.conditions()
    assert [(condition.vlm, condition.judge) for condition in conditions] == [("m", "j"), ("n", "j")]


@pytest.mark.parametrize(
    ("path", "value", "complaint"),
    [
        ("edct.itmes", 3, "unknown key 'edct.itmes'; did you mean 'items'?"),
        ("shard", 3, "unknown key 'shard'; did you mean 'shards'?"),
        ("edct.interval", {"levl": 0.9}, "unknown key 'edct.interval.levl'; did you mean 'level'?"),
        ("edct.tables.table1.0.editors", ["e"], "unknown key 'edct.tables.table1.0.editors'; did you mean 'editor'?"),
        ("edct.items", "many", "edct.items: Input should be a valid integer, .* but got 'many'"),
        ("edct.items", 0, "edct.items: Input should be greater than or equal to 1, but got 0"),
        ("shards", 10_000, "shards: Input should be less than or equal to 9999"),
        (
            "edct.tables.table2.0.judge",
            ["i"],
            "tables name the judge 'i', which edct.judges does not define; allowed: j",
        ),
        ("edct.tables.table1.0.vlm", ["mm"], "did you mean 'm'"),
        ("edct.verifiers", {"x": SCRIPTED}, "verifiers names 'x'; allowed: d"),
        (
            "edct.verifiers",
            {"d": SCRIPTED | {"repeat": 2}},
            "verifiers.d: only targets, `vlms`, are repeated; take `repeat` out",
        ),
        ("edct.datasets.d.repeat", 2, "datasets.d: only targets, `vlms`, are repeated"),
        ("edct.known", {"m": 2}, "edct.known.m: Input should be less than or equal to 1"),
        ("edct.vlms", {"../m": SCRIPTED}, "edct.vlms.../m: the name '../m' is no file name; .*: write 'm'"),
        ("edct.vlms", {"gpt 4o": SCRIPTED}, "edct.vlms.gpt 4o: the name 'gpt 4o' has a space; .*: write 'gpt-4o'"),
        ("name", "my study", "name: the name 'my study' has a space; .*: write 'my-study'"),
        ("calls", {"api_key": "sk-1"}, "calls.api_key: a key does not belong in a file .* 'key_env'"),
    ],
)
def test_a_fault_is_named_in_one_line(path: str, value: object, complaint: str) -> None:
    with pytest.raises(ParamsError, match=complaint) as error:
        parse(changed(path, value))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("edct: [", "not valid YAML"),
        ("", "the file is empty"),
        ("# edct: later\n", "the file is empty"),
        ("- 1", "keys with values are needed"),
        ("edct: {items: 1}", "Field required"),
        ("edct:\n  items: 3\n  seed: 1\n  items: 4\n", "line 4: the key 'items' stands twice, in line 2 too"),
    ],
)
def test_a_broken_file_is_one_line(tmp_path: Path, content: str, complaint: str) -> None:
    (tmp_path / "params.yaml").write_text(content)
    with pytest.raises(ParamsError, match=rf"params\.yaml.*{complaint}") as error:
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
    assert load(ROOT / "params.yaml").edct.conditions()


OVERLAYS = sorted(path.stem for path in (ROOT / "workflow" / "params").glob("*.yaml"))
UNDER = {
    "vce-imagenet-reference": ("vce-imagenet",),
    "vce-imagenet-pairs-rcsb": ("vce-imagenet-pairs",),
    "vce-imagenet-pairs-dig-in": ("vce-imagenet-pairs",),
    "vce-celebahq-age": ("vce-celebahq",),
    "vce-celebahq-time": ("vce-celebahq",),
    "vce-bddoia": ("vce-bdd100k",),
}
"""What an overlay is to be laid over, beside params.yaml."""


def overlaid(name: str) -> Params:
    """params.yaml under an overlay and what that rests on, merged as Snakemake does."""
    content = read(ROOT / "params.yaml")
    for overlay in (*UNDER.get(name, ()), name):
        update_config(content, read(ROOT / "workflow" / "params" / f"{overlay}.yaml"))
    return parse(content, name)


@pytest.mark.parametrize("name", OVERLAYS)
def test_every_overlay_is_sound_over_the_shipped_parameters(name: str) -> None:
    params = overlaid(name)
    assert params.edct.conditions() or params.edct.pair_conditions()
    for study, families in ((params.edct, FAMILIES), (params.vce, VCE_FAMILIES), (params.cvqa, CVQA_FAMILIES)):
        for section, family in families.items():
            for spec in getattr(study, section).values():
                registry.check(family, spec.plugin_options(), f"{name}: {section}")


@pytest.mark.parametrize("name", OVERLAYS)
def test_the_command_of_an_overlay_names_the_files_it_needs(name: str) -> None:
    text = (ROOT / "workflow" / "params" / f"{name}.yaml").read_text(encoding="utf-8")
    files = " ".join(f"workflow/params/{overlay}.yaml" for overlay in (*UNDER.get(name, ()), name))
    assert re.search(rf"snakemake --cores 2 --configfile\s+(# )?{files}( -- (vce|cvqa))?$", text, re.MULTILINE)


def with_paper(conditions: Sequence[Condition]) -> TableData:
    """An item of each condition, and the paper's figures."""
    return made_of([score(condition, "a") for condition in conditions], published=read_csv(PAPER, Published))


def test_the_overlay_of_table_1_has_the_papers_conditions_and_its_figures_stand_beside_them() -> None:
    edct = overlaid("paper-table1").edct
    rows = TABLE1.rows(edct.conditions(), with_paper(edct.conditions()))
    assert {row.vlm: (row.paper_pcs, row.paper_ncc, row.paper_ccs) for row in rows} == {
        "llama-3.2-vision-11b": (0.599, 0.503, 0.435),
        "pixtral-12b": (0.605, 0.622, 0.504),
        "internvl3-14b": (0.604, 0.652, 0.556),
        "qwen2.5-vl-7b": (0.658, 0.626, 0.559),
        "gemini-2.5-flash": (0.712, 0.743, 0.674),
    }
    assert (edct.items, edct.tables.table2) == (120, ())


def test_the_overlay_of_table_2_has_the_papers_conditions_and_its_figures_stand_beside_them() -> None:
    edct = overlaid("paper-table2").edct
    conditions = [condition for block in edct.tables.table2 for condition in block.conditions()]
    rows = TABLE2.rows(conditions, with_paper(conditions))
    assert {(row.writer, row.judge, row.editor): row.paper_ccs for row in rows} == {
        ("gemini-2.5-pro", "gemini-2.5-pro", "flux.1-kontext-max"): 0.674,
        ("gemini-2.5-pro", "gemini-2.5-pro", "gemini-2.5-flash-image"): 0.657,
        ("qwen3-235b", "qwen3-235b", "flux.1-kontext-max"): 0.555,
        ("qwen3-235b", "qwen3-235b", "gemini-2.5-flash-image"): 0.584,
    }
    assert set(edct.conditions()) == set(conditions), "the condition of Table 1 is one of these"


@pytest.mark.parametrize("name", ["paper-table1", "paper-table2"])
def test_no_condition_of_a_papers_overlay_is_a_built_in_target_or_in_the_calibration_table(name: str) -> None:
    edct = overlaid(name).edct
    assert {edct.vlms[condition.vlm].plugin for condition in edct.conditions()} <= {"transformers", "openai"}
    assert not {condition.vlm for condition in edct.conditions()} & set(edct.known)


def vce_of(name: str) -> Vce:
    """The vce study under an overlay."""
    found = overlaid(name).vce
    assert found is not None
    return found


def test_the_overlay_of_imagenet_is_the_papers_study_without_its_self_targets() -> None:
    vce = vce_of("vce-imagenet")
    groups = [group for one in vce.groups for group in one.groups()]
    named = {name for group in groups for name in (group.source, group.target)}
    assert len(groups) == 6 * 11 - 2
    assert named <= set(imagenet())
    assert {(one.source, one.ideal) for one in vce.groups} == {
        ("cheetah", "leopard"),
        ("Chesapeake Bay retriever", "golden retriever"),
        ("mashed potato", "guacamole"),
        ("coral reef", "alp"),
        ("alp", "volcano"),
        ("burrito", "pizza"),
    }
    assert {vce.roles.paper[condition.classifier] for condition in vce.all_conditions()} == set(get_args(PaperName))
    assert sum(len(vce.groups_of(condition)) * vce.images for condition in vce.all_conditions()) == 29_000, (
        "as its first lines say"
    )


@pytest.mark.parametrize(("name", "mode"), [("vce-imagenet", "paper"), ("vce-imagenet-reference", "reference")])
def test_the_four_methods_of_the_paper_are_its_preset_and_what_is_left_out(name: str, mode: str) -> None:
    vce = vce_of(name)
    roles = vce.roles
    found = {part: vce.methods[getattr(roles, part) or ""] for part in ("base", "no_cone", "no_x0", "neither")}
    without = "straight" if mode == "reference" else "noisy"
    assert {part: (how.projection, how.guidance) for part, how in found.items()} == {
        "base": ("cone", "x0"),
        "no_cone": ("none", "x0"),
        "no_x0": ("cone", without),
        "neither": ("none", without),
    }
    for how in found.values():
        assert (how.mode, how.respacing, how.start, how.scales, how.lp_weight) == (mode, "200", 0.5, (0.1,), 0.15)
        assert how.prepared == (mode == "paper")
    used = {condition.method for condition in vce.all_conditions()}
    assert {getattr(roles, part) for part in found} <= used


@pytest.mark.parametrize("name", ["vce-celebahq", "vce-celebahq-age", "vce-imagenet-pairs"])
def test_the_overlays_of_the_fields_tables_run_both_directions_of_classes_with_published_figures(name: str) -> None:
    vce = vce_of(name)
    groups = {(one.source, one.ideal) for one in vce.groups}
    assert groups == {(target, source) for source, target in groups}
    published = {figure.classes for figure in read_csv(ROOT / "data/reference/vce-published.csv", PublishedFigure)}
    assert {classes_of(*pair) for pair in groups} <= published
    explained = vce.classifiers[vce.all_conditions()[0].classifier].plugin_options()
    known = imagenet() if "attribute" not in explained else (explained["attribute"], f"not {explained['attribute']}")
    assert {source for source, _ in groups} <= set(known)
    assert {vce.methods[condition.method].reject for condition in vce.all_conditions()} == {True}


@pytest.mark.parametrize(
    ("name", "preset", "plugin"),
    [
        ("vce-celebahq-time", "time", "diffusers"),
        ("vce-imagenet-pairs-rcsb", "rcsb", "i2sb"),
        ("vce-imagenet-pairs-dig-in", "dig-in", "diffusers"),
    ],
)
def test_a_method_with_a_denoiser_of_its_own_runs_on_it_with_its_presets_settings(
    name: str, preset: Preset, plugin: str
) -> None:
    vce = vce_of(name)
    used = [condition for condition in vce.all_conditions() if vce.denoisers[condition.denoiser].plugin == plugin]
    assert {condition.method for condition in used} == {preset}
    assert vce.methods[preset] == Method(preset=preset, reject=True)


@pytest.mark.parametrize("name", ["vce-bdd100k", "vce-bddoia"])
def test_the_overlays_of_driving_scenes_explain_the_action_in_both_directions_as_ace_does(name: str) -> None:
    vce = vce_of(name)
    assert {(targets.source, targets.ideal) for targets in vce.groups} == {
        ("Forward", "not Forward"),
        ("not Forward", "Forward"),
    }
    ace = vce.methods["ace"]
    assert (ace.kept_steps, ace.steps, ace.mask_threshold, ace.attack_iterations) == (100, 5, 0.05, 50)
    assert set(vce.embeddings) == {"s3"}
    assert vce.image_sets["driving"].plugin_options()["path"] == f"data/{name.removeprefix('vce-')}/forward"


def test_the_overlay_of_photographs_names_classes_that_are_there_and_needs_no_network() -> None:
    vce = vce_of("vce-photographs")
    assert {one.source for one in vce.groups} == set(image_sets.Photographs.classes)
    assert {target for one in vce.groups for target in (one.ideal, *one.others)} <= set(imagenet())
    conditions = vce.all_conditions()
    used = {
        vce.classifiers[name].plugin for name in (*vce.oracles, *(condition.classifier for condition in conditions))
    }
    assert (used, {vce.denoisers[condition.denoiser].plugin for condition in conditions}) == (
        {"efficientnet_lite"},
        {"spectral"},
    )
    assert not [condition for condition in conditions if vce.methods[condition.method].projection == "cone"]


LEAVES = st.none() | st.integers() | st.lists(st.integers(), max_size=2)
TREES = st.recursive(LEAVES, lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3), max_leaves=8)
ROOTS = st.dictionaries(st.sampled_from("abc"), TREES, max_size=3)


@given(ROOTS, ROOTS)
def test_parameters_are_merged_as_snakemake_merges_them(base: dict[str, Any], over: dict[str, Any]) -> None:
    theirs = copy.deepcopy(base)
    update_config(theirs, copy.deepcopy(over))
    before = copy.deepcopy(base)
    assert merged(base, over) == theirs
    assert base == before


def test_several_files_are_merged_in_order(tmp_path: Path) -> None:
    contents = [GOOD, {"edct": {"items": 5, "seed": 9}}, {"edct": {"items": 6}, "calls": {"offline": True}}, None]
    paths = [tmp_path / f"{number}.yaml" for number in range(len(contents))]
    for path, content in zip(paths, contents, strict=True):
        path.write_text("" if content is None else yaml.safe_dump(content))
    params = load(*paths)
    assert (params.edct.items, params.edct.seed, params.calls.offline) == (6, 9, True)
    paths[1].write_text("edct: {itmes: 5}")
    with pytest.raises(ParamsError, match=r"0\.yaml \+ .*1\.yaml.*: unknown key 'edct.itmes'"):
        load(*paths)


def test_which_gpu_a_plugin_wants_is_the_studys_affair_and_no_part_of_the_plugin() -> None:
    plain = {"plugin": "transformers", "model": "m"}
    spec = Spec.model_validate(plain | {"gpu_model": "h200", "repeat": 2})
    assert (spec.plugin_options(), spec.gpu_model) == (plain, "h200")
    with pytest.raises(ValidationError, match="gpu_model"):
        Spec.model_validate(plain | {"gpu_model": "h200 --exclusive"})


def test_a_machine_gives_its_jobs_all_gpus_unless_told_otherwise() -> None:
    assert Limits().gpu == "all"
    assert Limits.model_validate({"gpu": 2}).gpu == 2
    with pytest.raises(ValidationError, match="gpu"):
        Limits.model_validate({"gpu": "some"})


def test_the_recommended_run_has_an_exam_of_every_judge_of_texts_whose_scores_it_shows() -> None:
    edct = overlaid("audit").edct
    judges = {condition.judge for condition in edct.conditions()}
    texts = {name for name in judges if edct.judges[name].plugin != "blind"}  # which looks at images
    assert set(edct.exams) == texts == {"panel"}
    command = (ROOT / "workflow" / "params" / "audit.yaml").read_text(encoding="utf-8")
    assert f"--judge panel --out {edct.exams['panel'].removesuffix('.csv')}\n" in command


@pytest.mark.parametrize("name", ["paper-table1", "paper-table2", "paper-bench"])
def test_an_overlay_of_a_paper_says_what_it_lacks_for_a_claim(name: str) -> None:
    edct = overlaid(name).edct
    assert not edct.tables.controls
    assert set(edct.verifiers).isdisjoint(condition.dataset for condition in edct.conditions())
    text = (ROOT / "workflow" / "params" / f"{name}.yaml").read_text(encoding="utf-8")
    said = " ".join(text.replace("#", "").split())
    assert "no control" in said
    assert "it lacks" in said
