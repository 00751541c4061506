"""Record files: what is written is read back, the same records give the same bytes, a fault is placed."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_csv, read_jsonl, write_csv, write_jsonl
from cfeval.core.records import Status
from cfeval.edct.records import Baseline, Instruction, Score, Verdict

texts = st.text(st.characters(codec="utf-8"), max_size=40)
ids = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
bits = st.sampled_from([0, 1])
baselines = st.builds(Baseline, id=ids, question=texts, answer=texts, explanation=texts, reason=texts)
scores = st.dictionaries(st.sampled_from(["pcs", "ncc", "ac", "ef"]), st.sampled_from([0, 1]))
verdicts = st.builds(Verdict, id=ids, edit=st.integers(1, 9), scores=scores, grade=st.floats(1, 5), completion=texts)
NAMES = {name: name for name in ("dataset", "vlm", "writer", "protocol", "editor", "judge")}


@pytest.mark.slow
@given(records=st.lists(baselines | verdicts, max_size=5))
def test_records_round_trip_through_jsonl(tmp_path_factory: pytest.TempPathFactory, records: list[Baseline]) -> None:
    path = tmp_path_factory.mktemp("x") / "records.jsonl"
    for kind in (Baseline, Verdict):
        some = [record for record in records if type(record) is kind]
        write_jsonl(path, some)
        assert list(read_jsonl(path, kind)) == some
        first = path.read_bytes()
        write_jsonl(path, some)
        assert path.read_bytes() == first


@given(reason=texts.filter(lambda t: t.strip() == t and "\r" not in t), share=st.floats(0, 1) | st.none(), bit=bits)
def test_scores_round_trip_through_csv(
    tmp_path_factory: pytest.TempPathFactory, reason: str, share: float | None, bit: int
) -> None:
    path = tmp_path_factory.mktemp("x") / "scores.csv"
    rows = [
        Score(**NAMES, id="a", pcs=bit, ncc=1, ccs=bit, changed_share=share),
        Score(**NAMES, id="b", status=Status.REFUSED, stage="baseline", reason=reason),
    ]
    write_csv(path, Score, rows)
    rows[1] = rows[1].model_copy(update={"reason": reason.replace("\0", "\ufffd")})  # what no text file may hold
    assert read_csv(path, Score) == rows


def test_keys_are_sorted_and_the_file_ends_with_a_newline(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "x.jsonl", [Instruction(id="a", concept="Grün")])
    text = (tmp_path / "x.jsonl").read_text(encoding="utf-8")
    assert text.startswith(
        '{"absent": [], "calls": [], "cited": null, "completion": "", "concept": "Grün", "drawn_from": null, '
    )
    assert text.endswith("}\n")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ('{"id": "a", "question": "q"}\n{"id": "b"\n', "line 2"),
        ('{"id": "a", "question": "q"}\n\n{"id": "b"}\n', "line 3: question: Field required"),
        ('{"id": "../b", "question": "q"}\n', "line 1: id"),
        ('{"id": "a", "question": "q", "sorce": "x"}\n', "line 1: sorce"),
    ],
)
def test_a_broken_line_is_named_by_its_number(tmp_path: Path, content: str, complaint: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=complaint):
        list(read_jsonl(path, Baseline))


def test_a_missing_file_and_a_file_that_is_no_text_are_one_line_each(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        list(read_jsonl(tmp_path / "none.jsonl", Baseline))
    (tmp_path / "x.jsonl").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not UTF-8"):
        list(read_jsonl(tmp_path / "x.jsonl", Baseline))


@pytest.mark.parametrize("bits", [{"pcs": 1}, {"pcs": 1, "ncc": 1, "ccs": 1, "status": "refused"}])
def test_a_row_is_scored_when_and_only_when_its_status_is_ok(bits: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="only when, the status is ok"):
        Score(**NAMES, id="a", **bits)
