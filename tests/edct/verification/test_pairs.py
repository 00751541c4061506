"""Given pairs: untouched results pass the command, and whatever is changed in them is found."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.datasets.pair import file_pairs, pair_of
from cfeval.datasets.sample import Sample
from cfeval.edct.pairs.records import PairBaseline
from cfeval.edct.pairs.stages import verdicts
from cfeval.inference.remote.archive import export
from cfeval.inference.remote.cache import ResponseCache
from tests.conftest import Run
from tests.edct.pairs.test_pairs import image, pair

Rows = list[dict[str, Any]]


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Three pairs of one target; the answer moves in all but the last."""
    found = tmp_path / "edct"
    raws = [replace(pair(f"p{n}", kind="attribute"), images=(image(n), image(99 + n))) for n in range(3)]
    file_pairs(found / "pair_items/set.jsonl", raws, seed=2, every=1)
    samples = list(read_jsonl(found / "pair_items/set.jsonl", Sample))
    said = []
    for sample in samples:
        of = pair_of(sample)
        shown = of.first if of.side == "again" else of.side
        moved = shown == "after" and of.pair != "p2"
        texts = {"answer": "7" if moved else "5", "explanation": "The red wall."}
        said.append(PairBaseline(id=sample.id, question=sample.question, **texts))
    write_jsonl(found / "pair_baselines/set/target.jsonl", said)
    judge = registry.build("pair_judges", {"plugin": "lexical"})
    ruled = verdicts(samples, {one.id: one for one in said}, judge, 1)
    write_jsonl(found / "pair_verdicts/set/target/lexical.jsonl", ruled)
    cache = ResponseCache(tmp_path / "calls.sqlite")
    export(cache, [], found / "calls/calls.zip")
    cache.close()
    return found


def answered(name: str, answer: str) -> Callable[[Rows], object]:
    """Another answer to one item."""
    return lambda rows: next(row for row in rows if row["id"] == name).update(answer=answer)


def altered(file: Path, change: Callable[[Rows], object]) -> None:
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    change(rows)
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def test_untouched_results_of_given_pairs_pass(cfeval: Run, results: Path) -> None:
    status, out, err = cfeval("verify", "--results", results)
    assert (status, err) == (0, ""), out
    assert "1 conditions of given pairs, 3 verdicts" in out
    assert all(f"{stage} " in out for stage in ("pair_items", "pair_baselines", "pair_verdicts", "images"))


@pytest.mark.parametrize(
    ("file", "change", "said"),
    [
        ("pair_verdicts/set/target/lexical.jsonl", lambda rows: rows[0].update(moved=0), "moved is 0, not 1"),
        ("pair_verdicts/set/target/lexical.jsonl", lambda rows: rows[1].update(noise=1), "noise is 1, not 0"),
        ("pair_verdicts/set/target/lexical.jsonl", lambda rows: rows[2].update(kind="count"), "kind is 'count', not"),
        ("pair_verdicts/set/target/lexical.jsonl", lambda rows: rows[0].update(total_variation=0.5), "not None"),
        ("pair_verdicts/set/target/lexical.jsonl", lambda rows: rows.pop(), "p2"),
        ("pair_baselines/set/target.jsonl", lambda rows: rows[0].update(question="Why?"), "its question is not that"),
        ("pair_baselines/set/target.jsonl", answered("p0.after", "5"), "moved is 1, not 0"),
        ("pair_items/set.jsonl", lambda rows: rows[1]["metadata"].update(before="a cup"), "it says something else"),
        ("pair_items/set.jsonl", lambda rows: rows.insert(0, rows.pop(1)), "in their order"),
        (
            "pair_verdicts/set/target/lexical.jsonl",
            lambda rows: [row.update(first="after") for row in rows],
            "first is",
        ),
        ("pair_items/set.jsonl", lambda rows: rows[1]["image"].update(sha256="0" * 64), "its image"),
    ],
)
def test_what_is_changed_in_given_pairs_is_found(
    cfeval: Run, results: Path, file: str, change: Callable[[Rows], object], said: str
) -> None:
    altered(results / file, change)
    status, out, _ = cfeval("verify", "--results", results)
    assert status == 2, out
    assert said in out
