"""Records are found wherever they stand, and as often as they are asked for."""

import random
from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval.core.jsonl import write_jsonl
from cfeval.core.streams import Grouped, RecordIndex
from cfeval.edct.records import Baseline


def baseline(name: str, answer: str = "") -> Baseline:
    return Baseline(id=name, question="Où ?", answer=answer or f"de {name}")


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    """Two files, the second with a byte order mark and an empty line."""
    write_jsonl(tmp_path / "0.jsonl", (baseline(f"i{n}") for n in range(40)))
    write_jsonl(tmp_path / "1.jsonl", (baseline(f"i{n}") for n in range(40, 60)))
    second = tmp_path / "1.jsonl"
    second.write_bytes(b"\xef\xbb\xbf" + second.read_bytes().replace(b"\n", b"\n\n", 1))
    return [tmp_path / "0.jsonl", second]


def test_every_record_is_found_in_any_order(files: list[Path]) -> None:
    records = RecordIndex(files, Baseline)
    names = [f"i{n}" for n in range(60)]
    assert list(records) == names
    assert len(records) == 60
    wanted = random.Random(1).choices(names, k=100)
    assert [records[name].answer for name in wanted] == [f"de {name}" for name in wanted]


def test_what_is_not_there_is_none(files: list[Path]) -> None:
    assert RecordIndex(files, Baseline).get("i60") is None
    assert "i60" not in RecordIndex(files, Baseline)
    assert RecordIndex([], Baseline).get("i1") is None


def test_an_id_twice_is_refused(files: list[Path]) -> None:
    with pytest.raises(InputError, match=r"two records of 'i\d+'; give each file once"):
        RecordIndex([files[0], *files], Baseline)


def test_a_line_that_is_no_record_is_named(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", [baseline("a")])
    with (tmp_path / "x.jsonl").open("a") as stream:
        stream.write("{}\n")
    with pytest.raises(InputError, match=r"x\.jsonl, line 2: "):
        RecordIndex([tmp_path / "x.jsonl"], Baseline)


def test_records_that_share_a_key_are_a_group_in_the_order_of_the_files(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", (baseline(f"i{n}", "ab"[n % 2]) for n in (5, 2, 3)))
    write_jsonl(tmp_path / "y.jsonl", (baseline(f"i{n}", "ab"[n % 2]) for n in (1, 4)))
    groups = Grouped([tmp_path / "x.jsonl", tmp_path / "y.jsonl"], Baseline, lambda record: record.answer)
    assert list(groups) == ["b", "a"]
    assert [[record.id for record in groups[key]] for key in ("a", "b", "c")] == [["i2", "i4"], ["i5", "i3", "i1"], []]
    again = groups["b"]
    assert [len(again), *(record.id for record in again), *(record.id for record in again)][1:] == [
        "i5",
        "i3",
        "i1",
    ] * 2
