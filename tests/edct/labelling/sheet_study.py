"""The result files of a made-up study that people can label: two protocols, a chain, and edits that a gate rejected."""

from pathlib import Path

from cfeval.core.images import Image, folder_of
from cfeval.core.jsonl import write_csv, write_jsonl
from cfeval.core.records import Record, Status
from cfeval.datasets.sample import Sample
from cfeval.edct.files import stage_files
from cfeval.edct.records import (
    Baseline,
    Condition,
    Counterfactual,
    EditAttempt,
    Instruction,
    Requery,
    Score,
    Verification,
)
from tests.edct.report.study import HOSTILE
from tests.images import image

NAMES = {"vlm": "secret-vlm", "writer": "secret-writer", "editor": "secret-editor", "judge": "secret-judge"}
SINGLE = Condition(dataset="secret-set", protocol="edct-2025", **NAMES)
CHAIN = Condition(dataset="secret-set", protocol="edct-bench-2026", **NAMES)
NULL = Condition(dataset="secret-set", protocol="null-edit", **NAMES)
ITEMS = 6
REJECTED = ("q3", 1), ("q4", 2)
"""The edits of the chain that its gate rejected."""


def write_sheet_study(results: Path) -> list[Path]:
    """Write every file that a sheet draws on; returns the score files."""
    _write(results / "items/secret-set.jsonl", [_sample(n) for n in range(ITEMS)])
    said = [Baseline(id=f"q{n}", question="?", answer=f"old {n}", explanation=HOSTILE) for n in range(ITEMS)]
    _write(results / "baselines/secret-set/secret-vlm.jsonl", said)
    return [_write_condition(results, condition) for condition in (SINGLE, CHAIN, NULL)]


def edits_of(condition: Condition) -> list[tuple[str, int]]:
    """Two edits an item in the chain, else one."""
    return [(f"q{n}", edit) for n in range(ITEMS) for edit in ((1, 2) if condition == CHAIN else (1,))]


def _write_condition(results: Path, condition: Condition) -> Path:
    edits = edits_of(condition)
    makers = {"instructions": _instruction, "counterfactuals": _counterfactual, "requeries": _requery}
    for stage, make in makers.items():
        [file] = stage_files(results, stage, condition, 1)
        _write(file, [make(*one, condition) for one in edits])
    [scores] = stage_files(results, "scores", condition, 1)
    write_csv(scores, Score, [_score(*one, condition) for one in edits])
    return scores


def _write(path: Path, records: list[Record]) -> None:
    write_jsonl(path, records)
    for record in records:
        refs = [getattr(record, "image", None), *(one.image for one in getattr(record, "attempts", ()))]
        for ref in filter(None, refs):
            file = folder_of(path) / ref.path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(_drawn(ref.path).png)


def _drawn(path: str) -> Image:
    """An image of its own for every file name."""
    return image(sum(map(ord, path)) % 256, size=(12, 16))


def _sample(number: int) -> Sample:
    name = f"q{number}.png"
    question = HOSTILE if number == 1 else f"What is in picture {number}?"
    return Sample(id=f"q{number}", image=_drawn(name).ref(name), question=question)


def _instruction(item: str, edit: int, condition: Condition) -> Instruction:
    if condition == NULL:
        return Instruction(id=item, concept="nothing", positive="Leave it.")
    return Instruction(id=item, edit=edit, concept="c", positive=f"Do {item} {edit}.", negative="=HYPERLINK(1)")


def _counterfactual(item: str, edit: int, condition: Condition) -> Counterfactual:
    if _gone(item, edit, condition):
        return Counterfactual(id=item, edit=edit, seed=1, status=Status.EDIT_INVALID, stage="counterfactuals")
    name = f"{condition.protocol}-{item}-{edit}.png"
    tries = [_try(f"{condition.protocol}-{item}-{edit}-try1.png", 0)]
    if _rejected(item, edit, condition):
        more = (*tries, _try(f"{condition.protocol}-{item}-{edit}-try2.png", 0))
        return Counterfactual(id=item, edit=edit, seed=1, status=Status.EDIT_INVALID, attempts=more)
    more = (*tries, _try(name, 1)) if condition == CHAIN else ()
    return Counterfactual(id=item, edit=edit, seed=1, image=_drawn(name).ref(name), attempts=more)


def _try(name: str, verified: int) -> EditAttempt:
    return EditAttempt(seed=1, image=_drawn(name).ref(name), found=Verification.model_validate({"verified": verified}))


def _requery(item: str, edit: int, condition: Condition) -> Requery:
    if _gone(item, edit, condition) or _rejected(item, edit, condition):
        return Requery(id=item, edit=edit, status=Status.EDIT_INVALID)
    return Requery(id=item, edit=edit, answer=f"new {item} {edit}", explanation=HOSTILE)


def _score(item: str, edit: int, condition: Condition) -> Score:
    fields = {**condition.model_dump(), "id": item, "edit": edit, "cluster": f"image of {item}"}
    if _gone(item, edit, condition) or _rejected(item, edit, condition):
        return Score.model_validate({**fields, "status": "edit_invalid", "stage": "counterfactuals"})
    bit = int(item in ("q0", "q1", "q2"))
    scores = {
        "edct-2025": {"pcs": bit, "ncc": 1, "ccs": bit, "verified": 1},
        "edct-bench-2026": {"ac": bit, "ef": 1, "ccs": bit, "ccs_graded": 0.75},
        "null-edit": {"answer_moved": 0, "explanation_moved": 0},
    }
    return Score.model_validate({**fields, **scores[condition.protocol]})


def _rejected(item: str, edit: int, condition: Condition) -> bool:
    return condition == CHAIN and (item, edit) in REJECTED


def _gone(item: str, edit: int, condition: Condition) -> bool:
    """An edit in a chain whose first was rejected."""
    return condition == CHAIN and edit == 2 and (item, 1) in REJECTED
