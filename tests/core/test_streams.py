import random
from pathlib import Path

import pytest

from cfeval.core.errors import InputError
from cfeval.core.jsonl import write_jsonl
from cfeval.core.streams import StreamingLookup
from cfeval.edct.records import Baseline, Verdict


def baseline(name: str) -> Baseline:
    return Baseline(id=name, question="?", answer=f"of {name}")


def following(path: Path, window: int) -> StreamingLookup[str, Baseline]:
    return StreamingLookup(path, Baseline, lambda record: record.id, window)


@pytest.mark.parametrize("window", [1, 7, 1000])
def test_records_are_found_in_any_order_whatever_the_window(tmp_path: Path, window: int) -> None:
    names = [f"i{n}" for n in range(60)]
    write_jsonl(tmp_path / "x.jsonl", map(baseline, names))
    records = following(tmp_path / "x.jsonl", window)
    wanted = random.Random(1).choices(names, k=100) + names + names[::-1]
    assert [records[name].answer for name in wanted] == [f"of {name}" for name in wanted]


def test_a_file_that_is_looked_up_in_its_own_order_is_read_once(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", (baseline(f"i{n}") for n in range(50)))
    records, parsed = following(tmp_path / "x.jsonl", 3), []
    records._key = lambda record: parsed.append(record.id) or record.id  # type: ignore[func-returns-value]
    for n in range(50):
        assert records[f"i{n}"].id == f"i{n}"
    assert parsed == [f"i{n}" for n in range(50)]


def test_what_no_record_is_about_is_named(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", [Verdict(id="a"), Verdict(id="a", edit=2)])
    records = StreamingLookup(tmp_path / "x.jsonl", Verdict, lambda record: (record.id, record.edit), 1)
    assert records["a", 2].edit == 2
    with pytest.raises(InputError, match=r"x\.jsonl: no record of 'b', edit 1; give the files"):
        records["b", 1]
    assert records["a", 1].edit == 1


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        following(tmp_path / "x.jsonl", 5)["a"]
