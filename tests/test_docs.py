"""README and pages cannot rot: commands exist, field lists are the records', figures are the tables'."""

import importlib.util
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from bench.docs import columns, facts, sources

from cfeval.config import merged, parse, read
from cfeval.core import registry
from cfeval.core.config import Spec
from cfeval.core.errors import ParamsError
from cfeval.core.records import Record, StageResult
from cfeval.cvqa.config import FAMILIES as CVQA_FAMILIES
from cfeval.datasets.sample import Sample
from cfeval.edct.config import FAMILIES
from cfeval.edct.protocols.rules import RULES
from cfeval.edct.records import Baseline, Check, Condition, Counterfactual, Instruction, Requery, Score, Verdict
from cfeval.edct.training_set.examples import Teach
from cfeval.edct.verification.chain import ChainLine
from cfeval.vce.config import FAMILIES as VCE_FAMILIES
from cfeval.verbs import GROUPS
from tests.conftest import Run

ROOT = Path(__file__).parents[1]
FILES = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/**/*.md")),
]
FILES = [name for name in FILES if name.removeprefix("docs/") not in sources.GENERATED]
PAGES = {name: (ROOT / name).read_text(encoding="utf-8") for name in FILES}
BLOCK = r"```(?:sh|console)\n(.*?)```|`([^`\n]+(?:\n[^`\n]+)?)`"
"""Commands: a block of them, or one in a line of text, which may go on in the next line."""
CODE = [pair for page in PAGES.values() for pair in re.findall(BLOCK, page, re.DOTALL)]
LINES = [
    line.strip().removeprefix("$ ").partition("    #")[0]
    for block, inline in CODE
    for line in (block or " ".join(inline.split())).splitlines()
]
COMMANDS = sorted({line for line in LINES if line.startswith("cfeval ")})
RULE = r"^(?:rule|use rule \w+ as) (\w+)"
"""What begins a rule of the workflow, and its name."""
OWN = "workflow/params/mine.yaml"
"""The overlay that a reader writes."""
SHARED = {"id", "edit", *StageResult.model_fields}


def row(start: str, page: str) -> str:
    """A page's table row that starts with a cell."""
    found = [line for line in PAGES[page].splitlines() if line.startswith(f"| {start}")]
    assert len(found) == 1, f"{page} should have one row for {start}"
    return found[0]


def loaded(path: Path, source: str) -> Any:
    """A module written to a file and loaded from it."""
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("command", COMMANDS)
def test_every_cfeval_command_of_the_docs_exists(cfeval: Run, command: str) -> None:
    words = [word for word in shlex.split(command)[1:] if word != "…"]
    depth = next((len(group.split()) + 1 for group in (" ".join(words[:2]), words[0]) if group in GROUPS), 1)
    verb = [word for word in words[:depth] if not word.startswith("-")]
    status, out, _ = cfeval(*verb, "--help")
    assert status == 0
    assert all(word in out for word in words if word.startswith("--"))


def test_every_make_target_of_the_docs_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {word for line in LINES if line.startswith("make ") for word in line.split(" ARGS=")[0].split()[1:]}
    assert named
    assert named <= targets


def test_the_changelog_names_no_make_target_that_is_gone() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    told = re.findall(r"`make ([^`]+)`", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    named = {word for words in told for word in words.partition(" ARGS=")[0].split()}
    assert named
    assert named - targets == set()


def test_every_target_of_the_docs_is_a_rule() -> None:
    rules = "".join(path.read_text() for path in [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")])
    words = [word for line in LINES if line.startswith("snakemake ") for word in line.split()[1:]]
    named = {word for word in words if re.fullmatch(r"(edct|vce|cvqa)(_\w+)?", word)}
    assert named
    assert named <= set(re.findall(RULE, rules, re.MULTILINE))


@pytest.mark.parametrize(
    ("start", "kind"),
    [
        ("`items/", Sample),
        ("`baselines/", Baseline),
        ("`instructions/", Instruction),
        ("`counterfactuals/", Counterfactual),
        ("`checks/", Check),
        ("`requeries/", Requery),
        ("`verdicts/", Verdict),
        ("`scores/", Score),
    ],
)
def test_every_field_of_every_file_is_in_the_docs(start: str, kind: type[Record]) -> None:
    fields = set(kind.model_fields) - SHARED - set(Condition.model_fields)
    missing = {field for field in fields if f"`{field}`" not in row(start, "docs/reference/files.md")}
    assert not missing


@pytest.mark.parametrize("name", ["samples", "files", "okvqa"])
def test_every_option_of_a_dataset_of_files_is_in_the_docs(name: str) -> None:
    options = set(registry.options("datasets")[name].model_fields)
    assert options == set(re.findall(r"`(\w+)`", row(f"`{name}` |", "docs/guides/own-images.md").split("|")[3]))


@pytest.mark.parametrize("page", columns.PAGES)
def test_what_every_table_shows_is_said_above_its_columns(page: str) -> None:
    above = PAGES[f"docs/{page}"].split("## Columns")[0]
    assert not [name for name in columns.PAGES[page] if not re.search(rf"^\| [^|]*`{name}`", above, re.MULTILINE)]


@pytest.mark.parametrize("name", facts.SHOWN)
def test_the_figures_of_a_page_are_those_of_the_tables(name: str) -> None:
    assert facts.shown(name) == PAGES[facts.SHOWN[name]], "run `python -m bench.docs.facts`"


def test_the_example_of_a_package_is_the_one_that_is_there() -> None:
    page, folder = PAGES["docs/guides/plugins.md"], ROOT / "packages" / "cfeval_persons"
    [source], [about] = (re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL) for kind in ("python", "toml"))
    assert source == (folder / "cfeval_persons.py").read_text(encoding="utf-8")
    assert about == (folder / "pyproject.toml").read_text(encoding="utf-8")


YAML = [(name, block) for name, text in PAGES.items() for block in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]


OF_SETS = {"fresh_of"}
"""Options of a set of cvqa beside its plugin's."""


def specifications(content: Any) -> Iterator[dict[str, Any]]:
    """Every plugin that stands somewhere in parameters."""
    if isinstance(content, dict):
        if "plugin" in content:
            yield {name: value for name, value in content.items() if name not in OF_SETS}
        for value in content.values():
            yield from specifications(value)
    elif isinstance(content, list):
        for value in content:
            yield from specifications(value)


WITHIN = ("segmenters", "program_generators", "vision_tools")
"""Families of plugins that only stand within others."""


def fault(spec: dict[str, Any]) -> str:
    """Why no family takes a specification; empty where one does."""
    families = [
        f
        for f in dict.fromkeys([*FAMILIES.values(), *VCE_FAMILIES.values(), *CVQA_FAMILIES.values(), *WITHIN])
        if spec["plugin"] in registry.names(f)
    ]
    faults = []
    for family in families:
        try:
            registry.check(family, spec, "the docs")
        except ParamsError as error:
            faults.append(str(error))
    return "" if len(faults) < len(families) else f"{spec}: {faults or 'no such plugin'}"


@pytest.mark.parametrize(("page", "block"), YAML)
def test_every_plugin_in_the_docs_is_one(page: str, block: str) -> None:
    content = yaml.safe_load(block)
    found = list(specifications(content))
    assert found or "groups" in content
    assert not [text for spec in found if (text := fault(Spec.model_validate(spec).plugin_options()))]


@pytest.mark.parametrize("block", [block for name, block in YAML if name == "docs/guides/vce.md"])
def test_an_overlay_in_the_docs_of_vce_is_sound(block: str) -> None:
    study = parse(merged(read(ROOT / "params.yaml"), yaml.safe_load(block)), "the docs").vce
    assert study is not None
    assert {study.image_sets[condition.image_set].plugin for condition in study.all_conditions()} == {"folder"}


def test_every_overlay_of_the_docs_is_there() -> None:
    named = {word for line in LINES for word in line.split() if word.startswith("workflow/params/")} - {
        OWN,
        "workflow/params/NAME.yaml",
        "workflow/params/",
    }
    assert {f"workflow/params/{path.name}" for path in (ROOT / "workflow" / "params").glob("*.yaml")} == named


@pytest.mark.slow
def test_the_recipe_for_the_papers_simclr_makes_pooled_features_its_logits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    import torchvision.models

    torch.manual_seed(0)
    network = torchvision.models.resnet50(weights=None).eval()
    [recipe] = re.findall(r"```python\n(.*?)```", PAGES["docs/guides/vce.md"], re.DOTALL)
    monkeypatch.chdir(tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(torchvision.models, "resnet50", lambda weights: network)
        exec(recipe, {})
    overlay = read(ROOT / "workflow" / "params" / "vce-imagenet.yaml")["vce"]
    simclr = registry.build("classifiers", overlay["classifiers"]["simclr"] | {"device": "cpu"})
    assert simclr.classes[:1] + simclr.classes[-1:] == ("tench", "feature 2047")
    image = torch.rand(1, 3, 64, 64) * 2 - 1
    network.fc = torch.nn.Identity()
    with torch.inference_mode():
        torch.testing.assert_close(simclr.logits(image, prepared=False), network(image), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("family", "plugin"), [("instruction_writers", "chat"), ("judges", "chat"), ("judges", "blind")]
)
def test_every_template_of_a_writer_or_judge_is_in_the_docs(family: str, plugin: str) -> None:
    files = registry.dependencies(family, {"plugin": plugin, "model": {"plugin": "mock"}}, RULES)
    assert not [file for file in files if f"`{Path(file).name}`" not in PAGES["docs/guides/real-models.md"]]


def test_every_field_of_a_line_of_the_chain_is_in_the_docs() -> None:
    fields = set(ChainLine.model_fields) - set(Condition.model_fields)
    assert not {field for field in fields if f"`{field}`" not in PAGES["docs/reference/files.md"]}


def test_every_kind_of_example_is_in_the_docs() -> None:
    assert all(f"| `{teach}` |" in PAGES["docs/guides/training-set.md"] for teach in get_args(Teach))


def test_every_profile_is_in_the_docs_and_every_one_of_the_docs_is_there() -> None:
    there = {path.name for path in (ROOT / "profiles").iterdir()}
    assert {name for line in LINES for name in re.findall(r"profiles/(\w+)", line)} == there


@pytest.mark.parametrize("name", ["gpu", "gpu_model", "mem_mb", "runtime", "api_slots"])
def test_every_resource_of_a_job_is_in_the_docs(name: str) -> None:
    assert row(f"`{name}` |", "docs/guides/cluster.md")


def test_every_rule_whose_resources_the_docs_set_is_one() -> None:
    rules = "".join(path.read_text() for path in (ROOT / "workflow" / "rules").glob("*.smk"))
    named = {
        word.split(":")[0] for line in LINES for word in line.split() if re.match(r"(edct|vce|cvqa)_\w+:\w+=", word)
    }
    assert named
    assert named <= set(re.findall(RULE, rules, re.MULTILINE))


def test_limits_of_the_profiles_are_those_of_the_docs() -> None:
    page, calls = PAGES["docs/guides/cluster.md"], read(ROOT / "params.yaml")["calls"]["max_connections"]
    default = read(ROOT / "params.yaml")["limits"]["api_slots"]
    slots = {name: read(ROOT / f"profiles/{name}/config.yaml")["resources"] for name in ("gpu", "slurm")}
    assert f"{default} × {calls} by default" in page
    assert f"{slots['gpu']['api_slots']} × {calls} in the profiles `gpu` and `slurm`" in page
    assert f"In the Slurm profile {slots['slurm']['gpu']}." in page
    assert slots["gpu"]["api_slots"] == slots["slurm"]["api_slots"]
