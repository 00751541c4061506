"""Whatever a step reads, its record names: every file that is opened is an input, an image of one, or an output.

Steps ask no audit hook: a file that nobody declared stops no run. Here a hook looks on, while every step of the three
studies runs on a few items with the plug-ins of the test bed.
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import pytest
import yaml

from cfeval import cli
from cfeval.config import merged
from cfeval.core import record
from cfeval.core.config import Calls
from cfeval.core.package import PACKAGE, carried
from cfeval.inference.remote.settings import VARIABLE
from cfeval.study.whole import Job, whole
from tests.images import image
from tests.workflow.study import CONDITION, PARAMS

PROJECT = Path(__file__).parents[2]
ONE = {"dataset": ["world"], "vlm": ["mixed-50"], "writer": ["grammar"], "editor": ["scene"], "judge": ["grammar"]}
SMALL: dict[str, Any] = {
    "edct": {
        "items": 3,
        "tables": {
            "table1": [
                ONE | {"vlm": ["mixed-50", "grounded"]},
                ONE | {"dataset": ["easy-vqa"], "vlm": ["easy-vqa"], "editor": ["repaint"]},
            ],
            "table2": [ONE | {"judge": ["lexical", "reader", "panel"]}],
            "bench": [ONE],
            "controls": [ONE],
            "calibration": [ONE | {"editor": ["diffusion-gated", "flawed-gated"], "judge": ["grammar", "noisy"]}],
            "variance": [ONE | {"vlm": ["mixed-50", "mixed-50-again"]}],
        },
        "judge_error": ["grounded"],
        "interval": {"resamples": 100},
    },
    "vce": {
        "images": 2,
        "target_images": 2,
        "cout_steps": 2,
        "groups": [{"source": "red circle", "ideal": "red square", "others": ["blue star"]}],
        "methods": {name: {"respacing": "10"} for name in ("base", "unguided", "dvce", "fastdime")},
        "conditions": [
            {
                "image_set": ["world"],
                "denoiser": ["world"],
                "classifier": ["small"],
                "method": ["base", "unguided", "dvce", "fastdime"],
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
JUDGE = ("judge", "judge_repair")
CODE = (".py", ".pyc", ".so")
OUR_OWN = (".cfeval/", ".env", "logs/")
"""What is no part of a study: what this machine remembers, keys, logs."""
_opened: list[str] | None = None
"""The files that were opened for reading, while somebody wants to know."""


def _look_on(event: str, arguments: tuple[Any, ...]) -> None:
    if _opened is not None and event == "open" and isinstance(arguments[0], str | bytes | Path):
        path, mode, flags = arguments
        reads = mode.startswith("r") if isinstance(mode, str) else not flags & 3
        if reads:
            _opened.append(path.decode() if isinstance(path, bytes) else str(path))


sys.addaudithook(_look_on)  # it stays as long as this process, and hears nothing outside of `looking_on`


@contextmanager
def looking_on() -> Iterator[list[str]]:
    """The names of files that are opened for reading."""
    global _opened
    found = _opened = []
    try:
        yield found
    finally:
        _opened = None


def undeclared(opened: list[str], steps: list[record.Step], folder: Path) -> set[str]:
    """The files of a study, or that come with cfeval, which were opened and which no record of these steps names."""
    names = {name for step in steps for kind in ("inputs", "outputs") for name in step[kind]}
    folders = tuple(name for name in names if name.endswith("/"))
    images = tuple(f"{name.removesuffix('.jsonl')}/" for name in names if name.endswith(".jsonl"))
    found = set()
    for path in opened:
        name = record._name(record._relative(str(folder / path)))
        inside = not Path(name).is_absolute() or name.startswith(str(PACKAGE))
        if (
            not inside
            or name.endswith(CODE)
            or name.startswith((*OUR_OWN, *folders))
            or Path(name).name.startswith(".")
        ):
            continue
        if not (folder / path).exists():  # an archive that was looked for
            continue
        is_image = name.endswith((".png", ".npy")) and name.startswith(images)
        if name not in names and not is_image and not name.endswith(record.ENDING):
            found.add(name)
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A study of a few items of everything, each combination of plug-ins once."""
    content = merged(yaml.safe_load((PROJECT / "params.yaml").read_text()), SMALL)
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(content, sort_keys=False))
    (tmp_path / "data").symlink_to(PROJECT / "data")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, Calls().model_dump_json())  # as the workflow tells its jobs where the cache is
    return tmp_path


def use_own_files(folder: Path) -> None:
    """Let a study have images, questions, prompts and a list of ids of its own."""
    own = folder / "own"
    for name in ("photos", "prompts", "judge"):
        (own / name).mkdir(parents=True)
    for number in range(3):
        (own / "photos" / f"{number}.png").write_bytes(image(number).png)
    (own / "samples.csv").write_text("image,question\n" + "".join(f"photos/{n}.png,What is {n}?\n" for n in range(3)))
    for study, names, there in (("conversation", ("answer", "explain"), "prompts"), ("edct-2025", JUDGE, "judge")):
        for name in names:
            shutil.copy2(PACKAGE / f"edct/prompts/{study}/{name}.md", own / there)
    params = deepcopy(PARAMS) | {"shards": 1}
    params["edct"] |= {
        "prompts": "own/prompts",
        "datasets": {"mine": {"plugin": "files", "path": "own/samples.csv"}},
        "judges": {"j": {"plugin": "chat", "model": {"plugin": "mock"}, "prompts": "own/judge"}},
        "instruction_writers": {"w": {"plugin": "mock"}},
        "tables": {"table1": [CONDITION]},
        "known": {},
    }
    (folder / "params.yaml").write_text(yaml.safe_dump(params))


def in_order(jobs: list[Job]) -> list[Job]:
    """The jobs, each after those that it is made from."""
    makers = {path: job.name for job in jobs for path in job.outputs}
    by_name = {job.name: job for job in jobs}
    graph = {job.name: {makers[path] for path in job.inputs if path in makers} for job in jobs}
    return [by_name[name] for name in TopologicalSorter(graph).static_order()]


@pytest.mark.parametrize(("study", "own"), [("edct", False), ("edct", True), ("vce", False), ("cvqa", False)])
def test_every_file_that_a_step_opens_stands_in_its_record(folder: Path, study: str, own: bool) -> None:
    use_own_files(folder) if own else None
    found: dict[str, set[str]] = {}
    jobs = in_order(whole().jobs([study]))
    for job in jobs:
        with looking_on() as opened:
            assert cli.run(job.words) == 0, job.words
        steps = record.read(record.record_of(job.words))
        assert steps
        if unnamed := undeclared(opened, steps, folder):
            found.setdefault(job.rule, set()).update(unnamed)
    assert found == {}
    assert len({job.rule for job in jobs}) >= 8


def test_a_file_that_is_not_declared_is_named(tmp_path: Path) -> None:
    prompt = carried("Snakefile").parent / "src/cfeval/edct/prompts/edct-2025/judge.md"
    step = {
        "inputs": {"results/a.jsonl": "", "data/own/": "", "cfeval:data/models/vlm.safetensors": ""},
        "outputs": {"results/b.jsonl": ""},
    }
    named = ["results/a.jsonl", "results/a/1.png", "data/own/x.csv", str(tmp_path / "results/b.jsonl")]
    weights = [str(carried("data/models/vlm.safetensors"))]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        assert undeclared([*named, *weights, "/etc/hosts", str(Path(cli.__file__))], [step], tmp_path) == set()
        others = ["notes.md", "results/c/1.png", str(prompt)]
        for name in others[:2]:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("mine")
        assert undeclared([*named, *others], [step], tmp_path) == {
            "notes.md",
            "results/c/1.png",
            "cfeval:src/cfeval/edct/prompts/edct-2025/judge.md",
        }
