"""Whatever a stage runs, its plan names: every function that is executed lies in what the static walk has found.

The walk over names (cfeval.core.provenance.sources) looks at no value, so that this is shown on real runs: every verb
of the three studies, with the plugins of the test bed, on a few items.
"""

import contextlib
import cProfile
import pkgutil
from collections.abc import Iterator
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
import yaml
from matplotlib.figure import Figure

import cfeval
from cfeval import cli
from cfeval.config import merged, parse
from cfeval.core.provenance import outside
from cfeval.core.provenance.hashes import Hashes
from cfeval.core.provenance.jobs import Job
from cfeval.core.provenance.sources import ROOT, Sources, _Walk
from cfeval.edct.protocols.rules import RULES
from cfeval.jobs import jobs

PROJECT = Path(__file__).parents[2]
SMALL: dict[str, Any] = {
    "edct": {
        "items": 3,
        "tables": {
            "table1": [
                {"dataset": ["world"], "vlm": ["mixed-50", "grounded"], "editor": ["scene"], "judge": ["grammar"]},
                {"dataset": ["easy-vqa"], "vlm": ["easy-vqa"], "editor": ["repaint"], "judge": ["grammar"]},
            ],
            "table2": [
                {
                    "dataset": ["world"],
                    "vlm": ["mixed-50"],
                    "editor": ["scene"],
                    "judge": ["lexical", "reader", "panel"],
                }
            ],
            "bench": [{"dataset": ["world"], "vlm": ["mixed-50"], "editor": ["scene"], "judge": ["grammar"]}],
            "controls": [{"dataset": ["world"], "vlm": ["mixed-50"], "editor": ["scene"], "judge": ["grammar"]}],
            "calibration": [
                {
                    "dataset": ["world"],
                    "vlm": ["mixed-50"],
                    "editor": ["diffusion-gated", "flawed-gated"],
                    "judge": ["grammar", "noisy"],
                }
            ],
            "variance": [
                {"dataset": ["world"], "vlm": ["mixed-50", "mixed-50-again"], "editor": ["scene"], "judge": ["grammar"]}
            ],
        },
        "judge_error": ["grounded"],
        "interval": {"resamples": 100},
    },
    "vce": {
        "images": 2,
        "target_images": 2,
        "cout_steps": 2,
        "groups": [{"source": "red circle", "ideal": "red square", "others": ["blue star"]}],
        "methods": {
            name: {"respacing": "10"}
            for name in ("base", "no-x0", "unguided", "classifier-guidance", "dvce", "fastdime", "maskdime")
        },
        "conditions": [
            {
                "image_set": ["world"],
                "denoiser": ["world"],
                "classifier": ["small"],
                "method": ["base", "no-x0", "unguided", "classifier-guidance", "dvce", "fastdime", "maskdime"],
                "pairs": ["ideal", "other"],
            }
        ],
        "roles": {"no_cone": None, "neither": None},
    },
    "cvqa": {
        "sets": {name: {"items": 6} for name in ("synthetic", "synthetic-fresh", "world")},
        "builds": {"built": {"items": 8}},
        "interval": {"resamples": 100},
    },
}
PLUGINS = {point.module for point in distribution("cfeval").entry_points if point.group.startswith("cfeval.")}
CALLBACKS = {
    *(("cfeval.core.cli_options", name) for name in ("writable", "existing")),
    ("cfeval.edct.files", "_known_protocol"),
    ("cfeval.core.files", "ensure_writable"),
}
"""What the command line asks of an option before a stage begins: a bad one ends the command."""


@pytest.fixture(scope="module")
def small() -> list[Job]:
    """A few items of everything, each combination of plugins once."""
    for section in SMALL["edct"]["tables"].values():
        for block in section:
            block["writer"] = ["grammar"]
    content = merged(yaml.safe_load((PROJECT / "params.yaml").read_text()), SMALL)
    return list(jobs(parse(content)))


@pytest.fixture(scope="module", autouse=True)
def everything_is_imported() -> None:
    """What runs on import is not what a stage runs."""
    for module in pkgutil.walk_packages(cfeval.__path__, "cfeval."):
        if not module.name.endswith("__main__"):
            import_module(module.name)


@pytest.fixture(scope="module")
def ran(small: list[Job], tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[tuple[Job, set[CodeType]]]]:
    """Every job with the code that it executed."""
    folder = tmp_path_factory.mktemp("traced")
    (folder / "data").symlink_to(PROJECT / "data")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        # Laid out, which asks the project's formatters, and not encoded, which runs none of its code.
        patch.setattr(Figure, "savefig", lambda figure, *_, **__: figure.draw_without_rendering())
        traced: dict[object, tuple[Job, set[CodeType]]] = {}
        for job in small:
            protocol = [word for word in job.command if word in RULES]
            kind = (frozenset(job.code.values()), *protocol)
            found = _traced(["stage", *job.command, *job.aside], kind not in traced)
            traced.setdefault(kind, (job, found))
        yield list(traced.values())


def _traced(words: list[str], wanted: bool) -> set[CodeType]:
    """Run a command; where it is wanted, the code that was executed."""
    profile = cProfile.Profile(subcalls=False, builtins=False)
    with profile if wanted else contextlib.nullcontext():
        status = cli.run(words)
    assert status == 0, words
    executed = {entry.code for entry in profile.getstats() if isinstance(entry.code, CodeType)}
    return {
        code for code in executed if code.co_filename.startswith(f"{ROOT}/cfeval/") and code.co_filename.endswith(".py")
    }


def _named(code: CodeType) -> tuple[str, str]:
    """The module and the definition that a piece of code belongs to."""
    path = Path(code.co_filename).relative_to(ROOT).with_suffix("")
    parts = path.parts[:-1] if path.name == "__init__" else path.parts
    return ".".join(parts), code.co_qualname.split(".")[0]


def _unnamed(
    job: Job, executed: set[CodeType], known: dict[str, set[tuple[str, str]]], sources: Sources
) -> set[tuple[str, str]]:
    seen: set[tuple[str, str]] = set()
    for root in job.code.values():
        if root not in known:
            walk = _Walk(sources)
            module, _, name = root.partition(":")
            walk.reach(module, name or "*")
            known[root] = set(walk.seen)
        seen |= known[root]
    found = {_named(code) for code in executed} - seen
    return {
        (module, name)
        for module, name in found
        if not outside.is_outside(module)
        and not name.startswith("<")
        and (module, name) not in CALLBACKS
        and not (module in PLUGINS and name in outside.HOOKS)
    }


def test_every_function_that_a_stage_runs_is_one_that_its_plan_names(
    ran: list[tuple[Job, set[CodeType]]],
) -> None:
    known: dict[str, set[tuple[str, str]]] = {}
    sources = Sources(None, Hashes())
    assert all(executed for _, executed in ran)
    lacking = {(job.stage, *one) for job, executed in ran for one in _unnamed(job, executed, known, sources)}
    assert not sorted(lacking)
    assert {job.stage for job, _ in ran} >= {
        "edct.requeries",
        "edct.report",
        "vce.counterfactuals",
        "vce.contact-sheet",
        "vce.report",
        "cvqa.report",
        "cvqa.builds",
    }
