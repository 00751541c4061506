"""240 questions with known replies, from an empty folder to page, table and last lines: all say what is counted."""

import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from tests.images import image
from tests.study.test_servers import Answer, models, says, serving

pytestmark = pytest.mark.slow
PAIRS = 40
GROUPS = ("direct", "indirect", "boolean")
SIDES = ("original", "counterfactual")


class Form(NamedTuple):
    """How a reply puts an answer: its text, and what the robust reader and the released rules make of it."""

    text: str
    robust: str | None
    published: str | None


NUMBERS = (
    Form("{}", "{}", "{}"),
    Form("There are 99 now. The answer is {}.", "{}", "99"),
    Form("There would be {} of them.", "{}", "{}"),
    Form("It depends.", None, None),
)
YES = (
    Form("Yes.", "yes", "yes"),
    Form("Considering the scene, I would say yes.", "yes", "yes"),
    Form("Certainly, he would be soaked.", "yes", "yes"),
    Form("Yes, it would not matter.", "yes", "no"),
    Form("Maybe.", None, None),
)
NO = (
    Form("No.", "no", "no"),
    Form("I don't think so.", "no", None),
    Form("Looking at the image, no.", "no", "no"),
    Form("Hard to say.", None, None),
    Form("I doubt that he would.", "no", None),
)


@dataclass(frozen=True)
class Question:
    """A question of the file, and what the model says to it."""

    pair: int
    group: str
    side: str
    text: str
    answer: str
    reply: str
    robust: bool | None
    """Whether it is right as the robust reader reads it; None: it cannot."""
    published: bool
    """The same by the released rules, which count what they cannot read as wrong."""


def questions() -> Iterator[Question]:
    """240 of them; which form is right and which wrong follows from their number."""
    for number in range(len(GROUPS) * PAIRS):
        group = GROUPS[number // PAIRS]
        for place, side in enumerate(SIDES):
            turn = number * 5 + place * 3
            if group == "boolean":
                answer = ("yes", "no")[turn % 2]
                said = answer if turn % 4 else {"yes": "no", "no": "yes"}[answer]
                form = (YES if said == "yes" else NO)[turn // 2 % 5]
            else:
                answer, form = str(turn % 7), NUMBERS[turn % 4]
                said = answer if turn % 3 else str(turn % 7 + 1)
            read = [value and value.format(said) for value in form[1:]]
            if_clause = " if one more came" if place else ""
            text = f"{'Would he be wet' if group == 'boolean' else 'How many are there'} in case {number}{if_clause}?"
            robust = None if read[0] is None else read[0] == answer
            yield Question(number, group, side, text, answer, form.text.format(said), robust, read[1] == answer)


def share(scores: list[bool | None]) -> float:
    return sum(score is True for score in scores) / len(scores)


def counted(group: str, side: str, reader: str) -> tuple[float, float, float]:
    """A figure as anyone would count it, over the replies that can be read; and its bounds."""
    here = [getattr(one, reader) for one in questions() if (one.group, one.side) == (group, side)]
    low, high = share(here), share([True if score is None else score for score in here])
    return share([score for score in here if score is not None]), low, high


def ranged(value: float, low: float, high: float, decimals: int) -> str:
    """A figure with its bounds, where any reply is unread."""
    shown = [f"{number:.{decimals}f}" for number in (value, low, high)]
    return f"{shown[0]} ({shown[1]} to {shown[2]})" if low < high else shown[0]


@dataclass(frozen=True)
class Finished:
    """A run that has ended: its folder of results, and its last lines."""

    results: Path
    lines: list[str]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    """The study, run as a user runs it."""
    folder = tmp_path_factory.mktemp("known")
    asked = list(questions())
    replies = {one.text: one.reply for one in asked}

    def reply(path: str, body: dict[str, Any]) -> Answer:
        texts = re.findall(r"(?:Would he|How many)[^?]*\?", json.dumps(body["messages"][-1]))
        return says(replies[texts[-1]])(path, body)

    (folder / "photos").mkdir()
    with (folder / "questions.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["img_path", "query", "answer", "new query", "new answer", "type"])
        for first, then in zip(asked[::2], asked[1::2], strict=True):
            (folder / f"photos/{first.pair}.png").write_bytes(image(first.pair, size=(32, 24)).png)
            rows.writerow([f"{first.pair}.png", first.text, first.answer, then.text, then.answer, first.group])
    with serving(models("mine"), reply) as server:
        model = {"plugin": "openai", "provider": "vllm", "model": "mine", "base_url": f"{server.url}/v1"}
        cvqa = {
            "sets": {"own": {"plugin": "csv", "questions": "questions.csv", "images": "photos"}},
            "solvers": {"mine": {"plugin": "chat", "model": model}},
            "interval": {"resamples": 100},
        }
        (folder / "params.yaml").write_text(yaml.safe_dump({"name": "known", "cvqa": cvqa}))
        command = [sys.executable, "-m", "cfeval.cli", "run", "--yes", "--no-probe"]
        done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return Finished(folder / "results/known/cvqa", done.stdout.splitlines())


def table(finished: Finished, reader: str) -> dict[str, dict[str, str]]:
    """The rows of Table 3 by a reader, by group."""
    with (finished.results / "tables/cvqa_table3.csv").open() as file:
        return {row["type"]: row for row in csv.DictReader(file) if row["reader"] == reader}


def test_the_replies_try_both_readers() -> None:
    assert len(list(questions())) == 240
    for group in GROUPS:
        of = [one for one in questions() if one.group == group]
        assert {one.robust for one in of} == {True, False, None}
        assert any(one.robust is True and not one.published for one in of)


@pytest.mark.parametrize("group", GROUPS)
def test_table_page_and_console_say_what_can_be_counted(finished: Finished, group: str) -> None:
    rows = {name: table(finished, reader)[group] for name, reader in (("robust", "robust"), ("published", "reference"))}
    [line] = [one for one in finished.lines if one.startswith(f"mine on own ({group}): ")]
    html = (finished.results / "report/index.html").read_text()
    [row] = [one for one in re.findall(r"<tr role.*?</tr>", html, re.DOTALL) if f"<i>own, {group}</i>" in one]
    cells = dict(re.findall(r'data-l="([^"]*)">([^<]*)<', row))
    shown = {"original": cells["As it is"], "counterfactual": cells["Under the “if”"]}
    for side in SIDES:
        value, low, high = counted(group, side, "robust")
        assert float(rows["robust"][side]) == pytest.approx(value, abs=5e-5)
        assert float(rows["robust"][f"{side}_min"]) == pytest.approx(low, abs=5e-5)
        assert float(rows["robust"][f"{side}_max"]) == pytest.approx(high, abs=5e-5)
        assert shown[side] == ranged(value, low, high, 2)
        assert ranged(value, low, high, 4) in line.replace("right", "under").split(" under")[SIDES.index(side)]
        assert float(rows["published"][side]) == pytest.approx(counted(group, side, "published")[0], abs=5e-5)
    published = [counted(group, side, "published")[0] for side in SIDES]
    assert cells["As published"] == " → ".join(f"{value:.2f}" for value in published)
    assert line.endswith("; as published " + " → ".join(f"{value:.4f}" for value in published))
    readable = len({one.pair for one in questions() if one.group == group}) - len(
        {one.pair for one in questions() if one.group == group and one.robust is None}
    )
    assert (rows["robust"]["n_scored"], cells["Scored"]) == (str(readable), f"{readable} of {PAIRS}")
    assert f"{readable} of {PAIRS} scored" in line


def test_what_is_unread_is_said_as_missing(finished: Finished) -> None:
    unread = sum(one.robust is None for one in questions())
    assert f"cvqa: {unread} of 240 results have no score, all conditions counted:" in finished.lines
    for group, row in table(finished, "robust").items():
        here = sum(one.robust is None for one in questions() if one.group == group)
        assert row["missing"] == f"unread {here}"


def test_the_gallery_calls_an_unread_reply_no_score(finished: Finished) -> None:
    html = (finished.results / "report/index.html").read_text()
    chunks = re.findall(r'class="rows" data-view="0">(.*?)</script>', html)
    rows = [row for chunk in chunks for row in json.loads(chunk)]
    missing = {one.pair for one in questions() if one.robust is None}
    assert sum(row["m"]["mine"]["o"] == "missing" for row in rows) == len(missing)
