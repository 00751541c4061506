"""A study of very many items that share a few images, written as a stream."""

from pathlib import Path
from typing import Any

from cfeval.config import load
from cfeval.core.images import folder_of
from cfeval.core.jsonl import write_csv, write_jsonl
from cfeval.core.record import ENDING
from cfeval.core.records import ImageRef
from cfeval.datasets.sample import Sample
from cfeval.edct.files import STAGES, stage_files
from cfeval.edct.records import Baseline, Check, Counterfactual, Instruction, Requery, Score, Verdict
from cfeval.inference.remote.archive import export
from cfeval.inference.remote.cache import ResponseCache
from cfeval_audit.bundle.build import Study
from tests.audit.bundle.study import EDCT, recorded
from tests.edct.verification.study import PLAIN
from tests.images import image

ONE, OTHER = image(1, (8, 8)), image(2, (8, 8))
NUMBER = f"{0:07d}"
"""Of the first item, wherever its records have it."""
NAMES = {"image": ImageRef(path="image.png", sha256=ONE.sha256)}


def make(items: int, shards: int) -> None:
    """Write the study into the working folder: an item is in the shard of its number, one image a shard and stage."""
    results = Path(EDCT)
    for stage, its in STAGES.items():
        for shard, file in enumerate(stage_files(results, stage, PLAIN, shards)):
            one = [record(stage)]
            write_csv(file, its.kind, one) if file.suffix == ".csv" else write_jsonl(file, one)
            *head, line = file.read_text(encoding="utf-8").splitlines(keepends=True)
            with file.open("w", encoding="utf-8") as out:
                out.writelines(head)
                out.writelines(line.replace(NUMBER, f"{number:07d}") for number in range(shard, items, shards))
            if stage in ("items", "counterfactuals"):
                folder_of(file).mkdir(parents=True)
                (folder_of(file) / "image.png").write_bytes((ONE if stage == "items" else OTHER).png)
    (results / "calls").mkdir()
    cache = ResponseCache(Path("calls.sqlite"))
    export(cache, (), results / "calls/calls.zip")
    cache.close()
    recorded(shards)


def study() -> Study:
    """What a bundle of it is built from."""
    records = sorted(map(str, Path(EDCT).rglob(f"*{ENDING}")))
    parameters = {"params.yaml": Path("params.yaml")}
    return Study(load(Path("params.yaml")), {EDCT: "edct"}, records, parameters, "2026-11-23")


def record(stage: str) -> Any:
    """The record of a stage about the first item; those about the others differ in its number. All are scored."""
    item = f"item-{NUMBER}"
    said = {"answer": "It is red.", "explanation": f"I see a red ball at place {NUMBER}.", "model": "m"}
    moved = {"answer_moved": 1, "by_text": 0, "evaded": 0, "names_edited": 1}
    if stage == "items":
        return Sample(id=item, question="What color is the ball?", reference="red", **NAMES)
    if stage == "baselines":
        return Baseline(id=item, question="What color is the ball?", **said)
    if stage == "instructions":
        cited = {"concept": "the ball", "positive": "Make it blue.", "evidence": "object", "cited": ("the ball",)}
        return Instruction(id=item, **cited)
    if stage == "counterfactuals":
        return Counterfactual(id=item, seed=1, image=ImageRef(path="image.png", sha256=OTHER.sha256))
    if stage == "checks":
        return Check(id=item, changed_share=0.25)
    if stage == "requeries":
        return Requery(id=item, **{**said, "answer": "It is blue.", "explanation": "I see a blue ball."})
    if stage == "verdicts":
        return Verdict(id=item, scores={"pcs": 1, "ncc": 1}, stated_ccs=1, **moved)
    measured = {"pcs": 1, "ncc": 1, "ccs": 1, "mismatch": 0, "correct": 1.0, "changed_share": 0.25, "breadth": 1}
    its = {"id": item, "cluster": ONE.sha256[:16], "evidence": "object", "present": 1, **measured, **moved}
    return Score.model_validate({**PLAIN.model_dump(), **its})
