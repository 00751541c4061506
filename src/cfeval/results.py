"""A study's results as pandas frames: tables, items and calls, with columns as their records declare them.

pandas (the extra `frames`) is imported when the first frame is made.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel

from cfeval.config import read
from cfeval.core.errors import InputError, nearest
from cfeval.core.extras import require
from cfeval.core.folder import PARAMS, RESULTS, cfeval, near, quoted
from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import Record
from cfeval.cvqa.records import Answer, CvqaScore
from cfeval.cvqa.tables import TABLES as CVQA_TABLES
from cfeval.edct.files import ConditionFiles, conditions_in
from cfeval.edct.records import Score
from cfeval.edct.tables import TABLES as EDCT_TABLES
from cfeval.inference.remote import archive
from cfeval.inference.remote.cache_db import StoredCall
from cfeval.inference.remote.request import Response
from cfeval.report.tables import meanings
from cfeval.vce.records import VceScore
from cfeval.vce.tables import TABLES as VCE_TABLES

if TYPE_CHECKING:
    from pandas import DataFrame

_LISTED = {"edct": EDCT_TABLES, "vce": VCE_TABLES, "cvqa": CVQA_TABLES}
# pandas' nullable types, so that what is missing stays missing and whole numbers stay whole.
_DTYPES = ((bool, "boolean"), (int, "Int64"), (float, "Float64"), (str, "string"))


class Item(Score):
    """A row of `Results.items("edct")`: an item and edit of a condition, its score, and the texts it rests on."""

    question: str = ""
    """The question about the image."""
    answer: str = ""
    """The target model's answer about the original image."""
    explanation: str = ""
    """Its explanation of that answer."""
    concept: str = ""
    """The cited concept that was edited."""
    instruction: str = ""
    """The edit instruction: what to change."""
    new_answer: str = ""
    """Its answer about the counterfactual image."""
    new_explanation: str = ""
    """Its explanation of that answer."""


class VceItem(VceScore):
    """A row of `Results.items("vce")`: a counterfactual of a condition, and its figures."""

    image_set: str = ""
    """The images that it began with."""
    denoiser: str = ""
    """The diffusion model that made it."""
    classifier: str = ""
    """The classifier that is explained."""
    method: str = ""
    """How it was guided."""


class CvqaItem(CvqaScore):
    """A row of `Results.items("cvqa")`: a question of a condition, and how it was answered."""

    question_set: str = ""
    """The questions that it is of."""
    solver: str = ""
    """Who answered."""
    asked: str = ""
    """The question as it was put, with its options and the solver's words around it."""
    text: str = ""
    """The reply, as it was read."""


class Call(Record):
    """A row of `Results.calls()`: a call to a hosted model that the results rest on."""

    key: str
    """The hash of what was sent; records name their calls by it."""
    model: str
    """The model that was called."""
    base_url: str
    """Where it is served."""
    item: str
    """The item that it was first sent for."""
    sample_index: int
    """Which of several samples of the same request it is."""
    status: str
    """`ok`, or why there is no reply."""
    text: str
    """The reply."""
    input_tokens: int | None = None
    """Tokens that were read, as the provider counts them."""
    output_tokens: int | None = None
    """Tokens that were written, as the provider counts them."""
    cost_usd: float | None = None
    """What the provider says that it cost, in USD."""


# The rows of the frames that are no table.
FRAMES: Mapping[str, type[Record]] = {"items": Item, "vce items": VceItem, "cvqa items": CvqaItem, "calls": Call}


class Results:
    """The results of a study in a folder, read as they are asked for.

    Args:
        folder: the study's folder, or one of results: `results`, or `results/NAME` of a run with a name.

    Raises:
        InputError: the folder holds no results, or those of several runs.
    """

    def __init__(self, folder: str | Path = ".") -> None:
        self.folder = _results_in(Path(folder))
        self.evaluations = _evaluations_in(self.folder)
        """Those of edct, vce and cvqa that have results here."""

    def __repr__(self) -> str:
        """The folder, and what it holds."""
        return f"Results({str(self.folder)!r}): {', '.join(self.evaluations)}; tables: {', '.join(self.tables)}"

    @cached_property
    def tables(self) -> Mapping[str, "DataFrame"]:
        """The tables by the names of their files, such as `edct_table1`; each is read when it is first taken."""
        return _Tables(self.folder)

    def items(self, evaluation: Literal["edct", "vce", "cvqa"] = "edct") -> "DataFrame":
        """A row for each item and edit of every condition, with its scores or why it has none.

        Raises:
            InputError: there are no scores here.
        """
        if evaluation not in _ITEMS:
            raise InputError(f"no evaluation '{evaluation}'; {nearest(evaluation, _ITEMS)}")
        kind, rows = _ITEMS[evaluation]
        return _frame(kind, (row.model_dump(mode="json") for row in rows(self.folder / evaluation)))

    def calls(self) -> "DataFrame":
        """A row for each call to a hosted model that the records of `edct` name, as the study's archive keeps them."""
        return _frame(Call, (_call(call) for call, _ in archive.read(self.folder / "edct" / "calls" / "calls.zip")))

    def columns(self, what: str) -> "DataFrame":
        """The columns of a table, of `items`, `vce items`, `cvqa items` or `calls`: dtype and meaning of each."""
        require("pandas")
        from pandas import DataFrame

        kinds = _kinds()
        if what not in kinds:
            raise InputError(f"no table '{what}'; {nearest(what, kinds)}")
        kind, texts = kinds[what], meanings(kinds[what])
        rows = [(name, str(dtype_of(kind, name)), " ".join(texts.get(name, "").split())) for name in kind.model_fields]
        return DataFrame(rows, columns=["column", "dtype", "meaning"]).set_index("column")


def load(folder: str | Path = ".") -> Results:
    """The results of a study: `cfeval.load("my-study").tables["edct_table1"]` is a pandas frame.

    Args:
        folder: the study's folder, or one of results: `results`, or `results/NAME` of a run with a name.

    Raises:
        InputError: there is no such folder, or it holds no results yet.
    """
    return Results(folder)


def _results_in(folder: Path) -> Path:
    """The folder of results that a study's folder has, or the folder itself if it is one of results."""
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; {near(folder) or 'give the folder of a study'}")
    if (folder / PARAMS).is_file() and not _evaluations_in(folder):
        own, folder = read(folder / PARAMS).get("name"), folder / RESULTS
        if own:  # the run of params.yaml, which has a name
            folder /= str(own)
    if _evaluations_in(folder):
        return folder
    runs = [quoted(run) for run in sorted(folder.glob("*")) if _evaluations_in(run)]
    if runs:
        raise InputError(f"{folder}: results of several runs; give one of {', '.join(runs)}")
    study = folder.parent.parent if folder.parent.name == RESULTS else folder.parent
    if (study / PARAMS).is_file():
        raise InputError(f"{folder}: no results yet; `{cfeval('run', study)}` makes them")
    raise InputError(f"{folder}: no results; give the folder of a study, or a folder with edct/, vce/ or cvqa/")


def _evaluations_in(folder: Path) -> tuple[str, ...]:
    return tuple(name for name in _LISTED if (folder / name).is_dir())


class _Tables(Mapping[str, "DataFrame"]):
    """Frames of the tables in a folder of results; a name may leave out its evaluation where only one has it."""

    def __init__(self, folder: Path) -> None:
        study_of_table = {f"{study}_{name}": study for study, names in _LISTED.items() for name in names}
        files = {name: folder / study / "tables" / f"{name}.csv" for name, study in study_of_table.items()}
        self._files = {name: file for name, file in files.items() if file.is_file()}
        self._frames: dict[str, DataFrame] = {}

    def __getitem__(self, name: str) -> "DataFrame":
        whole = [table for table in self._files if name in (table, table.partition("_")[2])]
        if len(whole) != 1:
            raise KeyError(f"no table {name!r}; {nearest(name, self._files)}")
        if whole[0] not in self._frames:
            self._frames[whole[0]] = _table(_kinds()[whole[0]], self._files[whole[0]])
        return self._frames[whole[0]]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)


def _kinds() -> dict[str, type[Record]]:
    """The records of all rows, by what `Results.columns` calls them."""
    tables = {
        f"{study}_{name}": table.row()
        for study, study_tables in _LISTED.items()
        for name, table in study_tables.items()
    }
    return {**FRAMES, **tables}


def _table(kind: type[Record], file: Path) -> "DataFrame":
    require("pandas")
    from pandas import read_csv

    dtypes = {name: dtype_of(kind, name) for name in kind.model_fields}
    empty = {name: [""] for name, dtype in dtypes.items() if dtype != "string" or _may_be_none(kind, name)}
    return read_csv(file, dtype=dtypes, keep_default_na=False, na_values=empty)


def _frame(kind: type[BaseModel], rows: Iterable[Mapping[str, Any]]) -> "DataFrame":
    """A frame of records; a mapping becomes a column for each of its keys, as `distances.d1`."""
    require("pandas")
    from pandas import DataFrame, Series

    mappings = [name for name in kind.model_fields if get_origin(kind.model_fields[name].annotation) is dict]
    flat = [_flat(row, mappings) for row in rows]
    keys = sorted({name for row in flat for name in row} - kind.model_fields.keys())
    names = [*(name for name in kind.model_fields if name not in mappings), *keys]
    dtypes = {name: dtype_of(kind, name.partition(".")[0]) for name in names}
    return DataFrame({name: Series([row.get(name) for row in flat], dtype=dtypes[name]) for name in names})


def _flat(row: Mapping[str, Any], mappings: Sequence[str]) -> dict[str, Any]:
    plain = {name: value for name, value in row.items() if name not in mappings}
    return plain | {f"{name}.{key}": value for name in mappings for key, value in row[name].items()}


def _edct(folder: Path) -> Iterator[Item]:
    for condition, shards in conditions_in(folder).items():
        files = ConditionFiles(folder, condition, shards)
        questions = {sample.id: sample.question for sample, _ in files.samples()}
        baselines, edits, requeries = files.baselines(), files.instructions(), files.requeries()
        for score in files.scores():
            first, edit, then = (
                baselines.get(score.id),
                edits.get((score.id, score.edit)),
                requeries.get((score.id, score.edit)),
            )
            texts = {"question": questions.get(score.id, "")}
            texts |= {"answer": first.answer, "explanation": first.explanation} if first else {}
            texts |= {"concept": edit.concept, "instruction": edit.positive} if edit else {}
            texts |= {"new_answer": then.answer, "new_explanation": then.explanation} if then else {}
            yield Item(**score.model_dump(), **texts)


def _vce(folder: Path) -> Iterator[VceItem]:
    for file, names in _score_files(folder, 4):
        condition = dict(zip(("image_set", "denoiser", "classifier", "method"), names, strict=True))
        yield from (VceItem(**row.model_dump(), **condition) for row in read_jsonl(file, VceScore))


def _cvqa(folder: Path) -> Iterator[CvqaItem]:
    for file, (name, solver) in _score_files(folder, 2):
        beside = folder / "answers" / file.relative_to(folder / "scores")
        replies = {_key(answer): answer for answer in read_jsonl(beside, Answer)} if beside.is_file() else {}
        for row in read_jsonl(file, CvqaScore):
            reply = replies.get(_key(row))
            texts = {"asked": reply.asked, "text": reply.text} if reply else {}
            yield CvqaItem(**row.model_dump(), question_set=name, solver=solver, **texts)


def _key(record: Answer | CvqaScore) -> tuple[str, str, str]:
    return record.id, record.side, record.option_order


def _score_files(folder: Path, count: int) -> Iterator[tuple[Path, list[str]]]:
    """The files of scores below a folder, whole or shards, and the names of the condition that each is of."""
    files = sorted((folder / "scores").rglob("*.jsonl"))
    if not files:
        raise InputError(f"{folder}: no scores; run the study with `cfeval run`, or fetch them with `dvc pull`")
    for file in files:
        yield file, list(file.relative_to(folder / "scores").with_suffix("").parts[:count])


_ITEMS: Mapping[str, tuple[type[Record], Callable[[Path], Iterator[Record]]]] = {
    "edct": (Item, _edct),
    "vce": (VceItem, _vce),
    "cvqa": (CvqaItem, _cvqa),
}


def _call(call: StoredCall) -> dict[str, Any]:
    reply = Response.from_json(call.reply, None)
    return {
        **{name: getattr(call, name) for name in ("key", "model", "base_url", "item")},
        "sample_index": call.sample_index,
        "status": str(reply.status),
        "text": reply.text,
        "input_tokens": reply.usage.input_tokens,
        "output_tokens": reply.usage.output_tokens,
        "cost_usd": reply.usage.cost_usd,
    }


def dtype_of(kind: type[BaseModel], name: str) -> str:
    """The dtype of a column as its field's type says; of a mapping, that of its values; `object` for a list."""
    types = set(_types(kind.model_fields[name].annotation))
    dtypes = [dtype for base, dtype in _DTYPES if base in types]
    return dtypes[-1] if len(dtypes) == len(types) else "object"  # whole numbers among others are floats


def _types(annotation: Any) -> Iterator[type]:
    """The plain types that a type is made of, without None."""
    origin, inside = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        yield from (type(value) for value in inside)
    elif origin is dict:
        yield from _types(inside[1])
    elif origin in (tuple, list):
        yield tuple
    elif inside:
        for part in inside[:1] if origin is Annotated else inside:
            yield from _types(part)
    elif annotation is not NoneType:
        yield next((base for base, _ in _DTYPES if issubclass(annotation, base)), object)


def _may_be_none(kind: type[BaseModel], name: str) -> bool:
    return NoneType in get_args(kind.model_fields[name].annotation)
