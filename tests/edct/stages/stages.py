"""Every stage of the edct study as a command line, on scripted models, in a folder of its own."""

import json
from dataclasses import dataclass
from pathlib import Path

from cfeval.core.images import folder_of
from cfeval.core.jsonl import write_jsonl
from cfeval.datasets.sample import Sample
from cfeval.edct.asked import Conditions
from cfeval.edct.files import STAGES, stage_files
from cfeval.edct.records import Condition
from tests.conftest import Run
from tests.images import image
from tests.told import told

SCRIPTED = {"plugin": "mock"}
PROTOCOL = "edct-bench-2026"
CONDITION = Condition(dataset="d", vlm="m", writer="w", protocol=PROTOCOL, editor="e", judge="j")
OUTPUTS = {stage: stage_files(Path(), stage, CONDITION, 1)[0] for stage in STAGES if stage != "items"}
READS = {
    "baselines": ("samples",),
    "instructions": ("baselines", "samples"),
    "counterfactuals": ("instructions", "samples"),
    "checks": ("counterfactuals", "instructions", "samples"),
    "requeries": ("counterfactuals", "samples"),
    "verdicts": ("requeries", "baselines", "instructions", "counterfactuals"),
    "scores": ("verdicts", "checks", "samples", "baselines", "instructions"),
}
"""What each stage reads; the first file is the one that it goes through, in the others it looks things up."""
MODELS = {
    "baselines": "vlm",
    "instructions": "writer",
    "counterfactuals": "editor",
    "requeries": "vlm",
    "verdicts": "judge",
}


@dataclass
class Stages:
    """The stages of a condition in a folder of results."""

    folder: Path
    cfeval: Run

    def file(self, name: str) -> Path:
        """The file of a name, such as `samples`."""
        return stage_files(self.folder, "items" if name == "samples" else name, CONDITION, 1)[0]

    def run(self, stage: str, out: Path | None = None, **model: object) -> tuple[int, str]:
        """Run a stage; exit status and what it said. `model` are options of its scripted model.

        Args:
            stage: its name.
            out: the file to write, of scores their folder; None: the usual one.
        """
        if stage == "scores":
            study = told(self.folder.parent, Conditions(conditions=(CONDITION,)))
            options: list[object] = ["--study", study, "--results", self.folder]
            usual = self.folder / "scores" / CONDITION.dataset / CONDITION.vlm
        else:
            options = [part for name in READS[stage] for part in (f"--{name}", self.file(name))]
            options += ["--seed", "7"]
            usual = self.folder / OUTPUTS[stage]
        if stage in MODELS:
            options += [f"--{MODELS[stage]}", json.dumps(SCRIPTED | model)]
        options += (
            ["--protocol", PROTOCOL] if stage in ("instructions", "counterfactuals", "checks", "verdicts") else []
        )
        options += ["--edits", "2"] if stage == "instructions" else []
        status, _, said = self.cfeval("edct", stage, *options, "--out", out or usual)
        return status, said

    def run_all(self) -> "Stages":
        """Run them all; they must end well."""
        for stage in OUTPUTS:
            status, said = self.run(stage)
            assert status == 0, said
        return self

    def content(self, stage: str) -> bytes:
        """What a stage wrote."""
        return (self.folder / OUTPUTS[stage]).read_bytes()


def staged(folder: Path, items: int, cfeval: Run) -> Stages:
    """The stages, with samples and nothing else there."""
    stages, shown = Stages(folder, cfeval), image(5)
    images = folder_of(stages.file("samples"))
    images.mkdir(parents=True)
    (images / "x.png").write_bytes(shown.png)
    rows = (Sample(id=f"i{n}", image=shown.ref("x.png"), question=f"what is {n}?", reference="x") for n in range(items))
    write_jsonl(stages.file("samples"), rows)
    return stages
