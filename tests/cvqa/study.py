"""The verbs of the cvqa study in a folder, for the tests of what a user meets."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cfeval.core.jsonl import read_jsonl
from cfeval.core.record import ENDING
from cfeval.cvqa.records import Draft
from tests.conftest import Run

PROGRAMS = {"plugin": "program", "program_generator": {"plugin": "grammar"}, "vision": {"plugin": "puzzle"}}
RANDOM = {"plugin": "random"}
ORIGINALS = {"plugin": "world", "kinds": ["count", "presence"]}
ERRING = {"plugin": "grammar", "err": 0.3}
SCENE = {"plugin": "scene"}
HEADER = "img_path,query,answer,new query,new answer,type"
QUESTIONS = "C-VQA-Synthetic_questions.csv"


def given(**options: Any) -> list[str]:
    """Options of the command line; what is neither text nor a path is told as JSON."""
    told = {name.strip("_").replace("_", "-"): value for name, value in options.items()}
    return [f"--{name}={value if isinstance(value, str | Path) else json.dumps(value)}" for name, value in told.items()]


def each(option: str, files: Sequence[Path]) -> list[object]:
    """An option once for each file."""
    return [part for file in files for part in (f"--{option}", file)]


def everything(folder: Path) -> dict[str, bytes]:
    """Every file beneath a folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()


def told(folder: Path, **asked: Any) -> Path:
    """The file that tells a step what it needs of a study."""
    file = folder / "study.json"
    file.write_text(json.dumps(asked))
    return file


def without_records(results: Path) -> None:
    """Take away what steps recorded, of which some were made from files that a test wrote."""
    for record in results.rglob(f"*{ENDING}"):
        record.unlink()


class Study:
    """Runs the verbs in a folder; the files are named by what they hold."""

    def __init__(self, cfeval: Run, folder: Path) -> None:
        self.cfeval, self.folder = cfeval, folder

    def run(self, verb: str, *arguments: object) -> tuple[str, str]:
        """Run a verb that must succeed; what it printed on stdout and stderr."""
        status, out, err = self.cfeval("cvqa", verb, *arguments)
        assert status == 0, err
        return out, err

    def refused(self, verb: str, *arguments: object) -> str:
        """Run a verb that must end in one line and leave every file as it was; the line."""
        before = everything(self.folder)
        status, out, err = self.cfeval("cvqa", verb, *arguments)
        assert (status, out) == (2, ""), err
        assert everything(self.folder) == before
        *others, last = err.splitlines()
        assert last.startswith("cfeval: ")
        assert not [line for line in others if not line.startswith(("left out: ", "answers: "))]
        return last

    def puzzles(self, count: int = 6, seed: int = 1, name: str = "puzzles") -> dict[str, str]:
        """Generate puzzles; the set that they are."""
        out = self.folder / name
        self.run("generate", *given(count=count, seed=seed, jobs=1, out=out))
        return {"plugin": "csv", "questions": str(out / QUESTIONS), "images": str(out)}

    def questions(self, of: dict[str, Any], name: str = "questions", shards: int = 1) -> list[Path]:
        """File pairs; the files of the shards."""
        out = self.folder / f"{name}.jsonl"
        self.run("questions", *given(set=of, seed=1, shards=shards, out=out))
        return [out] if shards == 1 else sorted(out.with_suffix("").glob("*.jsonl"))

    def answer(self, questions: Path, solver: dict[str, Any], *more: str) -> Path:
        """Have a file of pairs answered."""
        out = questions.with_name(f"answers-{questions.name}")
        self.run("answers", *given(questions=questions, solver=solver, seed=1, out=out), *more)
        return out

    def score(self, questions: Path, answers: Path) -> Path:
        """Score answers."""
        out = questions.with_name(f"scores-{answers.stem}")
        assert self.run("scores", *given(questions=questions, answers=answers, out=out)) == ("", "")
        return out / answers.name

    def draft(self, items: int = 8, shards: int = 1) -> list[Path]:
        """Have drafts written about drawn scenes, some of them wrong; the files of the shards."""
        out = self.folder / f"drafts{shards}.jsonl"
        self.run(
            "drafts", *given(source=ORIGINALS, question_generator=ERRING, items=items, seed=1, shards=shards, out=out)
        )
        return [out] if shards == 1 else sorted(out.with_suffix("").glob("*.jsonl"))

    def review(self, drafts: Path) -> Path:
        """Have drafts checked."""
        out = drafts.with_name(f"reviews-{drafts.name}")
        self.run("reviews", *given(drafts=drafts, question_validator=SCENE, seed=1, out=out))
        return out

    def decisions(self, drafts: Path, reviews: Path) -> Path:
        """The file to be filled in."""
        out = self.folder / "decisions.csv"
        self.run("decisions", *given(drafts=drafts, reviews=reviews, out=out))
        return out


def drafted(files: Sequence[Path]) -> dict[str, Draft]:
    """Drafts by id."""
    return {one.id: one for file in files for one in read_jsonl(file, Draft)}
