"""What is believed of results that a storage provider keeps; a dictionary stands for the provider."""

import asyncio
import json
import os
from collections.abc import Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

import stored
from cfeval.core.provenance import frozen
from cfeval.core.provenance.jobs import Job

PREFIX = "s3://bucket/study"


class Thing:
    """A stored file: its content and time, by its name."""

    def __init__(self, files: dict[str, tuple[bytes, float]], query: str) -> None:
        self.files, self.query = files, query
        self.local = Path("nowhere")

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


def job(number: int, *inputs: str) -> Job:
    return Job(
        "edct.stage", ("edct", "stage"), inputs, (f"results/edct/{number}.jsonl", f"results/edct/{number}.zip"), {}
    )


def sidecar(provider: Provider, of: Job, time: float) -> None:
    told = {"outputs": {path: f"hash of {path}" for path in of.outputs}}
    provider.put(of.sidecar, json.dumps(told).encode(), time)


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Provider]:
    with chdir(tmp_path):
        yield Provider()


def fetched(provider: Any, *jobs: Job) -> stored.Stored:
    found = stored.Stored(provider, PREFIX, asyncio.run)
    found.fetch_sidecars(jobs)
    return found


def test_an_output_is_what_the_sidecar_says_that_was_stored_after_it(provider: Provider) -> None:
    one = job(1)
    for path in one.outputs:
        provider.put(path, time=5)
    sidecar(provider, one, time=5)
    found = fetched(provider, one)
    assert [found.path(path) for path in one.outputs] == [f"hash of {path}" for path in one.outputs]
    assert Path(stored.PLACE, one.sidecar).is_file()


def test_an_output_that_is_younger_missing_or_of_nobody_is_none(provider: Provider) -> None:
    younger, missing, unsaid = job(1), job(2), job(3)
    for one in (younger, missing):
        sidecar(provider, one, time=5)
    provider.put(younger.outputs[0], time=6)
    provider.put(younger.outputs[1], time=5)
    provider.put(missing.outputs[0], time=5)
    provider.put(unsaid.outputs[0], time=5)
    found = fetched(provider, younger, missing, unsaid)
    assert [found.path(path) is None for path in younger.outputs] == [True, False]
    assert [found.path(path) is None for path in missing.outputs] == [False, True]
    assert found.path(unsaid.outputs[0]) is None


def test_the_sidecar_of_a_former_look_is_forgotten(provider: Provider) -> None:
    one = job(1)
    sidecar(provider, one, time=5)
    fetched(provider, one)
    provider.files.clear()
    fetched(provider, one)
    assert not Path(stored.PLACE, one.sidecar).exists()


def test_a_job_elsewhere_hears_what_the_run_was_told(
    provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(frozen.VARIABLE, "")
    told, stale = tmp_path / ".cfeval/frozen/1.json", Path(".cfeval/stale")
    told.parent.mkdir(parents=True)
    told.write_text("told")
    stale.write_text("stale")
    fetched(provider).tell(told, stale)
    (tmp_path / "node").mkdir()
    with chdir(tmp_path / "node"):
        fetched(provider).hear()
        assert Path(os.environ[frozen.VARIABLE]).read_text() == "told"
    assert f"{PREFIX}/.cfeval/stale" in provider.files
