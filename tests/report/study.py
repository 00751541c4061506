"""The result files of a made-up study, as the pipeline lays them out."""

import json
from pathlib import Path

from cfeval.io.pictures import Picture, folder_of
from cfeval.io.records import write_csv, write_jsonl
from cfeval.io.samples import shard_files, shard_of
from cfeval.records.common import Record, Status
from cfeval.records.edct import Arm, Baseline, Counterfactual, Instruction, Requery, Sample, Score
from tests.conftest import picture
from tests.tables.study import arm, failed, score

HOSTILE = "</script><script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">\u2028&amp;"
ARMS = [arm(vlm=vlm) for vlm in ("grounded", "prior", "confabulating")]
ITEMS = 40
KINDS = ("color", "shape", "position", "count")


def ids() -> list[str]:
    """The ids of the items."""
    return [f"item-{number:03d}" for number in range(ITEMS)]


def write_study(results: Path, shards: int = 1) -> None:
    """Write every file that the report reads."""
    _write(results, "samples/world", [_sample(i) for i in ids()], shards)
    for one in ARMS:
        above = f"world/{one.vlm}"
        below = f"{above}/{one.writer}/{one.protocol}"
        _write(results, f"baseline/{above}", [_baseline(i, one) for i in ids()], shards)
        _write(results, f"instructions/{below}", [_instruction(i) for i in ids()], shards)
        _write(results, f"counterfactuals/{below}/{one.editor}", [_counterfactual(i) for i in ids()], shards)
        _write(results, f"requery/{below}/{one.editor}", [_requery(i) for i in ids()], shards)
        rows = [_score(i, one) for i in ids()]
        path = results / "scores" / f"{below}/{one.editor}/{one.judge}.csv"
        for number, file in enumerate(shard_files(path, shards)):
            write_csv(file, Score, [row for row in rows if shard_of(row.id, shards) == number])


def score_files(results: Path) -> list[Path]:
    """All score files."""
    return sorted((results / "scores").rglob("*.csv"))


def arms_json() -> str:
    """The arms as the command line takes them."""
    return json.dumps([one.model_dump() for one in ARMS])


def _write(results: Path, name: str, records: list[Record], shards: int) -> None:
    path = results / f"{name}.jsonl"
    for number, file in enumerate(shard_files(path, shards)):
        mine = [record for record in records if shard_of(record.id, shards) == number]  # type: ignore[attr-defined]
        write_jsonl(file, mine)
        for record in mine:
            if getattr(record, "image", None):
                _file(folder_of(file) / record.image.path, _picture(record.id))  # type: ignore[attr-defined]


def _file(path: Path, content: Picture) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.png)


def _picture(item: str) -> Picture:
    return picture(int(item[-3:]), size=(16, 16))


def _sample(item: str) -> Sample:
    number = int(item[-3:])
    question = HOSTILE if number == 1 else f"What color is object {number}?"
    ref = _picture(item).ref(f"{item}.png")
    return Sample(id=item, image=ref, question=question, reference="red", kind=KINDS[number % len(KINDS)])


def _baseline(item: str, of: Arm) -> Baseline:
    return Baseline(id=item, question="?", answer=f"It is red, says {of.vlm}.", explanation=HOSTILE)


def _instruction(item: str) -> Instruction:
    return Instruction(id=item, concept="red color", positive="Make the circle blue.", negative="No red remains.")


def _counterfactual(item: str) -> Counterfactual:
    if item.endswith("7"):
        return Counterfactual(id=item, seed=1, status=Status.NO_IMAGE, stage="edit", reason="the editor gave none")
    return Counterfactual(id=item, seed=1, image=_picture(item).ref(f"{item} & more.png"))


def _requery(item: str) -> Requery:
    return Requery(id=item, answer=HOSTILE, explanation="zebra" if item == "item-005" else "It is blue now.")


def _score(item: str, of: Arm) -> Score:
    if item.endswith("7"):
        return failed(of, item, Status.NO_IMAGE, stage="edit", correct=1)
    faithful = int(of.vlm == "grounded")
    return score(of, item, pcs=faithful, ncc=int(of.vlm != "prior"), correct=1, verified=1)
