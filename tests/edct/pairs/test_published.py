"""What others printed of a set of pairs stands beside own figures where set, model and kind are the same."""

from pathlib import Path
from typing import get_args

from cfeval.core import registry
from cfeval.core.jsonl import read_csv
from cfeval.datasets.pair import ChangeKind
from cfeval.edct.pairs.measures import METRICS, PublishedPairs, notes
from cfeval.edct.pairs.records import PairCondition
from cfeval.edct.pairs.table import PairData, PairRow, render, rows
from tests.edct.pairs.test_pairs import verdict

PUBLISHED = read_csv(Path(__file__).parents[3] / "data/reference/pairs.csv", PublishedPairs)


def table(vlm: str, plugin: str) -> list[PairRow]:
    condition = PairCondition(pair_set="mine", vlm=vlm, pair_judge="j")
    kinds = ("object", "count")
    of = [verdict(f"{n}", n % 2, n % 2, kind=kinds[n % 2], correct_before=1, correct_after=1) for n in range(8)]
    return rows([condition], PairData({condition: of}, published=PUBLISHED, sets={"mine": plugin}))


def test_a_figure_stands_beside_the_same_model_set_and_kind_and_no_other() -> None:
    found = {row.kind: row.paper_pair_accuracy for row in table("gpt-4o", "vismin")}
    assert found == {"": None, "object": 0.9551, "count": 0.7742}
    assert [row.paper_pair_accuracy for row in table("gpt-4v", "hallusionbench")] == [0.3142, None, None]
    assert [row.paper_pair_accuracy for row in table("gpt-4o", "naturalbench")] == [0.65, None, None]
    assert {row.paper_pair_accuracy for row in table("gpt-4o", "files")} == {None}
    assert {row.paper_pair_accuracy for row in table("gpt-5", "vismin")} == {None}


def test_the_table_names_the_source_and_that_the_task_is_another() -> None:
    of = table("gpt-4o", "vismin")
    said = render(of, notes(PUBLISHED, {"mine": "vismin"}))
    assert "Both right, published" in said.headings
    [about] = [note for note in said.notes if "Text score (count)" in note]
    assert about.index("MTurk Human 0.8896") < about.index("GPT4-o 0.7742") < about.index("Gemini1.0 Pro 0.6774")
    assert about.endswith("Its task or its prompts are others than ours.")
    assert notes(PUBLISHED, {"mine": "world"}) == []
    plain = render(table("gpt-4o", "files"))
    assert "Both right, published" not in plain.headings


def test_every_published_figure_is_of_a_reader_a_column_and_a_kind_that_there_are() -> None:
    assert PUBLISHED
    for line in PUBLISHED:
        assert line.plugin in registry.names("pair_sets")
        assert line.metric in METRICS
        assert line.kind in get_args(ChangeKind)
        assert 0 <= line.value <= 1
        assert line.source
        assert line.printed
