"""Every reader of users' files ends in items, or in one line that says what is wrong and where."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cfeval.config import load
from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_csv, read_jsonl
from cfeval.core.sampling import read_list
from cfeval.core.text_files import csv_line, csv_rows, parse_json, read_json, read_pairs
from cfeval.cvqa.cli import read_gender_labels
from cfeval.cvqa.csv_format import read_questions, read_results
from cfeval.datasets import drivelm, files, threedsrbench, vqa
from cfeval.datasets.pairs import benchmarks
from cfeval.datasets.pairs import files as pair_files
from cfeval.datasets.sample import Sample
from cfeval.edct.edit_cost import noted_times
from cfeval.edct.exam.table import exam_error
from cfeval.edct.labelling.records import KeyRow, Label, read_key, read_labels
from cfeval.edct.plugins.given_edits import given_edits
from cfeval.edct.records import Score
from cfeval.vce.models.attributes import read_labels as read_attributes
from cfeval.vce.models.class_names import named
from cfeval.vce.plugins.image_sets import _of_csv

NAMES = ("dataset", "vlm", "writer", "editor")
KEY = {
    1: KeyRow.model_validate(
        dict.fromkeys(NAMES, "x")
        | {"protocol": "edct-2025", "id": "i", "sheet": "a" * 64, "item": 1, "asks": "edit_valid", "weight": 1}
    )
}


def own(path: Path) -> object:
    return files.Files(files.Plugin(path=str(path), question="What?")).scan()


def pairs(plugin: Any) -> Callable[[Path], object]:
    return lambda path: list(plugin(path=str(path)).build().pairs(3, 0))


def magicbrush_questions(path: Path) -> object:
    return benchmarks.MagicBrush(path=str(path), questions=str(path)).build()


def folder_of_pairs(path: Path) -> object:
    return list(pair_files.Plugin(path=str(path.parent)).build().pairs(3, 0))


def annotations(path: Path) -> object:
    questions = vqa.Questions("val2014", {"1": vqa.Question("1", 1, "What?")})
    return vqa.read_annotations(path, questions, ["1"])


def spatial(path: Path) -> object:
    return list(threedsrbench.ThreeDSRBench(threedsrbench.Plugin(path=str(path))).samples(3, 0))


READERS: dict[str, tuple[Callable[[Path], object], tuple[str, ...], tuple[str, ...]]] = {
    "own images": (own, ("csv", "tsv", "jsonl"), ("id", "image", "question", "reference", "kind")),
    "own pairs": (
        pairs(pair_files.Plugin),
        ("csv", "tsv", "jsonl", "json"),
        ("before", "after", "question", "changed"),
    ),
    "a folder of pairs": (folder_of_pairs, ("json",), ("question", "changed")),
    "NaturalBench": (pairs(benchmarks.NaturalBench), ("csv", "jsonl", "json"), ("Index", "Image_0", "Question_0")),
    "HallusionBench": (
        pairs(benchmarks.HallusionBench),
        ("json", "csv"),
        ("category", "visual_input", "filename", "figure_id", "question", "gt_answer_details", "set_id"),
    ),
    "MagicBrush's questions": (magicbrush_questions, ("csv",), ("img_id", "turn_index", "question")),
    "given edits": (
        lambda path: given_edits(path, path.parent, ("concept",)),
        ("csv", "tsv", "jsonl"),
        ("item", "concept", "instruction", "image"),
    ),
    "VQA questions": (vqa.read_questions, ("json",), ("questions", "question_id", "image_id", "question")),
    "VQA annotations": (annotations, ("json",), ("annotations", "question_id", "image_id", "answers", "answer")),
    "DriveLM": (drivelm._read, ("json",), ("key_frames", "QA", "image_paths")),
    "3DSRBench": (spatial, ("tsv", "csv"), ("qid", "question", "A", "B", "C", "D", "answer", "category")),
    "C-VQA questions": (
        lambda path: list(read_questions(path)),
        ("csv",),
        ("img_path", "query", "answer", "new query", "new answer", "type"),
    ),
    "C-VQA results": (
        lambda path: list(read_results(path)),
        ("csv",),
        ("img_path", "query", "answer", "new query", "new answer", "type", "response", "new_response"),
    ),
    "gender labels": (read_gender_labels, ("csv",), ("id", "bb_gender")),
    "a key of labels": (read_key, ("csv",), ("sheet", "item", "asks")),
    "labels": (lambda path: read_labels([path], KEY), ("csv", "json"), ("sheet", "item", "rater")),
    "an exam's table": (exam_error, ("csv",), ("judge", "score", "kind", "n", "n_scored")),
    "scores": (lambda path: read_csv(path, Score), ("csv",), ("id", "edit", "pcs", "ncc")),
    "label records": (lambda path: read_csv(path, Label), ("csv",), ("sheet", "item", "rater")),
    "samples": (lambda path: list(read_jsonl(path, Sample)), ("jsonl",), ("id", "image", "question")),
    "names by folder": (lambda path: read_pairs(path, "folder", "class"), ("csv",), ("folder", "class")),
    "ImageNet's truth": (_of_csv, ("csv",), ("image", "synset")),
    "names of classes": (lambda path: named(str(path), None), ("txt", "json"), ("ant", "bee")),
    "labels of attributes": (lambda path: read_attributes(path, ["smile"]), ("csv", "txt"), ("image", "smile")),
    "ids": (read_list, ("txt",), ("a", "b")),
    "times of edits": (noted_times, ("jsonl",), ("image", "seconds")),
    "parameters": (lambda path: load(path), ("yaml",), ("edct", "vlms", "items")),
}
CASES = [(name, ending) for name, (_, endings, _) in READERS.items() for ending in endings]

ODD = st.sampled_from(
    ['"', '""', ",", ";", "\t", "\r", "\n", "\r\n", "\0", "\ufeff", "é", "字", "🙂", " ", "NaN", "1e999", "9" * 5000]
)
TEXTS = st.one_of(st.text(max_size=12), ODD, st.lists(ODD, max_size=4).map("".join))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just("\ud83d"), ODD),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
    max_leaves=12,
)
DEEP = [
    opening * depth + "1" + closing * depth
    for opening, closing in ("[]", ('{"a":', "}"))
    for depth in (90, 990, 200_000)
]
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "utf-32", "cp1252"])


@st.composite
def table(draw: st.DrawFn, columns: tuple[str, ...]) -> str:
    """A table as a program writes it or as a slip leaves it."""
    header = [*draw(st.permutations(columns)), *draw(st.lists(st.sampled_from([*columns, "", "odd"]), max_size=1))]
    rows = draw(st.lists(st.lists(TEXTS, min_size=len(header) - 1, max_size=len(header) + 1), max_size=4))
    text = io.StringIO()
    mark, end = draw(st.sampled_from(",;\t|")), draw(st.sampled_from(["\n", "\r", "\r\n"]))
    csv.writer(text, delimiter=mark, lineterminator=end).writerows([header, *rows])
    slip = draw(st.sampled_from(["", '"', "\n\n", ",,,"]))
    place = draw(st.integers(0, len(text.getvalue())))
    content = text.getvalue()[:place] + slip + text.getvalue()[place:]
    return draw(st.sampled_from(["", f"sep={mark}{end}", "sep=x\n"])) + content


@st.composite
def lines(draw: st.DrawFn, columns: tuple[str, ...]) -> str:
    """JSON, a value a line or one in all, with the keys of a reader or any others."""
    objects = st.dictionaries(st.sampled_from(columns), JSON)
    nested = st.dictionaries(st.sampled_from(columns), st.lists(objects))
    values = draw(st.lists(st.one_of(objects, JSON, nested), max_size=3))
    texts = [json.dumps(value) for value in values]
    if draw(st.booleans()):
        return "\n".join([*texts, *draw(st.lists(st.sampled_from(DEEP), max_size=1))])
    return draw(st.sampled_from([*DEEP, f"[{','.join(texts)}]", *texts]))


def outcome(read: Callable[[Path], object], path: Path) -> str:
    """What the reader says of a file it refuses; empty where it reads it. Anything but an InputError fails."""
    try:
        result = read(path)
        if isinstance(result, Iterator):
            list(result)
    except InputError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("name", "ending"), CASES)
@given(data=st.data())
def test_any_file_is_read_or_refused_in_one_line(name: str, ending: str, data: st.DataObject) -> None:
    read, _, columns = READERS[name]
    texts = [st.text(max_size=60), lines(columns) if ending in ("json", "jsonl", "yaml") else table(columns)]
    content = data.draw(st.one_of(st.binary(max_size=40), *texts))
    if isinstance(content, str):
        content = content.encode(data.draw(ENCODINGS), "replace")
    with TemporaryDirectory() as place:
        path = Path(place, f"x.{ending}")
        path.write_bytes(content)
        said = outcome(read, path)
    assert said.count("\n") == 0
    assert not said or place in said


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)


@given(
    st.lists(st.lists(CELLS, min_size=3, max_size=3), max_size=5),
    st.sampled_from(",;\t|"),
    st.sampled_from(["\n", "\r", "\r\n"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]),
    st.booleans(),
)
@example([["x" * 300_000, '5" disk', "a\nb"]], ";", "\r\n", "utf-16", True)
def test_a_table_holds_what_python_wrote(rows: list[list[str]], mark: str, end: str, encoding: str, told: bool) -> None:
    rows = [row for row in rows if "".join(row).strip(f" \t\r\n{mark}")]
    text = io.StringIO()
    quoting = (
        csv.QUOTE_ALL if any({"\r", "\n"} & set(cell) for row in rows for cell in row) else csv.QUOTE_MINIMAL
    )  # which leaves a line end in a cell bare where rows end otherwise
    csv.writer(text, delimiter=mark, lineterminator=end, quoting=quoting).writerows([["a", "b", "c"], *rows])
    with TemporaryDirectory() as place:
        path = Path(place, "x.csv")
        path.write_bytes(((f"sep={mark}{end}" if told else "") + text.getvalue()).encode(encoding))
        found = list(csv_rows(path))
    assert [list(row.cells.values()) for row in found] == rows
    assert [row.number for row in found] == list(range(1, len(rows) + 1))


@given(st.lists(st.lists(st.one_of(CELLS, st.just("a\rb")), min_size=3, max_size=3).filter(any), max_size=4))
def test_a_table_that_is_written_is_read_again(rows: list[list[str]]) -> None:
    rows = [row for row in rows if "".join(row).strip(" \t\r\n,")]
    with TemporaryDirectory() as place:
        path = Path(place, "x.csv")
        path.write_text("".join(map(csv_line, [["a", "b", "c"], *rows])), encoding="utf-8", newline="")
        assert [list(row.cells.values()) for row in csv_rows(path)] == rows


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('a,b\n1,2\n3,"4\n5,6\n', "line 3: a quote stands in a cell or is not closed"),
        ('a,b\n1,2\n3,4" disk\n5,6\n', "line 3: a quote stands in a cell"),
        ('a,b\n1,"2\n3,4"\n5,"6"7\n', "line 4: a quote stands in a cell"),
        ("a,b\n1,2\n3,4,5\n", "line 3: 3 columns, and the header has 2"),
        ("a,b\n1,2\n3\n", "line 3: 1 columns, and the header has 2"),
        ("a,b,a\n1,2,3\n", "line 1: column 'a' stands there twice"),
        ("sep=;\n\na;b;a\n1;2;3\n", "line 3: column 'a' stands there twice"),
        ("a,b,,\n1,2,3,4\n", "line 2: several cells stand under columns without a name"),
        ("a,b\n1,\0\n", "line 2: a NUL character"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
def test_a_slip_in_a_table_is_one_line_with_its_row(tmp_path: Path, text: str, said: str, end: str) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(text.replace("\n", end).encode())
    with pytest.raises(InputError) as error:
        list(csv_rows(path))
    assert str(error.value).startswith(f"{path}, {said}")


def test_columns_without_name_and_cells_are_no_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b,,\n1,2,,\n,,,\n3,4,,\n")
    assert [dict(row.cells) for row in csv_rows(path)] == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]


def test_text_that_is_not_utf_8_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes("a,b\r\n1,2\r\ncafé,4\r\n".encode("cp1252"))
    with pytest.raises(InputError, match=r"x\.csv, line 3: not UTF-8 text"):
        list(csv_rows(path))


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '{"a": -Infinity}', "1e999", "-1E400", *DEEP[1:3], *DEEP[4:]])
def test_json_that_is_not_finite_or_too_deep_is_one_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError) as error:
        read_json(path)
    assert str(error.value).startswith(f"{path}: not JSON")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (r'{"a": "\ud83d"}', "half a character"),
        (r'{"\udc00": 1}', "half a character"),
        (r'["\u0000"]', "half a character or NUL"),
        ('{"a": 1, "b": {"c": 1, "c": 2}}', "the key 'c' stands twice"),
        ("9" * 5000, "not JSON that can be read"),
        ('{\n"a": 1,\n}', "at line 3, character"),
    ],
)
def test_json_that_would_lose_something_is_one_line(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_json(text, "x.json, line 1")


@given(JSON)
def test_json_is_what_python_reads_or_refused_for_a_reason(value: object) -> None:
    text = json.dumps(value)
    lossy = "NaN" in text or "Infinity" in text or "\\ud8" in text or "\\u0000" in text
    try:
        assert parse_json(text, "x") == json.loads(text)
    except InputError:
        assert lossy
