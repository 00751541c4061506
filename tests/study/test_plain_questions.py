"""A stranger's questions of every kind, and a public set in its own form, from an empty folder to the finished page."""

import csv
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Run
from tests.images import image
from tests.study.test_servers import Answer, models, says, serving

ROWS: list[dict[str, Any]] = [
    {"image": "0.png", "question": "What colour would the wall be if it were painted like the sky?", "answer": "blue"},
    {"image": "1.png", "question": "What if the dog left?", "answer": "4", "options": "1|2|3|4|5|6|7"},
    {"image": "2.png", "question": "Would he be wet if it rained?", "answer": "Yes", "type": "weather"},
    {"images": "3.png|4.png", "question": "How many cups would both pictures show if one broke?", "answer": "3"},
    {
        "image": "5.png",
        "question": "Who is left?",
        "answer": "the man",
        "counterfactual_question": "Who would be left if the man went?",
        "counterfactual_answer": "woman|lady",
        "type": "people",
    },
]
REPLIES = {
    "What colour": "It would be blue.",
    "What if the dog": "D",
    "Would he": "No, he has an umbrella.",
    "How many cups": "There would be 3.",
    "Who is": "The man.",
    "Who would": "The lady would be left.",
    "Which of these": "A mug under a table.",
}


def reply(path: str, body: dict[str, Any]) -> Answer:
    """What the model says to a question."""
    text = json.dumps(body["messages"])
    [said] = [said for asked, said in REPLIES.items() if asked in text]
    return says(said)(path, body)


def test_a_plain_set_of_five_rows_loses_none(tmp_path: Path, cfeval: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number in range(6):
        (tmp_path / f"{number}.png").write_bytes(image(number, size=(32, 24)).png)
    with (tmp_path / "mine.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(name for row in ROWS for name in row)))
        writer.writeheader()
        writer.writerows(ROWS)
    status, out, err = cfeval("init", "s", "--study", "cvqa", "--questions", "mine.csv", "--model", "ollama/llava")
    assert status == 0, err
    assert "mine.csv: 5 rows\n" in out + err
    assert "4 of 5 rows do not have a question without the if" in out + err


@pytest.mark.slow
def test_five_rows_and_a_public_set_reach_the_page(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"{number}.png").write_bytes(image(number, size=(32, 24)).png)
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    captions = ["A mug under a table", "A mug on a table", "A mug to the left of a table"]
    rows = [
        {"image_path": f"data/controlled_images/{n}.jpeg", "caption_options": captions[n:] + captions[:n]}
        for n in range(3)
    ]
    (tmp_path / "whatsup/controlled_images").mkdir(parents=True)
    (tmp_path / "whatsup/controlled_images_dataset.json").write_text(json.dumps(rows))
    for number in range(3):
        (tmp_path / f"whatsup/controlled_images/{number}.jpeg").write_bytes(image(number, size=(32, 24)).png)
    pages = {}
    with serving(models("mine"), reply) as server:
        for name, table in (("own", "mine.jsonl"), ("public", "whatsup/controlled_images_dataset.json")):
            model = f"vllm/mine@{server.url}/v1"
            words = ["init", name, "--study", "cvqa", "--questions", table, "--model", model]
            for command in (words, ["run", name, "--yes", "--no-probe"]):
                done = subprocess.run(
                    [sys.executable, "-m", "cfeval.cli", *command],
                    cwd=tmp_path,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                )
                assert done.returncode == 0, done.stderr
            pages[name] = done.stdout, tmp_path / name / f"results/{name}/cvqa"
            shown = [str(body).count("'type': 'image_url'") for body in server.posts if "How many cups" in str(body)]
    assert shown == [2]
    out, results = pages["own"]
    with (results / "tables/cvqa_table3.csv").open() as file:
        table3 = {row["type"]: row for row in csv.DictReader(file) if row["reader"] == "robust"}
    found = {kind: (row["original"], row["counterfactual"], row["missing"]) for kind, row in table3.items()}
    assert found == {
        "people": ("1.0000", "1.0000", ""),
        "questions": ("", "1.0000", ""),
        "weather": ("", "0.0000", ""),
    }
    html = (results / "report/index.html").read_text()
    assert "no drop: only the “if” was asked" in html
    assert "not asked" in (results / "tables/cvqa_table3.md").read_text()
    assert re.search(r'mine on own \(questions\): 1.0000 right under the "if" \(asked alone: no drop\), 3 of 3', out)
    out, results = pages["public"]
    assert "mine answers 0.33 of 3 questions under the “if” rightly" in (results / "report/index.html").read_text()
    assert 'mine on own (all): 0.3333 right under the "if"' in out
