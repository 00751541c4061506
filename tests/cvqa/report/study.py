"""Record files and a table of a made-up cvqa study, as the pipeline lays them out."""

from pathlib import Path

from cfeval.core.images import Image, folder_of
from cfeval.core.jsonl import write_jsonl
from cfeval.core.records import Status
from cfeval.core.shards import shard_files, shard_of
from cfeval.cvqa.records import SIDES, Answer, CvqaScore, ProgramRun, Question, QuestionPair, Side, TraceStep
from cfeval.cvqa.tables.accuracy import TABLE3, AccuracyRow
from cfeval.report.files import write_table
from tests.conftest import Run
from tests.cvqa.study import told
from tests.edct.report.study import HOSTILE
from tests.images import image

SOLVERS = ("chat", "programs")
PAIRS = 5
STEPS = 30
RIGHT = {  # by solver: of each pair, whether the original and the counterfactual answer are right; None: no reply
    "chat": ((1, 1), (1, 0), (0, 1), (0, 0), (None, 1)),
    "programs": ((1, 1), (1, 0), (1, 1), (0, 0), (1, 1)),
}
ROWS = [
    AccuracyRow(
        set="photos",
        solver=solver,
        type="direct",
        reader=reader,
        n=5,
        n_scored=4,
        original=original if reader == "robust" else original - 0.05,
        original_min=original * 0.8,
        original_max=original * 0.8 + 0.2,
        counterfactual=counterfactual if reader == "robust" else counterfactual - 0.05,
        difference=counterfactual - original,
        difference_lo=counterfactual - original - 0.1,
        difference_hi=counterfactual - original + 0.1,
        p_holm=p,
    )
    for solver, original, counterfactual, p in (("chat", 0.9, 0.4, 0.01), ("programs", 0.8, 0.7, 0.4))
    for reader in ("robust", "reference")
]


def make_report(cfeval: Run, folder: Path, shards: int = 1, *more: object) -> Path:
    """The page of the made-up study."""
    results = folder / "cvqa"
    _write(results / "questions/photos.jsonl", [_pair(number) for number in range(PAIRS)], shards)
    for solver in SOLVERS:
        each: list[tuple[int, Side]] = [(number, side) for number in range(PAIRS) for side in SIDES]
        _write(results / f"answers/photos/{solver}.jsonl", [_answer(solver, *one) for one in each], shards)
        _write(results / f"scores/photos/{solver}.jsonl", [_score(solver, *one) for one in each], shards)
    write_table(results / "tables/cvqa_table3", AccuracyRow, ROWS, TABLE3.render(ROWS))
    study = told(folder, conditions=[{"set": "photos", "solver": solver} for solver in SOLVERS], shards=shards)
    out = results / "report/index.html"
    assert cfeval("cvqa", "report", "--study", study, "--results", results, *more, "--out", out) == (0, "", "")
    return out


def _write(path: Path, records: list[QuestionPair] | list[Answer] | list[CvqaScore], shards: int) -> None:
    for number, file in enumerate(shard_files(path, shards)):
        mine = [one for one in records if shard_of(one.id, shards) == number]
        write_jsonl(file, mine)
        for one in mine:
            if isinstance(one, QuestionPair):
                at = folder_of(file) / one.image.path
                at.parent.mkdir(parents=True, exist_ok=True)
                at.write_bytes(_pixels(one.id).png)


def _pixels(name: str) -> Image:
    return image(int(name[-1]), size=(32, 24))


def _pair(number: int) -> QuestionPair:
    name = f"pair-{number}"
    return QuestionPair(
        id=name,
        image=_pixels(name).ref(f"{name}.png"),
        original=Question(question=f"How many dogs are on sofa {number}?", answer="2"),
        counterfactual=Question(question=f"How many dogs would be on sofa {number} if one left?", answer="1"),
        type="direct",
        img_path=f"{name}.png",
    )


def _right(solver: str, number: int, side: Side) -> int | None:
    return RIGHT[solver][number][SIDES.index(side)]


def _answer(solver: str, number: int, side: Side) -> Answer:
    question = _pair(number).questions[side]
    right = _right(solver, number, side)
    told: dict[str, object] = {"id": f"pair-{number}", "side": side, "asked": question.question}
    if right is None:
        return Answer.model_validate(told | {"status": Status.REFUSED, "stage": "answers", "reason": "it will not"})
    text = question.answer if right else HOSTILE
    return Answer.model_validate(told | {"text": text, "program": _program(number) if solver == "programs" else None})


def _program(number: int) -> ProgramRun:
    trace = tuple(TraceStep(line=2, call="find", arguments=f"'dog {n}'", result="[]") for n in range(STEPS))
    code = "def execute_command(image):\n    return ImagePatch(image).find('dog')"
    fault = "line 2: it took too long" if number == 3 else ""
    return ProgramRun(language="vipergpt", code=code, result="2", fault=fault, fallback=bool(fault), trace=trace)


def _score(solver: str, number: int, side: Side) -> CvqaScore:
    question, right = _pair(number).questions[side], _right(solver, number, side)
    told: dict[str, object] = {"id": f"pair-{number}", "side": side, "type": "direct", "image": "a" * 64}
    told |= {"gold": question.answer}
    if right is None:
        return CvqaScore.model_validate(told | {"status": Status.REFUSED, "stage": "answers", "reason": "it will not"})
    read = {"reference": question.answer if right else None, "robust": question.answer if right else "7"}
    return CvqaScore.model_validate(told | {"read": read, "shown": read, "correct": dict.fromkeys(read, right)})
