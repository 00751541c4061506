"""The cvqa study's step that makes tables, on the files of a study in one piece and in shards."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.jsonl import write_jsonl
from cfeval.core.shards import shard_files, shard_of
from cfeval.cvqa.records import CvqaScore, QuestionPair
from tests.conftest import Run
from tests.cvqa.study import everything, told
from tests.cvqa.tables.scores import condition, failed, image_hash, pair_scores, score
from tests.cvqa.tables.test_others import fate, labelled, said
from tests.listed import TABLES as LISTED

CONDITIONS = [condition(), condition("cot"), condition(of="puzzles"), condition(of="tenth")]
FACTS = {"m": {"kind": "program", "llm": "x"}, "cot": {"cot": True, "no_cot_baseline": "m"}}
SETS = {"real": {}, "puzzles": {}, "tenth": {"subset": True}}
NUMBERS = {f"direct-p{i:02}": i for i in range(20)}


def scores(of: str, shift: int) -> list[CvqaScore]:
    """The replies of a condition: pairs of which some failed, or questions with options in two orders."""
    if of == "puzzles":
        more = [
            {"kind": "abs_counting_1", "option_order": order, "shown": {"robust": "B"}} for order in ("ABCD", "BCDA")
        ]
        sides = [(f"p{i:02}", side, one) for i in range(20) for side in ("original", "counterfactual") for one in more]
        return [score(name, side, "AB"[(shift + int(name[1:])) % 2], "A", **one) for name, side, one in sides]
    bits = [(i * 7 + shift) % 3 for i in range(20)]
    found = pair_scores([int(bit > 0) for bit in bits], [int(bit > 1) for bit in bits])
    return [*labelled(found, NUMBERS), failed("x", "original"), failed("x", "counterfactual")]


def pair(number: int) -> QuestionPair:
    question = {"question": f"How many things are at {number}?", "answer": str(number % 4)}
    given = {"id": f"p{number:02}", "type": "direct", "img_path": "x.png", "original": question}
    image = {"path": "x.png", "sha256": image_hash(str(number))}
    return QuestionPair.model_validate(given | {"image": image, "counterfactual": question})


def write_study(results: Path, shards: int) -> None:
    """Every file that some table is made from, rows in another order where there are several shards."""

    def write(name: str, records: Iterable[Any]) -> None:
        rows = list(records) if shards == 1 else list(records)[::-1]
        for number, file in enumerate(shard_files(results / f"{name}.jsonl", shards)):
            write_jsonl(file, [row for row in rows if shard_of(row.id, shards) == number])

    for place, one in enumerate(CONDITIONS):
        rows = scores(one.set, place)
        write(f"scores/{one.set}/{one.solver}", rows)
        write(f"answers/{one.set}/{one.solver}", [said(name) for name in sorted({row.id for row in rows})])
    for of in SETS:
        write(f"questions/{of}", map(pair, range(12)))
    write_jsonl(results / "fates" / "real.jsonl", [fate("a"), fate("b", "wrong sum")])


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the study in one piece and one with it in seven."""
    folder: Path = tmp_path_factory.mktemp("study")
    for shards in (1, 7):
        write_study(folder / f"{shards}", shards)
    return folder


OTHERS = {"contamination", "reply_readers", "open_answers"}
"""Tables that are empty here: there is no fresh set, and no language model reads replies."""


def test_tables_are_the_same_whatever_the_sharding(cfeval: Run, sharded: Path, tmp_path: Path) -> None:
    genders = tmp_path / "genders.csv"
    genders.write_text("id,bb_gender\n" + "".join(f"{i},{('Female', 'Male')[i % 2]}\n" for i in range(20)))
    asked = {
        "conditions": [one.model_dump() for one in CONDITIONS],
        "sets": SETS,
        "solvers": FACTS,
        "builds": ["real"],
        "interval": {"resamples": 100},
        "genders": str(genders),
    }
    for shards in (1, 7):
        study, out = told(tmp_path, **asked, shards=shards), tmp_path / f"in-{shards}"
        given = ["--study", study, "--results", sharded / f"{shards}", "--out", out]
        assert cfeval("cvqa", "tables", *given) == (0, "", "")
    for name in LISTED["cvqa"]:
        text = (tmp_path / "in-1" / f"cvqa_{name}.csv").read_text()
        assert (text.count("\n") > 1) == (name not in OTHERS)
    assert everything(tmp_path / "in-1") == everything(tmp_path / "in-7")
