"""What is believed of results that a storage provider keeps; a dictionary stands for the provider."""

import json
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

import stored
from cfeval.core import record

PREFIX = "s3://bucket/study"
FIRST = ["edct", "items", "--seed", "7", "--out", "results/a.jsonl"]
THEN = ["edct", "baselines", "--samples", "results/a.jsonl", "--out", "results/b.jsonl"]


class Thing:
    """A stored file: its content and time, by its name."""

    def __init__(self, files: dict[str, tuple[bytes, float]], query: str) -> None:
        self.files, self.query = files, query
        self.local = Path("copies", query.removeprefix("s3://"))

    def local_path(self) -> Path:
        return self.local

    def set_local_path(self, path: Path) -> None:
        self.local = path

    async def managed_exists(self) -> bool:
        return self.query in self.files

    async def managed_mtime(self) -> float:
        return self.files[self.query][1]

    async def managed_retrieve(self) -> None:
        self.local.parent.mkdir(parents=True, exist_ok=True)
        self.local.write_bytes(self.files[self.query][0])

    async def managed_store(self) -> None:
        self.files[self.query] = (self.local.read_bytes(), 9)


class Provider:
    """Keeps files in memory."""

    def __init__(self) -> None:
        self.files: dict[str, tuple[bytes, float]] = {}

    def object(self, query: str) -> Thing:
        return Thing(self.files, query)

    def get_storage_object_cls(self) -> type:
        return Thing

    def put(self, name: str, content: bytes = b"", time: float = 1) -> None:
        self.files[f"{PREFIX}/{name}"] = (content, time)


def keep(provider: Provider, words: list[str], inputs: dict[str, str], time: float = 5) -> None:
    """Store the output of a step with its record."""
    out = record.option(words, "--out")
    step = {"options": record.options(words), "inputs": inputs, "outputs": {out: f"hash of {out}"}}
    provider.put(out, time=time)
    text = json.dumps({"steps": [step | {"code": {}, "packages": {}}]})
    provider.put(record.record_of(words), text.encode(), time)


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Provider]:
    provider = Provider()
    keep(provider, FIRST, {})
    keep(provider, THEN, {"results/a.jsonl": "hash of results/a.jsonl"})
    with chdir(tmp_path):
        yield provider


def reasons(provider: Any) -> list[str | None]:
    """Why each of the steps would have to run."""
    records = stored.StoredRecords(stored.Stored(provider, PREFIX))
    return [records.reason(words) for words in (FIRST, THEN)]


def test_records_that_fit_each_other_hold_and_nothing_else_is_fetched(provider: Provider) -> None:
    assert reasons(provider) == [None, None]
    fetched = [path.name for path in Path(stored.FETCHED).rglob("*") if path.is_file()]
    assert sorted(fetched) == ["a.jsonl.made.json", "b.jsonl.made.json"]


def test_what_is_younger_than_its_record_missing_or_of_another_input_does_not_hold(provider: Provider) -> None:
    provider.put("results/a.jsonl", time=6)
    assert reasons(provider) == ["results/a.jsonl is not what the step stored", None]
    del provider.files[f"{PREFIX}/results/a.jsonl"]
    assert reasons(provider)[0] == "results/a.jsonl is not what the step stored"
    keep(provider, FIRST, {})
    keep(provider, THEN, {"results/a.jsonl": "another hash"})
    assert reasons(provider) == [None, "results/a.jsonl has changed"]
    del provider.files[f"{PREFIX}/results/b.jsonl.made.json"]
    assert reasons(provider) == [None, "no b.jsonl.made.json"], "that of a former look is forgotten"


def test_another_option_is_told(provider: Provider) -> None:
    keep(provider, [word.replace("7", "8") for word in FIRST], {})
    assert reasons(provider)[0] == "--seed: was 8, is 7"


def test_a_job_elsewhere_has_what_the_run_was_told(provider: Provider, tmp_path: Path) -> None:
    here = stored.Stored(provider, PREFIX)
    told = Path(".cfeval/params/1.json")
    told.parent.mkdir(parents=True)
    told.write_text("told")
    here.put(str(told))
    assert here.time(str(told)) == 9
    (tmp_path / "node").mkdir()
    with chdir(tmp_path / "node"):
        stored.Stored(provider, PREFIX).bring(str(told))
        assert told.read_text() == "told"
    assert here.place == "copies/bucket/study/"
