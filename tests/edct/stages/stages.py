"""Every stage of the edct study as a command line, on scripted models, in a folder of its own."""

import json
from dataclasses import dataclass, field
from pathlib import Path

from cfeval.core.jsonl import write_jsonl
from cfeval.datasets.sample import Sample
from tests.conftest import Run
from tests.images import image

SCRIPTED = {"plugin": "mock"}
PROTOCOL = "edct-bench-2026"
CONDITION = {"dataset": "d", "vlm": "m", "writer": "w", "protocol": PROTOCOL, "editor": "e", "judge": "j"}
OUTPUTS = {
    "baselines": "baselines.jsonl",
    "instructions": "instructions.jsonl",
    "counterfactuals": "counterfactuals.jsonl",
    "checks": "checks.jsonl",
    "requeries": "requeries.jsonl",
    "verdicts": "verdicts.jsonl",
    "scores": "scores.csv",
}
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
    """The stages in a folder; `files` are read or written in place of those with the usual names."""

    folder: Path
    cfeval: Run
    files: dict[str, Path] = field(default_factory=dict)

    def file(self, name: str) -> Path:
        """The file of a name, such as `samples`."""
        return self.files.get(name, self.folder / f"{name}.jsonl")

    def run(self, stage: str, out: Path | None = None, **model: object) -> tuple[int, str]:
        """Run a stage; exit status and what it said. `model` are options of its scripted model."""
        options = [part for name in READS[stage] for part in (f"--{name}", self.file(name))]
        if stage in MODELS:
            options += [f"--{MODELS[stage]}", json.dumps(SCRIPTED | model)]
        options += ["--condition", json.dumps(CONDITION)] if stage == "scores" else ["--seed", "7"]
        options += (
            ["--protocol", PROTOCOL] if stage in ("instructions", "counterfactuals", "checks", "verdicts") else []
        )
        options += ["--edits", "2"] if stage == "instructions" else []
        status, _, said = self.cfeval("stage", "edct", stage, *options, "--out", out or self.folder / OUTPUTS[stage])
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
    (folder / "samples").mkdir(parents=True)
    shown = image(5)
    (folder / "samples" / "x.png").write_bytes(shown.png)
    rows = (Sample(id=f"i{n}", image=shown.ref("x.png"), question=f"what is {n}?", reference="x") for n in range(items))
    write_jsonl(folder / "samples.jsonl", rows)
    return Stages(folder, cfeval)
