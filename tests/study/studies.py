"""Results of a study written by hand: what `cfeval diff` reads, and nothing else."""

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from cfeval.core.shards import shard_files, shard_of
from cfeval.edct.files import NAMES, stage_files
from cfeval.edct.records import Condition

CONDITION = ("d", "m", "w", "edct-2025", "e", "j")
Score = Mapping[str, Any]


def score(item: str, pcs: int | None, ncc: int | None, **more: Any) -> dict[str, Any]:
    """A score as the study writes it; None for both: the item failed."""
    row = dict(zip(("dataset", "vlm", "writer", "protocol", "editor", "judge"), CONDITION, strict=True))
    found = {
        "status": "ok",
        "id": item,
        "edit": 1,
        "pcs": pcs,
        "ncc": ncc,
        "ccs": None if pcs is None else pcs * (ncc or 0),
    }
    return row | found | ({} if pcs is not None else {"status": "refused"}) | more


def write(path: Path, rows: Iterable[Score], shards: int = 1) -> None:
    """Rows as CSV or JSONL, cut into shards as the workflow cuts them."""
    files = shard_files(path, shards)
    cut: list[list[Score]] = [[] for _ in files]
    for row in rows:
        cut[shard_of(row["id"], shards)].append(row)
    for file, own in zip(files, cut, strict=True):
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("w", encoding="utf-8", newline="") as stream:
            if file.suffix == ".jsonl":
                stream.writelines(json.dumps(row) + "\n" for row in own)
            elif own:
                out = csv.DictWriter(stream, own[0], lineterminator="\n")
                out.writeheader()
                out.writerows(own)


def write_edct(
    root: Path, scores: list[Score], shards: int = 1, asked: bool = True, name: str = "", **params: Any
) -> Path:
    """A project's folder with the scores of one condition, what was asked and answered, and parameters."""
    results = root / "results" / name / "edct"
    results.mkdir(parents=True, exist_ok=True)
    said = root / "results" / name / "params.yaml" if name else root / "params.yaml"
    said.write_text(yaml.safe_dump({"shards": shards, "edct": params}))
    write_by_protocol(results, "scores", scores, shards)
    first = [{"id": row["id"], "question": f"What is {row['id']}?", "answer": "red"} for row in scores if asked]
    write(results / Path("baselines", *CONDITION[:2]).with_suffix(".jsonl"), first, shards)
    after = [{"id": row["id"], "edit": 1, "answer": f"saw {row['pcs']}", "status": "ok"} for row in scores if asked]
    write_by_protocol(results, "requeries", after, shards)
    return root


def write_by_protocol(results: Path, stage: str, rows: list[Score], shards: int, **names: str) -> None:
    """Rows of the condition, or of one of other names, where the workflow puts them: a file a protocol and shard."""
    condition = Condition(**{**dict(zip(NAMES, CONDITION, strict=True)), **names})
    files = stage_files(results, stage, condition, shards)
    for number, file in enumerate(files):
        write(file, [row for row in rows if shard_of(row["id"], shards) == number])


def write_table(root: Path, name: str, rows: list[Mapping[str, Any]], folder: str = "results/edct/tables") -> None:
    """A table as CSV."""
    file = root / folder / f"{name}.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as stream:
        out = csv.DictWriter(stream, rows[0], lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


JUDGED = "edct/verdicts/d/m/w/e/j"
"""Where the verdicts of the condition lie in the results."""
STEP: Mapping[str, Any] = {
    "options": {"--judge": {"plugin": "grammar", "threshold": 0.5}, "--seed": "1"},
    "code": {"cfeval.edct.stages.verdicts": "a", "cfeval.edct.plugins.judges.grammar": "b"},
    "inputs": {"cfeval:src/cfeval/edct/prompts/judge.md": "c", "data/models/vlm.safetensors": "d"},
    "packages": {"python": "3.11", "torch": "2.1"},
}
"""What it was made from besides results."""


def step(
    place: str = JUDGED,
    results: str = "results",
    sha: str = "1",
    after: str = "2",
    protocol: str = "edct-2025",
    of: str = "verdicts",
    **parts: Any,
) -> dict[str, Any]:
    """What a record says of a step that made a file at a place, from another one that has the hash `after`."""
    first, out = f"{results}/edct/requeries/d/m/w/e/{protocol}.jsonl", f"{results}/{place}/{protocol}.jsonl"
    told = {**STEP, **parts}
    options = {"": ["edct", of], "--requeries": first, **told["options"], "--out": out}
    return {**told, "options": options, "inputs": {first: after, **told["inputs"]}, "outputs": {out: sha}}


def put(project: Path, *steps: Any, place: str = JUDGED, results: str = "results") -> Path:
    """Lay a record of steps beside the file or folder that they made."""
    file = project / results / f"{place}.made.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({"steps": steps}, sort_keys=True))
    return file
