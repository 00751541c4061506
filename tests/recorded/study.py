"""A whole study whose models are real, as `make real` has them, but for edits that every machine paints alike.

`make recording` runs it against llama.cpp with SmolLM2 and files what was asked and answered in `calls.zip`, an export
of the response cache; test_study.py runs it from there. Images are in that file by their hashes only.
"""

from collections.abc import Sequence
from contextlib import chdir
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import PIL.Image
import yaml
from bench.real import photographs

from cfeval import cli
from cfeval.core.config import Calls
from cfeval.inference.cli import run_export
from cfeval.inference.remote.settings import use
from cfeval.study.whole import Job, whole

ROOT = Path(__file__).parents[2]
RECORDING = Path(__file__).parent / "calls.zip"
UNLICENSED = "motorcycle_left"
"""A photograph of `make real` whose licence nobody states."""
SIDE = 128
"""Greatest height and width of the photographs, pixels."""


def lay_out(folder: Path) -> None:
    """Write a study into a folder: small photographs, the questions of `make real` about them, and its parameters."""
    images = folder / "photographs"
    photographs.lay_out(images)
    for path in images.glob("*.png"):
        with PIL.Image.open(path) as image:
            image.thumbnail((SIDE, SIDE))
            image.save(path)
    for path in images.glob("*.csv"):
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        path.write_text("".join(line for line in lines if UNLICENSED not in line), encoding="utf-8")
    (images / f"{UNLICENSED}.png").unlink()
    (folder / "params.yaml").write_text(yaml.safe_dump(params()), encoding="utf-8")


def params() -> dict[str, Any]:
    """Its parameters: the overlays of `make real` with these photographs, a painted patch for an edit and no exam."""
    edct, cvqa = (
        yaml.safe_load((ROOT / f"workflow/params/real-{name}.yaml").read_text(encoding="utf-8"))[name]
        for name in ("edct", "cvqa")
    )
    conditions = [{**block, "editor": ["patch"]} for block in edct["tables"]["table1"]]
    prompts = str(ROOT / "bench" / "real" / "prompts")
    edct |= {
        "items": 6,
        "prompts": f"{prompts}/conversation",
        "datasets": {"photographs": {"plugin": "files", "path": "photographs/items.csv"}},
        "editors": {"patch": {"plugin": "mock"}},
        "tables": edct["tables"] | {"table1": conditions, "controls": conditions},
        "verifiers": {},
        "exams": {},
    }
    for speaking in (edct["instruction_writers"]["smollm2"], edct["judges"]["smollm2"]):
        speaking["prompts"] = prompts
    cvqa["sets"]["photographs"] |= {"questions": "photographs/what-if.csv", "images": "photographs"}
    cvqa["conditions"] = [{"set": ["photographs"], "solver": ["composite"]}]
    return {"edct": edct, "cvqa": cvqa}


def run(calls: Calls, without: Sequence[str] = ()) -> list[Job]:
    """Run the steps of the study in the working folder in this process, as the workflow has them; all its jobs.

    Args:
        calls: whether models are asked, and where replies are.
        without: steps that are left out, such as `figures`.

    Raises:
        SystemExit: with the status of a step that failed.
    """
    use(calls)
    jobs = whole().jobs(["edct", "cvqa"])
    for job in jobs:
        if job.words[1] not in without and (status := cli.run(job.words)):
            raise SystemExit(status)
    return jobs


def record() -> None:
    """Make the recording; the servers of workflow/params/real-edct.yaml run. After a stop, it goes on where it was."""
    folder = ROOT / ".real" / "recording"
    folder.mkdir(exist_ok=True)
    with chdir(folder):
        lay_out(Path())
        run(Calls(cache="calls.sqlite", max_connections=4))
        run_export(Path("calls.zip"), [Path("results")], Path("calls.sqlite"))
        with ZipFile("calls.zip") as stored, ZipFile(RECORDING, "w", ZIP_DEFLATED) as packed:
            for entry in stored.infolist():
                packed.writestr(entry, stored.read(entry), ZIP_DEFLATED)  # a fifth of the bytes


if __name__ == "__main__":
    record()
