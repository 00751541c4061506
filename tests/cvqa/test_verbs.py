"""The verbs of the cvqa study from questions to figures, and from originals to a set that people decided about."""

import csv
import json
import re
import shutil
from pathlib import Path

import PIL.Image
import pytest

from cfeval.core.jsonl import read_csv, read_jsonl
from cfeval.cvqa.records import SIDES, Answer, CvqaBuild, CvqaScore, QuestionPair
from cfeval.cvqa.tables import TABLES
from cfeval.cvqa.tables.accuracy import AccuracyRow
from cfeval.cvqa.tables.programs import ProgramsRow
from cfeval.study import summary
from tests.conftest import Run
from tests.cvqa.study import PROGRAMS, QUESTIONS, RANDOM, Study, drafted, each, everything, given, lines, told


@pytest.fixture
def study(cfeval: Run, tmp_path: Path) -> Study:
    return Study(cfeval, tmp_path)


def test_generated_puzzles_are_a_set_in_the_published_layout(study: Study) -> None:
    out = study.folder / "puzzles"
    said, err = study.run("generate", *given(count=6, seed=1, jobs=1, out=out))
    where = f"{{plugin: csv, questions: {out}/{QUESTIONS}, images: {out}}}"
    assert (said, err) == (f"6 puzzles in {out}; ask them with {where}\n", "")
    with (out / QUESTIONS).open(encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["type"] for row in rows] == [f"abs_counting_{number}" for number in range(1, 7)]
    for row in rows:
        counts = json.loads((out / row["img_path"]).with_suffix(".json").read_text())["counts"]
        assert sum(counts.values()) > 0
    only = study.folder / "only"
    study.run("generate", "--type", "abs_counting_4", "--type", "abs_counting_2", *given(count=3, jobs=1, out=only))
    assert [line.rpartition(",")[2] for line in lines(only / QUESTIONS)[1:]] == ["abs_counting_2"] * 2 + [
        "abs_counting_4"
    ]


def test_export_gives_the_file_of_questions_back_byte_for_byte(study: Study) -> None:
    [questions] = study.questions(study.puzzles(count=12))
    out = study.folder / "back.csv"
    assert study.run("export", questions, *given(out=out)) == ("", "")
    assert out.read_bytes() == (study.folder / "puzzles" / QUESTIONS).read_bytes()


@pytest.mark.slow
def test_shards_hold_the_same_records_answers_and_scores(study: Study) -> None:
    puzzles = study.puzzles(count=12)
    found = []
    for shards in (1, 3):
        files = study.questions(puzzles, name=f"questions{shards}", shards=shards)
        assert len(files) == shards
        answers = [study.answer(file, RANDOM, "--orders=2") for file in files]
        scores = [study.score(file, its) for file, its in zip(files, answers, strict=True)]
        found.append([sorted(line for file in some for line in lines(file)) for some in (files, answers, scores)])
        images = {path.name: path.read_bytes() for path in study.folder.glob(f"questions{shards}/**/*.png")}
        assert len(images) == 12
        found[-1].append(sorted(images))
    assert found[0] == found[1]
    assert len(found[0][1]) == 12 * 2 * 2, "two sides in two orders"


def test_programs_answer_puzzles_and_the_tables_say_so(study: Study) -> None:
    results = study.folder / "results"
    for name in ("questions/s", "answers/s/programs"):
        (results / name).parent.mkdir(parents=True, exist_ok=True)
    puzzles, about = study.puzzles(), results / "questions" / "s.jsonl"
    study.run("questions", *given(set=puzzles, seed=1, out=about))
    answers, scores = results / "answers/s/programs.jsonl", results / "scores/s/programs.jsonl"
    out, err = study.run("answers", *given(questions=about, solver=PROGRAMS, seed=1, out=answers))
    assert out == ""
    assert re.fullmatch(r"answers: 12 of 12 done in [\d.]+ s\n", err)
    study.run("scores", *given(questions=about, answers=answers, out=scores.parent))
    replies = list(read_jsonl(answers, Answer))
    assert [(one.id, one.side) for one in replies] == [
        (pair.id, side) for pair in read_jsonl(about, QuestionPair) for side in SIDES
    ]
    assert all(one.program is not None and one.program.trace for one in replies)
    assert {one.correct["robust"] for one in read_jsonl(scores, CvqaScore)} == {1}

    asked = told(
        study.folder,
        conditions=[{"set": "s", "solver": "programs"}],
        sets={"s": {}},
        solvers={"programs": {"kind": "program", "test_world": True}},
    )
    tables = study.folder / "tables"
    assert study.run("tables", *given(study=asked, results=results, out=tables)) == ("", "")
    for name in TABLES:
        assert {path.suffix for path in tables.glob(f"cvqa_{name}.*")} == {".csv", ".md", ".tex"}
    rows = read_csv(tables / "cvqa_table7.csv", AccuracyRow)
    shown = {(row.solver, row.type, row.reader): row.original for row in rows}
    assert shown["programs", "all", "robust"] == 1.0
    assert shown["chance", "all", ""] == 0.25
    figures = study.folder / "figures"
    study.run("figures", *given(tables=tables, figure="puzzles", out=figures))
    assert {path.name for path in figures.iterdir()} == {f"cvqa_puzzles.{ending}" for ending in ("pdf", "png", "svg")}
    assert json.loads((tables / "cvqa_metrics.json").read_text())


CODER = """Here it is:

```python
def execute_command(image):
    answer = len(ImagePatch(image).find('dog'))
    return answer -* 1
```"""


def test_a_coder_that_writes_no_python_has_faults_alone_and_the_accuracy_of_its_fall_back(study: Study) -> None:
    results = study.folder / "results"
    puzzles, about = study.puzzles(), results / "questions" / "s.jsonl"
    for name in ("questions/s", "answers/s/coder"):
        (results / name).parent.mkdir(parents=True, exist_ok=True)
    study.run("questions", *given(set=puzzles, seed=1, out=about))
    sides = [asked for pair in read_jsonl(about, QuestionPair) for asked in pair.questions.values()]
    solver = {
        "plugin": "program",
        "program_generator": {"plugin": "chat", "model": {"plugin": "mock", "replies": [CODER]}},
        "vision": {"plugin": "mock", "answers": {side.question: side.answer for side in sides}},
    }
    answers = results / "answers/s/coder.jsonl"
    study.run("answers", *given(questions=about, solver=solver, seed=1, out=answers))
    study.run("scores", *given(questions=about, answers=answers, out=results / "scores/s"))
    runs = [one.program for one in read_jsonl(answers, Answer)]
    assert all(run is not None and run.fault.startswith("line 3: not Python") and run.fallback for run in runs)
    asked = told(
        study.folder,
        conditions=[{"set": "s", "solver": "coder"}],
        sets={"s": {}},
        solvers={"coder": {"kind": "program"}},
    )
    tables = study.folder / "tables"
    study.run("tables", *given(study=asked, results=results, out=tables))
    accuracy = {
        (row.type, row.reader): (row.original, row.counterfactual)
        for row in read_csv(tables / "cvqa_table7.csv", AccuracyRow)
        if row.solver == "coder"
    }
    assert accuracy["all", "robust"] == (1.0, 1.0)
    rows = [row for row in read_csv(tables / "cvqa_programs.csv", ProgramsRow) if row.type == "all"]
    assert [(row.n, row.n_ran, row.ran, row.n_faults, row.n_limits) for row in rows] == [(6, 0, 0, 6, 0)] * 2
    assert [(row.n_fallback, row.n_fallback_right) for row in rows] == [(6, 6)] * 2
    assert "6 (6 right)" in (tables / "cvqa_programs.md").read_text()
    [one, other] = summary.programs(tables)
    assert one == (
        "programs of coder on s (all, original): 0 of 6 ran, 6 failed by an error of their own; "
        "6 put to the whole image"
    )
    assert "(all, counterfactual)" in other


def test_drafts_reviews_and_a_set_of_what_both_let_pass(study: Study) -> None:
    found = []
    for shards in (1, 2):
        drafts = study.draft(shards=shards)
        reviews = [study.review(file) for file in drafts]
        built, fates = study.folder / f"built{shards}.jsonl", study.folder / f"fates{shards}.jsonl"
        files = [*each("drafts", drafts), *each("reviews", reviews)]
        said = study.run("fates", *files, *given(out=fates))
        assert said == ("8 drafts: 4 accepted; inconsistent 1, not reasonable 1, wrong sum 2\n", "")
        assert study.run("builds", *files, *given(out=built)) == ("", "")
        whole = given(drafts=study.folder / f"drafts{shards}.jsonl")  # under the name that all shards were written by
        again = study.folder / "again.jsonl"
        study.run("builds", *whole, *each("reviews", reviews), *given(out=again))
        assert again.read_bytes() == built.read_bytes()
        assert {one.by for one in read_jsonl(fates, CvqaBuild) if one.fate == "accepted"} == {"model"}
        found.append((sorted(lines(built)), sorted(lines(fates)), sorted(everything(built.with_suffix("")))))
    assert found[0] == found[1]


def test_what_no_second_model_saw_enters_no_set(study: Study) -> None:
    [drafts] = study.draft()
    built, fates = study.folder / "built.jsonl", study.folder / "fates.jsonl"
    said, _ = study.run("fates", *given(drafts=drafts, out=fates))
    assert said == "8 drafts: 0 accepted; inconsistent 1, not reviewed 5, wrong sum 2\n"
    study.run("builds", *given(drafts=drafts, out=built))
    assert lines(built) == []


def filled(path: Path, decided: dict[str, dict[str, str]]) -> None:
    """Fill in the file as a person does, by a spreadsheet that writes `;` between cells."""
    with path.open(encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows([row | decided.get(row["id"], {}) for row in rows])


def test_a_set_holds_what_people_accept_and_correct(study: Study) -> None:
    [drafts] = study.draft()
    reviews = study.review(drafts)
    decisions = study.decisions(drafts, reviews)
    files = [*given(drafts=drafts, reviews=reviews, decisions=decisions), "--people"]
    first = study.folder / "first.jsonl"
    assert "0 accepted" in study.run("fates", *files, *given(out=first))[0], "nobody decided yet"

    known = drafted([drafts])
    fates = {one.id: one.fate for one in read_jsonl(first, CvqaBuild)}
    good = [item for item, fate in fates.items() if fate == "undecided"]
    [wrong, *_] = [item for item, fate in fates.items() if fate == "wrong sum"]
    assert known[wrong].arithmetic is not None
    right = str(known[wrong].arithmetic)
    filled(
        decisions,
        {
            good[0]: {"accept": "yes"},
            good[1]: {"accept": "no", "comment": "no one would ask this"},
            good[2]: {"accept": "Yes", "question": "How would it be if it were otherwise?"},
            wrong: {"accept": "yes", "answer": right},
        },
    )
    built, decided = study.folder / "built.jsonl", study.folder / "fates.jsonl"
    assert study.run("fates", *files, *given(out=decided))[0].startswith("8 drafts: 3 accepted; ")
    study.run("builds", *files, *given(out=built))
    pairs = {pair.id: pair for pair in read_jsonl(built, QuestionPair)}
    assert list(pairs) == sorted([good[0], good[2], wrong])
    assert pairs[good[0]].counterfactual.question == known[good[0]].question
    assert pairs[good[2]].counterfactual.question == "How would it be if it were otherwise?"
    assert pairs[good[2]].counterfactual.answer == known[good[2]].answer
    assert pairs[wrong].counterfactual.answer == right != known[wrong].answer
    builds = {one.id: one for one in read_jsonl(decided, CvqaBuild)}
    assert (builds[good[1]].fate, builds[good[1]].reason) == ("rejected", "no one would ask this")
    assert builds[good[3]].fate == "undecided"
    assert [(builds[item].by, builds[item].corrected) for item in (good[0], wrong)] == [("person", 0), ("person", 1)]
    study.run("answers", *given(questions=built, solver=RANDOM, seed=1, out=study.folder / "a.jsonl"))


def test_a_file_of_decisions_is_never_written_over(study: Study) -> None:
    [drafts] = study.draft()
    reviews = study.review(drafts)
    out = study.folder / "decisions.csv"
    said, err = study.run("decisions", *given(drafts=drafts, reviews=reviews, out=out))
    assert (said, err) == (f"{out}: fill in accept (yes or no) for every row\n", "")
    assert len(lines(out)) == 9
    complaint = study.refused("decisions", *given(drafts=drafts, reviews=reviews, out=out))
    assert complaint == f"cfeval: {out}: exists already, and may hold decisions; choose another name"


def test_originals_of_vqa_v2_keep_the_names_of_their_images(study: Study) -> None:
    images = study.folder / "coco" / "val2014"
    images.mkdir(parents=True)
    asked = [("How many cats?", "2"), ("Is it day?", "yes"), ("What is this?", "cat"), ("How many are red?", "two")]
    questions, annotations = [], []
    for number, (question, answer) in enumerate(asked, start=1):
        PIL.Image.new("RGB", (8, 6), (20 * number, 0, 0)).save(images / f"COCO_val2014_{number:012d}.jpg")
        which = {"image_id": number, "question_id": 1000 * number}
        questions.append(which | {"question": question})
        said = [{"answer": answer, "answer_confidence": "yes", "answer_id": one} for one in range(1, 11)]
        kind = {"question_type": "x", "answer_type": "other", "multiple_choice_answer": answer}
        annotations.append(which | kind | {"answers": said})
    release = {"data_subtype": "val2014"}
    (study.folder / "q.json").write_text(json.dumps(release | {"questions": questions}))
    (study.folder / "a.json").write_text(json.dumps(release | {"annotations": annotations}))
    source = {name: str(study.folder / f"{name[0]}.json") for name in ("questions", "annotations")}
    source |= {"plugin": "vqav2", "images": str(images.parent)}
    out = study.folder / "drafts.jsonl"
    _, err = study.run("drafts", *given(source=source, question_generator={"plugin": "mock"}, items=4, seed=1, out=out))
    assert err.splitlines()[-1] == (
        "1 of the source questions left out: the answer is neither a number of `How many`, nor yes or no"
    )
    found = {one.coco: one for one in drafted([out]).values()}
    assert {image: (one.img_path, one.type, one.original.answer) for image, one in found.items()} == {
        1: ("COCO_val2014_000000000001.jpg", "direct", "2"),
        2: ("COCO_val2014_000000000002.jpg", "boolean", "yes"),
        4: ("COCO_val2014_000000000004.jpg", "direct", "2"),
    }


def test_nothing_is_left_of_a_run_that_is_done_again(study: Study) -> None:
    puzzles = study.puzzles(count=6)
    [questions] = study.questions(puzzles)
    before = everything(study.folder)
    study.questions(puzzles)
    assert everything(study.folder) == before
    shutil.rmtree(questions.with_suffix(""))
    study.questions(puzzles)
    assert everything(study.folder) == before
