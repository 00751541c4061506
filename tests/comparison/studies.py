"""Results of a study written by hand: what `cfeval diff` reads, and nothing else."""

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

from cfeval.io.shards import shard_files, shard_of

ARM = ("d", "m", "w", "edct-2025", "e", "j")
Score = Mapping[str, Any]


def score(item: str, pcs: int | None, ncc: int | None, **more: Any) -> dict[str, Any]:
    """A score as the study writes it; None for both: the item failed."""
    row = dict(zip(("dataset", "vlm", "writer", "protocol", "editor", "judge"), ARM, strict=True))
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


def write_edct(root: Path, scores: list[Score], shards: int = 1, asked: bool = True, **params: Any) -> Path:
    """A project's folder with the scores of one arm, what was asked and answered, and parameters."""
    results = root / "results/edct"
    root.mkdir(parents=True, exist_ok=True)
    (root / "params.yaml").write_text(yaml.safe_dump({"shards": shards, "edct": params}))
    write(results / Path("scores", *ARM).with_suffix(".csv"), scores, shards)
    said = [{"id": row["id"], "question": f"What is {row['id']}?", "answer": "red"} for row in scores if asked]
    write(results / Path("baseline", *ARM[:2]).with_suffix(".jsonl"), said, shards)
    after = [{"id": row["id"], "edit": 1, "answer": f"saw {row['pcs']}", "status": "ok"} for row in scores if asked]
    write(results / Path("requery", *ARM[:5]).with_suffix(".jsonl"), after, shards)
    return root


def write_table(root: Path, name: str, rows: list[Mapping[str, Any]]) -> None:
    """A table as CSV."""
    file = root / f"results/tables/{name}.csv"
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", newline="") as stream:
        out = csv.DictWriter(stream, rows[0], lineterminator="\n")
        out.writeheader()
        out.writerows(rows)


def entry(rule: str, sha256: str, parameters: list[Any], **inputs: str) -> dict[str, Any]:
    """What the workflow seals about a file (workflow/provenance.py)."""
    told = sorted(repr(value) for value in parameters)
    files = {name.replace("__", "/"): f"sha256:{hash_}" for name, hash_ in inputs.items()}
    return {"rule": rule, "command": "c", "parameters": told, "inputs": files, "software": "s", "sha256": sha256}


def seal(root: Path, phase: str, entries: Mapping[str, Any]) -> None:
    """The entries of a phase of edct."""
    file = root / f"results/edct/{phase}/.provenance.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(entries))
