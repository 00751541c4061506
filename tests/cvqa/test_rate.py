"""`cfeval cvqa rate` and `statistics`: files in the published layout, scored and counted without images or a study."""

import csv
import io
from collections import Counter
from pathlib import Path

import pytest

from cfeval.core.jsonl import read_csv, read_jsonl
from cfeval.cvqa.records import CvqaScore
from cfeval.cvqa.tables.accuracy import AccuracyRow
from cfeval.cvqa.tables.sets import StatisticsRow
from tests.conftest import Run
from tests.cvqa.files import image_name, write_images
from tests.cvqa.real import OWN, PUBLISHED
from tests.cvqa.study import HEADER, QUESTIONS, Study, given

OPTIONS = "Select the correct answer:A:16  B:17  C:12  D:13"
RESULTS = f"""{HEADER},response,new_response
1.jpg,How many cups?,2,How many cups if one broke?,1,direct,2,There is 1.
1.jpg,How many forks?,4,How many forks if 2 were added?,6,direct,four,"If you add 2, 5"
2.jpg,How many cats?,3,How many cats if it was dark?,3,direct,,3
3.jpg,Is it dry?,yes,Would it be dry if it rained?,no,boolean,Yes.,no idea
4.jpg,Is it late?,no,Would it be late if the sun sank?,yes,boolean,It is not.,perhaps
5.png,How many dots? {OPTIONS},B,How many dots if 4 went? {OPTIONS},D,abs_counting_4,The answer is B,13
6.png,How many dots? {OPTIONS},A,How many dots if 1 went? {OPTIONS},C,abs_counting_6,B,(c)
"""
QUICK = given(interval={"resamples": 100})


@pytest.fixture
def study(cfeval: Run, tmp_path: Path) -> Study:
    return Study(cfeval, tmp_path)


def rated(study: Study, text: str, *more: str) -> tuple[dict[tuple[str, str, str], AccuracyRow], str, str]:
    """The rows of a result file by solver, type and reader; what was printed on stdout and stderr."""
    path = study.folder / "gpt.csv"
    path.write_text(text, encoding="utf-8")
    out, err = study.run("rate", path, *QUICK, *given(out=study.folder / "table"), *more)
    rows = read_csv(study.folder / "table.csv", AccuracyRow)
    return {(row.solver, row.type, row.reader): row for row in rows}, out, err


def test_responses_of_another_tool_are_scored_by_type_side_and_reader(study: Study) -> None:
    rows, out, err = rated(study, RESULTS, "--solver=GPT")
    assert err == ""
    assert (study.folder / "table.md").read_text(encoding="utf-8") == out
    assert (study.folder / "table.tex").read_text(encoding="utf-8").startswith("\\begin{table*}")
    found = {key: (row.original, row.counterfactual, row.n_scored, row.n, row.images) for key, row in rows.items()}
    direct = (1.0, 0.6667, 2, 3, 1)
    assert found["GPT", "direct", "reference"] == direct, "an empty response is no answer, and no wrong one"
    assert rows["GPT", "direct", "robust"].n_scored == 2
    assert (rows["GPT", "direct", "reference"].missing, rows["GPT", "direct", "reference"].set) == (
        "unparsable 1",
        "gpt",
    )
    assert found["GPT", "boolean", "reference"] == (1.0, 0.5, 2, 2, 2)
    assert rows["GPT", "boolean", "reference"].n_unread_counterfactual == 1, "`perhaps`"
    assert found["GPT", "abs_counting_4", "reference"] == (1.0, 1.0, 1, 1, 1)
    assert found["GPT", "all", "reference"] == (0.5, 1.0, 2, 2, 2), "all templates, and no other type"
    assert found["majority", "direct", ""][:2] == (0.3333, 0.3333)
    assert rows["negate", "boolean", ""].counterfactual == 1.0
    assert rows["chance", "all", ""].original == 0.25
    assert out.startswith("### gpt.csv: original and counterfactual questions, by type\n\n| Solver | Type | Original |")
    assert "| GPT | direct | 1.0000 [" in out
    assert "The paper has no rule that reads letters" in out


FORMS = (
    "<think>2, or 3?</think>{}",
    "I see 9 first.</think>\n{}",
    "<answer>{}</answer> though 9 were there",
    '{{"name": "final_answer", "arguments": {{"answer": "{}"}}}}',
    '<tool_call>\n{{"name": "submit_answer", "arguments": {{"answer": "{}"}}}}\n</tool_call>',
    "<|channel|>analysis<|message|>9?<|end|><|start|>assistant<|channel|>final<|message|>{}<|return|>",
    "◁think▷9◁/think▷\\boxed{{{}}}",
)


def test_what_thinking_models_and_agents_responded_is_read_by_rate_and_in_a_study(study: Study) -> None:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*HEADER.split(","), "response", "new_response"])
    for n, form in enumerate(FORMS, start=1):
        replies = [form.format(n), form.format(n + 1)]
        name = image_name(2 * n)
        writer.writerow([name, f"How many of {n}?", n, f"How many of {n} if one came?", n + 1, "direct", *replies])
    rows, _, _ = rated(study, text.getvalue())
    row = rows["response", "direct", "robust"]
    assert (row.original, row.counterfactual, row.n_scored) == (1.0, 1.0, len(FORMS))

    path = study.folder / "gpt.csv"
    images = write_images(study.folder / "images", 2 * len(FORMS))
    questions = study.questions({"plugin": "csv", "questions": str(path), "images": str(images)})[0]
    scored = study.score(questions, study.answer(questions, {"plugin": "responses", "path": str(path)}))
    assert [one.correct["robust"] for one in read_jsonl(scored, CvqaScore)] == [1] * (2 * len(FORMS))


def test_rows_that_cannot_be_rated_are_named_and_the_rest_goes_on(study: Study) -> None:
    bad = "7.jpg,How many?,two,How many if?,3,direct,2,3\n8.jpg,How many?,2,How many if?,3,direct,2\n"
    rows, _, err = rated(study, RESULTS + bad)
    where = study.folder / "gpt.csv"
    assert err.splitlines() == [
        f"left out: {where}, line 9: 'answer' of type direct must be decimal digits, but got 'two'",
        f"left out: {where}, line 10: 7 columns, and the header has 8; put cells with commas in quotes",
        "2 rows left out",
    ]
    assert rows["response", "direct", "reference"].n == 3


def test_a_file_without_responses_or_usable_rows_is_one_line(study: Study) -> None:
    path = study.folder / "gpt.csv"
    path.write_text(OWN)
    line = study.refused("rate", path)
    assert f"{path}: column 'response' is missing; needed are img_path, query, answer, new query, new answer" in line
    path.write_text(f"{HEADER},response,new_response\nx\n")
    line = study.refused("rate", path)
    assert f"{path}: no row that can be used; the first unusable row: {path}, line 2: 1 columns" in line
    assert "--interval: level: " in study.refused("rate", path, '--interval={"level": 3}')


def real() -> tuple[str, list[dict[str, str]], bool]:
    """The published file where this machine has it, else a few rows of our own; its rows; whether it is published."""
    text = PUBLISHED.read_text(encoding="utf-8") if PUBLISHED.exists() else OWN
    return text, list(csv.DictReader(io.StringIO(text))), PUBLISHED.exists()


@pytest.mark.slow
def test_who_says_what_is_right_is_right_and_who_never_does_scores_the_majority(study: Study) -> None:
    _, rows, published = real()
    text = io.StringIO()
    writer = csv.DictWriter(text, [*rows[0], "response", "new_response"], lineterminator="\n")
    writer.writeheader()
    writer.writerows([row | {"response": row["answer"], "new_response": "no"} for row in rows])
    found, _, err = rated(study, text.getvalue())
    assert err == ""
    for kind in ("direct", "indirect", "boolean"):
        some = [row for row in rows if row["type"] == kind]
        zero = "no" if kind == "boolean" else "0"
        share = round(sum(row["new answer"] == zero for row in some) / len(some), 4)
        row = found["response", kind, "reference"]
        assert (row.n, row.n_scored, row.images) == (len(some), len(some), len({row["img_path"] for row in some}))
        assert row.original == 1.0
        assert row.counterfactual == pytest.approx(share, abs=1e-4), "`no` is zero for the released rules"
        commonest = Counter(row["answer"] for row in some).most_common(1)[0][1] / len(some)
        assert found["majority", kind, ""].original == pytest.approx(commonest, abs=1e-4)
    if published:
        assert found["negate", "boolean", ""].counterfactual == pytest.approx(0.977, abs=5e-4)
        assert found["majority", "boolean", ""].counterfactual == pytest.approx(0.551, abs=5e-4)


def test_statistics_of_a_file_are_counted_without_its_images(study: Study) -> None:
    text, rows, published = real()
    path, out = study.folder / "real.csv", study.folder / "figures" / "statistics"
    path.write_text(text, encoding="utf-8")
    said, err = study.run("statistics", path, *given(out=out))
    doubtful = [line for line in err.splitlines() if "the key of" in line]
    assert len(doubtful) == published, "of the published keys one is wrong: 0 clouds, 5 added, 0"
    assert all("is 0, but 0 + 5 = 5; nothing is changed" in line for line in doubtful)
    assert out.with_suffix(".md").read_text(encoding="utf-8") == said
    found = {row.type: row for row in read_csv(out.with_suffix(".csv"), StatisticsRow)}
    assert list(found)[-1] == "all"
    for kind, row in found.items():
        some = [one for one in rows if kind in (one["type"], "all")]
        assert (row.n, row.images) == (len(some), len({one["img_path"] for one in some}))
        assert row.unchanged == sum(one["answer"] == one["new answer"] for one in some)
        assert row.words_counterfactual == pytest.approx(
            sum(len(one["new query"].split()) for one in some) / len(some), abs=1e-4
        )
    if published:  # spec: C-VQA-Real
        assert {kind: (row.n, row.unchanged) for kind, row in found.items()} == {
            "direct": (1150, 3),
            "indirect": (864, 49),
            "boolean": (1130, 26),
            "all": (3144, 78),
        }
        whole = found["all"]
        assert (whole.images, whole.if_inside, whole.if_first) == (3026, 3089, 53)
        assert (whole.words_original, whole.words_counterfactual) == pytest.approx((5.88, 13.16), abs=5e-3)
        shares = [(row.majority_original, row.majority_counterfactual) for row in found.values()][:3]
        expected = [(0.355, 0.202), (0.334, 0.263), (0.562, 0.551)]
        for share, right in zip(shares, expected, strict=True):
            assert share == pytest.approx(right, abs=1e-3)
        assert found["boolean"].negate == pytest.approx(0.977, abs=5e-4)


def test_statistics_of_puzzles_show_the_letters_and_name_what_is_left_out(study: Study) -> None:
    study.puzzles(count=12)
    path = study.folder / "puzzles" / QUESTIONS
    with path.open("a", encoding="utf-8") as stream:
        stream.write("x.png,How many?,E,How many if?,A,abs_counting_1\n")
    before = sorted(study.folder.rglob("*"))
    said, err = study.run("statistics", path)
    assert err.splitlines()[-1] == "1 row left out"
    assert "line 14: 'answer' of type abs_counting_1 must be one of the letters" in err
    assert said.startswith("### Sets of questions\n\n| Set | Type | Pairs |")
    assert "| C-VQA-Synthetic_questions | all | 12 | 12 |" in said
    assert sorted(study.folder.rglob("*")) == before, "without --out nothing is written"
