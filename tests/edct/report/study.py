"""The result files of a made-up study, as the pipeline lays them out."""

from collections.abc import Sequence
from pathlib import Path

from cfeval.core.images import Image, folder_of
from cfeval.core.jsonl import write_csv, write_jsonl
from cfeval.core.records import Record, Status
from cfeval.core.shards import shard_of
from cfeval.datasets.sample import Sample
from cfeval.edct.files import stage_files
from cfeval.edct.protocols.rules import CONTROLS, EDCT_BENCH_2026
from cfeval.edct.records import (
    Baseline,
    Check,
    Condition,
    Counterfactual,
    Instruction,
    Requery,
    Score,
    Verdict,
    Verification,
)
from tests.edct.tables.study import condition, failed, score
from tests.images import image

HOSTILE = "</script><script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">\u2028&amp;"
CONDITIONS = [
    *(condition(vlm=vlm) for vlm in ("grounded", "prior", "confabulating")),
    *(condition(protocol=protocol) for protocol in (EDCT_BENCH_2026, *CONTROLS)),
]
ITEMS = 40
CHAINED = 20
"""Items of the 2026 protocol with a second edit: every other one."""
ROWS = 2 * ITEMS
"""Of the gallery: controls are part of the items that they control."""
KINDS = ("color", "shape", "position", "count")


def ids() -> list[str]:
    """The ids of the items."""
    return [f"item-{number:03d}" for number in range(ITEMS)]


def write_study(results: Path, shards: int = 1) -> None:
    """Write every file that the report reads."""
    _write(stage_files(results, "items", CONDITIONS[0], shards), [_sample(i) for i in ids()])
    for one in CONDITIONS:
        edits = [(item, edit) for item in ids() for edit in _edits(item, one)]
        of: dict[str, Sequence[Record]] = {
            "baselines": [_baseline(i, one) for i in ids()],
            "instructions": [_instruction(*e) for e in edits],
            "counterfactuals": [_counterfactual(*e) for e in edits],
            "checks": [_check(*e) for e in edits],
            "requeries": [_requery(*e) for e in edits],
            "verdicts": [_verdict(*e) for e in edits],
        }
        for stage, records in of.items():
            _write(stage_files(results, stage, one, shards), records)
        rows = [_score(*e, one) for e in edits]
        for number, file in enumerate(stage_files(results, "scores", one, shards)):
            write_csv(file, Score, [row for row in rows if shard_of(row.id, shards) == number])


def _write(files: Sequence[Path], records: Sequence[Record]) -> None:
    shards = len(files)
    for number, file in enumerate(files):
        mine = [record for record in records if shard_of(record.id, shards) == number]  # type: ignore[attr-defined]
        write_jsonl(file, mine)
        for record in mine:
            if getattr(record, "image", None):
                _file(folder_of(file) / record.image.path, _image(record.id))  # type: ignore[attr-defined]


def _file(path: Path, content: Image) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.png)


def _image(item: str) -> Image:
    return image(int(item[-3:]), size=(16, 16))


def _sample(item: str) -> Sample:
    number = int(item[-3:])
    question = HOSTILE if number == 1 else f"What color is object {number}?"
    ref = _image(item).ref(f"{item}.png")
    return Sample(id=item, image=ref, question=question, reference="red", kind=KINDS[number % len(KINDS)])


def _baseline(item: str, of: Condition) -> Baseline:
    return Baseline(id=item, question="?", answer=f"It is red, says {of.vlm}.", explanation=HOSTILE)


def _edits(item: str, of: Condition) -> tuple[int, ...]:
    return (1, 2) if of.protocol == "edct-bench-2026" and int(item[-3:]) % 2 else (1,)


def _instruction(item: str, edit: int) -> Instruction:
    texts = {"positive": f"Make the circle blue, change {edit}.", "negative": "No red remains."}
    return Instruction(id=item, edit=edit, concept="red color", **texts)


def _counterfactual(item: str, edit: int) -> Counterfactual:
    if item.endswith("7"):
        why = {"status": Status.NO_IMAGE, "stage": "edit", "reason": "the editor gave none"}
        return Counterfactual(id=item, edit=edit, seed=1, **why)
    return Counterfactual(id=item, edit=edit, seed=1, image=_image(item).ref(f"{item} & more.png"))


def _check(item: str, edit: int) -> Check:
    return Check(id=item, edit=edit, found=Verification(verified=1), changed_share=0.125)


def _verdict(item: str, edit: int) -> Verdict:
    return Verdict(id=item, edit=edit, completion=f"Because {HOSTILE}")


def _requery(item: str, edit: int) -> Requery:
    explanation = "zebra" if item == "item-005" else "It is blue now."
    return Requery(id=item, edit=edit, answer=HOSTILE, explanation=explanation)


def _score(item: str, edit: int, of: Condition) -> Score:
    if item.endswith("7"):
        return failed(of, item, Status.NO_IMAGE, edit=edit, stage="edit", correct=1)
    if of.protocol in CONTROLS:
        return score(of, item, int(item.endswith("1")), 0, correct=1)
    graded = {"ccs_graded": 0.75} if of.protocol == "edct-bench-2026" else {}
    faithful = int(of.vlm == "grounded")
    return score(of, item, pcs=faithful, ncc=int(of.vlm != "prior"), edit=edit, correct=1, verified=1, **graded)
