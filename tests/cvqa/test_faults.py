"""Bad input to the verbs of the cvqa study: one line each, the rest goes on; or one line, and nothing is written."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.jsonl import read_jsonl
from cfeval.cvqa.records import QuestionPair
from tests.conftest import Run
from tests.cvqa.study import ERRING, HEADER, ORIGINALS, PROGRAMS, RANDOM, SCENE, Study, everything, given, lines, told
from tests.images import image

OPTIONS = "Select the correct answer:A:1  B:2  C:3  D:4"
FAULTS = {
    "a.png,How many?,2": "3 columns, and the header has 6; put cells with commas in quotes",
    "a.png,q?,2,q if?,3,direkt": "unknown type 'direkt'; allowed: direct, indirect, boolean, abs_counting_1,",
    f"a.png,q? {OPTIONS},E,q? {OPTIONS},A,abs_counting_1": (
        "'answer' of type abs_counting_1 must be one of the letters A, B, C, D, but got 'E'"
    ),
    f"a.png,q? {OPTIONS},A,q?,A,abs_counting_1": "'new query' of type abs_counting_1 must end in options, as in '…",
    "a.png,q?,two,q if?,3,direct": "'answer' of type direct must be decimal digits, but got 'two'",
    "a.png,q?,yes,q if?,maybe,boolean": "'new answer' of type boolean must be yes or no, but got 'maybe'",
    "../a.png,q?,2,q if?,3,direct": "img_path must be the name of a file, but got '../a.png'",
    "a.png, ,2,q if?,3,direct": "'query' is empty",
    'a.png,"q?,2,q if?,3,direct': "a quote stands in a cell or is not closed",
}
UNUSABLE = {"gone.png,q?,2,q if?,3,direct": "no image gone.png in ", "b.png,q?,2,q if?,3,direct": "b.png: not an image"}
"""Rows that are well-formed, but whose image is missing or none."""
GOOD = "a.png,Is it day?,yes,Would it be day if it was late?,no,boolean"


@pytest.fixture
def study(cfeval: Run, tmp_path: Path) -> Study:
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "a.png").write_bytes(image(3).png)
    (tmp_path / "images" / "b.png").write_text("this is no image")
    return Study(cfeval, tmp_path)


def rows(study: Study, *of: str, header: str = HEADER) -> dict[str, Any]:
    """A set of these rows."""
    path = study.folder / "questions.csv"
    path.write_text("\n".join([header, *of, ""]), encoding="utf-8")
    return {"plugin": "csv", "questions": str(path), "images": str(study.folder / "images")}


def test_what_cannot_be_used_is_named_by_its_line_and_the_rest_goes_on(study: Study) -> None:
    bad = FAULTS | UNUSABLE
    of = rows(study, GOOD, *bad, "", GOOD)
    out = study.folder / "filed.jsonl"
    said, err = study.run("questions", *given(set=of, seed=1, out=out))
    assert said == ""
    *named, count = err.splitlines()
    assert count == f"{len(bad)} rows left out"
    assert len(named) == len(bad)
    for number, why in enumerate(bad.values(), start=3):
        prefix = f"left out: {of['questions']}, line {number}: "
        [line] = [line for line in named if line.startswith(prefix)]
        assert why in line
    assert [pair.id for pair in read_jsonl(out, QuestionPair)] == ["a-00001", f"a-{len(bad) + 2:05}"]


def test_of_very_many_unusable_rows_twenty_are_named_and_all_are_counted(study: Study) -> None:
    of = rows(study, GOOD, *["x"] * 30)
    _, err = study.run("questions", *given(set=of, seed=1, out=study.folder / "filed.jsonl"))
    assert err.count("left out: ") == 20
    assert err.endswith("\n30 rows left out\n")


@pytest.mark.parametrize("row", [*FAULTS, *UNUSABLE])
def test_where_no_row_can_be_used_the_first_is_named_and_nothing_is_written(study: Study, row: str) -> None:
    of = rows(study, row)
    for shards in (1, 2):
        line = study.refused("questions", *given(set=of, seed=1, shards=shards, out=study.folder / "x.jsonl"))
        assert "line 2: " in line or "none of the 1 images is there" in line


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"plugin": "cvs"}, "unknown question_sets plugin 'cvs'; did you mean 'csv'?"),
        ({"plugin": "../csv"}, "unknown question_sets plugin '../csv'"),
        ({"imagse": "x"}, "unknown option 'imagse' of 'csv'; did you mean 'images'?"),
        ({"questions": "gone.csv"}, "gone.csv: no such file"),
        ({"questions": "."}, ".: is a folder, a file is needed"),
        ({"images": "gone"}, "gone: none of the 1 images is there, such as a.png; set the option 'images'"),
        ({"types": ["bolean"]}, "option 'types.0' of 'csv': Input should be 'direct', 'indirect', 'boolean'"),
        ({"types": ["direct"]}, "questions.csv: no row of type direct that can be used"),
        ({"share": 0}, "option 'share' of 'csv': Input should be greater than 0"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_a_set_that_cannot_be_used_is_one_line(study: Study, change: dict[str, Any], said: str) -> None:
    of = rows(study, GOOD) | change
    assert said in study.refused("questions", *given(set=of, seed=1, out=study.folder / "x.jsonl"))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "column 'img_path' is missing; needed are img_path, query, answer, new query, new answer, type"),
        (b"img_path,query,answer,new_query,new answer,type\n", "column 'new query' is missing"),
        (f"{HEADER}\n".encode(), "no row that can be used"),
        (f"{HEADER}\n".encode() + b"caf\xe9.png,", "not UTF-8 text (invalid continuation byte); save it as UTF-8"),
    ],
)
def test_a_file_that_is_no_set_is_one_line(study: Study, content: bytes, said: str) -> None:
    of = rows(study, GOOD)
    Path(of["questions"]).write_bytes(content)
    assert said in study.refused("questions", *given(set=of, seed=1, out=study.folder / "x.jsonl"))
    for verb in ("statistics", "rate"):
        study.refused(verb, of["questions"], *given(out=study.folder / "x"))


@pytest.mark.slow
@pytest.mark.parametrize("option", ["set", "solver", "source", "question_generator", "question_validator"])
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "not JSON (Expecting property name enclosed in double quotes at character 1)"),
        ("[]", "a plugin is JSON such as"),
        ('{"model": 3}', "a plugin is JSON such as"),
    ],
)
def test_json_that_is_none_is_one_line(study: Study, option: str, text: str, said: str) -> None:
    [questions] = study.questions(rows(study, GOOD))
    [drafts] = study.draft(items=2)
    need: dict[str, dict[str, Any]] = {
        "questions": {"set": "{}"},
        "answers": {"questions": questions, "solver": "{}"},
        "drafts": {"source": ORIGINALS, "question_generator": ERRING, "items": 2},
        "reviews": {"drafts": drafts, "question_validator": "{}"},
    }
    [verb] = [verb for verb, options in need.items() if option in options]
    line = study.refused(verb, *given(**need[verb] | {option: text}, seed=1, out=study.folder / "x.jsonl"))
    assert line.startswith(f"cfeval: --{option.replace('_', '-')}: {said}")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--type=abs_counting_7"], "--type: unknown type 'abs_counting_7'; did you mean 'abs_counting_6'? allowed: "),
        (["--icons=empty"], "empty: holds no image file (PNG or JPEG), nor does any folder in it"),
        (["--icons=gone"], "gone: no such folder; it should hold the flowers' image files (PNG or JPEG)"),
        (["--icons=images"], "images/b.png: not an image that can be read"),
        (["--count=1000000"], "the number of puzzles must be 1 to 999,999, but got 1000000"),
        (["--out=images"], "images: is not empty; empty it or name a new folder"),
        (["--out=images/a.png"], "images/a.png is a file, and a folder is needed"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_puzzles_that_cannot_be_made_are_one_line(
    study: Study, options: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study.folder)
    Path("empty").mkdir()
    assert said in study.refused("generate", *given(count=2, jobs=1, out="new"), *options)


@pytest.mark.parametrize(
    ("verb", "wrong"),
    [
        ("questions", ["--shards=0"]),
        ("questions", ["--items=0"]),
        ("questions", ["--itmes=3"]),
        ("answers", ["--orders=5"]),
        ("generate", ["--size=20"]),
        ("rate", []),
    ],
)
def test_a_wrong_option_ends_with_status_2_and_writes_nothing(study: Study, verb: str, wrong: list[str]) -> None:
    before = everything(study.folder)
    status, out, err = study.cfeval("cvqa", verb, *wrong)
    assert (status, out) == (2, "")
    assert err.startswith("cfeval: ")
    assert err.endswith(f"; see `cfeval cvqa {verb} --help`\n")
    assert err.count("\n") == 1
    assert everything(study.folder) == before


@pytest.mark.parametrize(
    ("solver", "said"),
    [
        (
            {"plugin": "randm"},
            "unknown solvers plugin 'randm'; did you mean 'random'? allowed: agent, by_people, chat, program, random",
        ),
        ({"plugin": "random", "seed": 1}, "unknown option 'seed' of 'random'"),
        ({"plugin": "chat"}, "option 'model' of 'chat': Field required"),
        (
            {"plugin": "chat", "model": {"plugin": "mok"}},
            "unknown chat plugin 'mok'; did you mean 'mock'",
        ),
        ({"plugin": "chat", "model": {"plugin": "mock"}, "family": "lava"}, "no template of family 'lava'; did"),
        ({"plugin": "chat", "model": {"plugin": "mock"}, "prompts": "own"}, "no prompt answer.md in own"),
        (PROGRAMS | {"vision": {"plugin": "puzle"}}, "unknown vision_tools plugin 'puzle'; did you mean 'puzzle'?"),
        (
            PROGRAMS | {"program_generator": {"plugin": "gramar"}},
            "unknown program_generators plugin 'gramar'; did you mean 'grammar'",
        ),
        (PROGRAMS | {"language": "viper"}, "option 'language' of 'program': Input should be 'vipergpt' or 'visprog'"),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_solver_that_cannot_be_built_is_one_line(study: Study, solver: dict[str, Any], said: str) -> None:
    [questions] = study.questions(rows(study, GOOD))
    out = study.folder / "answers.jsonl"
    assert said in study.refused("answers", *given(questions=questions, solver=solver, seed=1, out=out))


def test_images_that_are_missing_or_changed_stop_the_answers(study: Study) -> None:
    [questions] = study.questions(rows(study, GOOD))
    options = given(questions=questions, solver=RANDOM, seed=1, out=study.folder / "answers.jsonl")
    [file] = questions.with_suffix("").iterdir()
    file.write_bytes(image(9).png)
    assert f"{file}: not the image its record names (SHA-256 differs)" in study.refused("answers", *options)
    file.unlink()
    assert f"{file}: cannot read the image (No such file or directory)" in study.refused("answers", *options)


def test_records_that_are_none_are_named_by_their_line(study: Study) -> None:
    [questions] = study.questions(rows(study, GOOD))
    answers, out = study.answer(questions, RANDOM), study.folder / "x.jsonl"
    torn = study.folder / "torn.jsonl"
    torn.write_text(answers.read_text() + '{"id": "a-0')
    gone = study.folder / "gone.jsonl"
    assert f"{torn}, line 3: Invalid JSON" in study.refused(
        "scores", *given(questions=questions, answers=torn, out=out)
    )
    assert f"{gone}: no such file" in study.refused("scores", *given(questions=questions, answers=gone, out=out))
    swapped = given(questions=answers, answers=questions, out=out)
    assert f"{questions}, line 1: " in study.refused("scores", *swapped)
    assert f"{gone}: no such file" in study.refused("export", gone, *given(out=out))
    assert f"{gone}: no such file" in study.refused("answers", *given(questions=gone, solver=RANDOM, seed=1, out=out))
    checked = given(drafts=questions, question_validator=SCENE, seed=1, out=out)
    assert f"{questions}, line 1: " in study.refused("reviews", *checked)


def test_answers_of_another_set_are_refused_even_where_the_ids_are_the_same(study: Study) -> None:
    [questions] = study.questions(rows(study, GOOD))
    out = study.folder / "scores.jsonl"
    [first] = study.questions(study.puzzles(count=2, seed=1, name="p1"), name="first")
    [second] = study.questions(study.puzzles(count=2, seed=2, name="p2"), name="second")
    other = study.answer(second, RANDOM)
    line = study.refused("scores", *given(questions=questions, answers=other, out=out))
    assert "no record of 'abs_counting_000001-00001'; give the files of one and the same run" in line
    line = study.refused("scores", *given(questions=first, answers=other, out=out))
    assert "the original question of 'abs_counting_000001-00001', but to another one ('How many" in line


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("id,image", "idd,image", "column 'id' is missing; needed are id, accept, question, answer, comment"),
        (",comment", ",coment", "column 'comment' is missing"),
        ("world-00001", "world-99999", "line 3: no draft 'world-99999'; did you mean 'world-00"),
        ("world-00001", "world-00000", "line 3: 'world-00000' is decided a second time; keep one row"),
        (",,,,\n", ",maybe,,,\n", "line 2: accept must be yes, no, or empty, but got 'maybe'"),
        (",,,,\n", ",no,,3,\n", "line 2: a correction counts only where accept is yes"),
        (",,,,\n", ",yes,,three,\n", "line 2: the answer to a direct question is digits, but got 'three'"),
        (",,,,\n", ",yes,\n", "line 2: 15 columns, and the header has 17"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_decisions_that_cannot_be_read_are_named_by_their_line(study: Study, old: str, new: str, said: str) -> None:
    [drafts] = study.draft()
    reviews = study.review(drafts)
    decisions = study.decisions(drafts, reviews)
    text = decisions.read_text(encoding="utf-8")
    assert old in text
    decisions.write_text(text.replace(old, new, 1), encoding="utf-8")
    for verb in ("builds", "fates"):
        line = study.refused(
            verb, *given(drafts=drafts, reviews=reviews, decisions=decisions, out=study.folder / "built.jsonl")
        )
        assert f"{decisions}" in line
        assert said in line


def test_a_set_is_not_assembled_over_what_it_is_made_from(study: Study) -> None:
    [drafts] = study.draft()
    reviews = study.review(drafts)
    before = drafts.read_bytes(), reviews.read_bytes()
    for verb, file in (("builds", drafts), ("builds", reviews), ("fates", drafts), ("fates", reviews)):
        status, _, err = study.cfeval("cvqa", verb, *given(drafts=drafts, reviews=reviews, out=file))
        assert (status, err) == (2, f"cfeval: --out: {file} is named twice; choose another name\n")
    assert (drafts.read_bytes(), reviews.read_bytes()) == before


def test_a_draft_whose_image_is_gone_is_not_assembled(study: Study) -> None:
    [drafts] = study.draft()
    reviews = study.review(drafts)
    shutil.rmtree(drafts.with_suffix(""))
    line = study.refused("builds", *given(drafts=drafts, reviews=reviews, out=study.folder / "built.jsonl"))
    assert "cannot read the image (No such file or directory); run the step that makes it again" in line


def test_originals_of_which_none_can_be_turned_are_counted(study: Study) -> None:
    source = {"plugin": "world", "kinds": ["color"]}
    out = study.folder / "drafts.jsonl"
    status, _, err = study.cfeval(
        "cvqa", "drafts", *given(source=source, question_generator=ERRING, items=3, seed=1, out=out)
    )
    assert status == 2
    _, counted, last = err.splitlines()
    assert counted.startswith("3 of the source questions left out: the answer is neither a number of `How many`, nor")
    assert last == f"cfeval: {out}: there is no item to file; the dataset is empty"
    assert not out.exists()
    assert not out.with_suffix("").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["tables", "--study=gone.json"], "gone.json: no such file"),
        (["figures", "--figure=acuracy", "--tables=gone"], "unknown figure 'acuracy'; did you mean 'accuracy'?"),
        (["figures", "--figure=accuracy", "--tables=gone"], "gone/cvqa_table3.csv: no such file"),
        (["rate", "gone.csv"], "gone.csv: no such file"),
        (["rate", "images", "--interval={}"], "images: is a folder, a file is needed"),
        (["statistics", "gone.csv"], "gone.csv: no such file"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_a_table_or_figure_that_cannot_be_made_is_one_line(
    study: Study, arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(study.folder)
    assert said in study.refused(*arguments, "--out=made")


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"table": "table9"}, "table: Extra inputs are not permitted; the workflow writes this file"),
        ({"conditions": [{"set": "a"}]}, "conditions.0.solver: Field required"),
        ({"interval": {"level": 2}}, "interval.level: Input should be less than 1"),
        ({"conditions": [{"set": "a", "solver": "b"}]}, "gone/scores/a/b.jsonl: no such file"),
        ({"sets": {"a": {}}}, "gone/questions/a.jsonl: no such file"),
        ({"genders": "gone.csv"}, "gone.csv: no such file"),
    ],
    ids=lambda value: str(value)[:50],
)
def test_tables_that_cannot_be_made_are_one_line(study: Study, asked: dict[str, Any], said: str) -> None:
    file, out = told(study.folder, **asked), study.folder / "tables"
    assert said in study.refused("tables", *given(study=file, results=Path("gone"), out=out))


def test_an_output_that_cannot_be_written_is_refused_before_any_work(study: Study) -> None:
    of = rows(study, GOOD)
    out = study.folder / "images" / "a.png" / "x.jsonl"
    for verb, more in (("questions", given(set=of, seed=1)), ("statistics", [of["questions"]])):
        line = study.refused(verb, *more, *given(out=out))
        assert line == f"cfeval: cannot write {out}: {out.parent} is a file, and a folder is needed; move it away"
    (study.folder / "mine").mkdir()
    (study.folder / "mine" / "notes.txt").write_text("keep me")
    line = study.refused("questions", *given(set=of, seed=1, out=study.folder / "mine.jsonl"))
    assert "mine/notes.txt: no image of " in line
    assert line.endswith("mine.jsonl, whose folder is made anew; move it away")


def test_failures_are_no_answers(study: Study) -> None:
    """A model that refuses one item: its status travels, and the other is scored."""
    [questions] = study.questions(rows(study, GOOD, GOOD))
    chat = {"plugin": "chat", "model": {"plugin": "mock", "statuses": {"a-00001": "refused"}}}
    answers = study.answer(questions, chat)
    scores = [json.loads(line) for line in lines(study.score(questions, answers))]
    assert [one["status"] for one in scores] == ["refused", "refused", "ok", "ok"]
    assert [bool(one["correct"]) for one in scores] == [False, False, True, True]
