"""A study whose results a storage provider keeps: equal results, nothing made twice, nothing stale that passes.

The provider is a folder (snakemake-storage-plugin-fs, which needs rsync); jobs start here, or each in an empty folder.
"""

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from copy import deepcopy
from pathlib import Path
from typing import Any

import psutil
import pytest

from cfeval.inference.remote.cache import ResponseCache
from tests.loopback.server import loopback
from tests.loopback.site import Loopback
from tests.workflow.study import CONDITION, PARAMS, Study, lay_out, wait

PLUGINS = Path(__file__).parent / "plugins"
KEY = "canary-7a20"
STAGES = ("items", "baselines", "instructions", "counterfactuals", "checks", "requeries", "verdicts", "scores", "calls")


def small() -> dict[str, Any]:
    """One condition in one shard."""
    params = deepcopy(PARAMS) | {"shards": 1, "images": "archive"}
    params["edct"] |= {"tables": {"table1": [CONDITION]}, "known": {}}
    return params


class Kept(Study):
    """A study whose results lie in the folder `store` beside it."""

    @property
    def store(self) -> Path:
        return self.home / "store"

    def with_storage(self, *words: str) -> tuple[str, ...]:
        """The command that runs Snakemake on them."""
        kept = ("--default-storage-provider", "fs", "--default-storage-prefix", str(self.store))
        return ("snakemake", "--cores", "2", *kept, *words)

    def make(self, *words: str) -> dict[str, int]:
        """Run Snakemake; the jobs that it really ran, by stage."""
        return self.jobs(*self.with_storage(*words))

    @property
    def environment(self) -> dict[str, str]:
        """As of any study, with the executor of these tests."""
        its = super().environment
        return its | {"PYTHONPATH": os.pathsep.join([its["PYTHONPATH"], str(PLUGINS)])}


@pytest.fixture(scope="module")
def laid_out(tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """The study, nothing run yet."""
    return Kept(lay_out(tmp_path_factory.mktemp("laid-out") / "study", small()).root)


@pytest.fixture(scope="module")
def here(laid_out: Kept, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Its results where no provider is asked."""
    study = laid_out.copy(tmp_path_factory.mktemp("here") / "home")
    study.run("snakemake", "--cores", "2")
    return results(study.root)


@pytest.fixture(scope="module")
def finished(laid_out: Kept, tmp_path_factory: pytest.TempPathFactory) -> Kept:
    """The study, made once into the store."""
    study = laid_out.copy(tmp_path_factory.mktemp("finished") / "home")
    assert set(STAGES) < set(study.make())
    return study


@pytest.fixture
def study(finished: Kept, tmp_path: Path) -> Kept:
    """A copy of its own; the times of the store are those of the first."""
    return finished.copy(tmp_path / "home")


def results(place: Path) -> dict[str, bytes]:
    files = (path for path in (place / "results").rglob("*") if path.is_file())
    return {str(path.relative_to(place)): path.read_bytes() for path in files}


def test_results_and_records_are_those_of_a_run_without(finished: Kept, here: dict[str, bytes]) -> None:
    assert results(finished.store) == here
    assert not (finished.root / "results").exists()
    assert any(name.endswith(".zip") and "counterfactuals" in name for name in here)


def test_a_second_run_has_nothing_to_do(study: Kept) -> None:
    assert "Nothing to be done" in study.run(*study.with_storage("--dry-run"))
    assert study.make() == {}


def test_a_changed_parameter_makes_its_own_jobs_and_what_follows_and_back(study: Kept, here: dict[str, bytes]) -> None:
    study.set_threshold(0.9)
    jobs = study.make()
    assert {stage: jobs.get(stage) for stage in STAGES[:7]} == dict.fromkeys(STAGES[:6]) | {"verdicts": 1}
    assert {"scores", "tables", "report"} < set(jobs)
    study.set_threshold(0.5)
    assert study.make()["verdicts"] == 1
    assert results(study.store) == here


@pytest.mark.parametrize("what", ["another", "without its record", "of an edited record", "gone"])
def test_what_is_not_what_a_job_stored_is_made_again(study: Kept, here: dict[str, bytes], what: str) -> None:
    file = next(path for path in (study.store / "results/edct/requeries").rglob("*.jsonl"))
    record = file.parent.with_name(f"{file.parent.name}.made.json")
    if what == "another":
        file.write_bytes(file.read_bytes().replace(b"said", b"told"))
    elif what == "without its record":
        record.unlink()
    elif what == "of an edited record":
        record.write_text(record.read_text().replace('"inputs"', '"others"'))
    else:
        file.unlink()
    assert study.make()["requeries"] == 1
    assert results(study.store) == here


def test_an_upload_that_was_broken_off_does_not_pass(study: Kept, here: dict[str, bytes]) -> None:
    """The results of other parameters were stored and their record not; then the parameters were put back."""
    other = study.copy(study.home.parent / "other")
    other.change(lambda edct: edct["vlms"]["ma"].update(replies=["other"]))
    assert other.make()["baselines"] == 1
    [file] = (other.store / "results/edct/baselines").rglob("*.jsonl")
    shutil.copy(file, study.store / file.relative_to(other.store))
    assert study.make()["baselines"] == 1
    assert results(study.store) == here


def test_what_is_brought_to_the_folder_can_be_verified(study: Kept) -> None:
    shutil.copytree(study.store / "results", study.root / "results")
    assert study.is_verified()
    assert "fine; the chain's head is" in study.run("cfeval", "verify", "--results", "results/edct")


def test_folders_of_images_are_refused_for_they_do_not_travel(study: Kept) -> None:
    study.set_params(study.params() | {"images": "folder"})
    assert "images must be 'archive'" in study.refused(*study.with_storage())


@pytest.mark.usefixtures("plain_programs")
def test_jobs_that_start_in_empty_folders_make_the_same(laid_out: Kept, tmp_path: Path, here: dict[str, bytes]) -> None:
    study = laid_out.copy(tmp_path / "home")
    study.run("git", "add", "--force", "data")
    study.commit("the sources that travel are the files that git knows")
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    words = study.with_storage("--executor", "elsewhere", "--jobs", "2", "--", "edct_requeries_all")
    study.run(*words, CFEVAL_TEST_NODES=str(nodes))
    assert list(nodes.iterdir()) == []
    made = results(study.store)
    assert made == {name: here[name] for name in made}
    assert any("requeries" in name for name in made)
    assert study.noted() == [], "no job has run on this machine"


@pytest.fixture(scope="module")
def provider() -> Iterator[Loopback]:
    with loopback(key=KEY) as server:
        yield server


@pytest.mark.usefixtures("plain_programs")
def test_jobs_without_a_shared_folder_pay_each_call_once_and_a_killed_one_loses_nothing(
    laid_out: Kept, provider: Loopback, tmp_path: Path
) -> None:
    """Two targets of one model, so that two jobs ask alike; the cache is behind a server."""
    study = laid_out.copy(tmp_path / "home")
    where = {"provider": "openrouter", "base_url": provider.openrouter, "key_env": "OPENROUTER_API_KEY"}
    model = {"plugin": "openai", "model": "lab/vlm", **where}
    params = study.params() | {"calls": {"max_connections": 4}}
    params["edct"] |= {"vlms": {"v": model, "w": model}, "tables": {"table1": [CONDITION | {"vlm": ["v", "w"]}]}}
    study.set_params(params)
    study.run("git", "add", "--force", "data")
    study.commit("sources")
    nodes = tmp_path / "nodes"
    nodes.mkdir()
    keys = {"CFEVAL_TEST_NODES": str(nodes), "OPENROUTER_API_KEY": KEY}
    words = study.with_storage("--executor", "elsewhere", "--jobs", "2", "--", "edct_baselines_all")
    refused = study.try_(*words, **keys)
    assert "edct.vlms.v calls a provider, and jobs of this executor share no disk" in refused.stdout + refused.stderr
    assert not provider.log

    serve = [shutil.which("cfeval", path=study.environment["PATH"]), "cache", "serve", "127.0.0.1:0"]
    with subprocess.Popen(serve, cwd=study.root, env=study.environment, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            name, _, address = server.stdout.readline().strip().removeprefix("export ").partition("=")
            keys[name] = address
            provider.held = lambda place: place > 6
            run = study.start(*words, **keys)
            wait(lambda: stored(study) == 6 and provider.in_flight, run)
            answered = [entry.digest for entry in provider.log[:6]]
            for job in psutil.process_iter(["cwd"]):
                if str(job.info["cwd"]).startswith(str(nodes)):
                    job.kill()
            assert run.wait() != 0
            provider.held = lambda place: False
            study.run(*words, **keys)
            paid = Counter(entry.digest for entry in provider.log)
            assert [paid[digest] for digest in answered] == [1] * 6, "what was answered is not asked again"
            assert paid.total() - len(paid) <= 8, "no more than both jobs may have in flight"

            shutil.rmtree(study.store)
            provider.reset()
            study.run(*words, **keys)
            assert not provider.log, "a run from nothing pays nothing"
        finally:
            server.terminate()
    first, second = (records(study.store, name) for name in "vw")
    assert first == second
    assert stored(study) == len(paid)


def stored(study: Study) -> int:
    """How many replies the cache of a study holds."""
    with closing(ResponseCache(study.root / ".cfeval/calls.sqlite")) as cache:
        return sum(good for good, _ in cache.counts().values())


def records(store: Path, vlm: str) -> bytes:
    return (store / f"results/edct/baselines/mine/{vlm}.jsonl").read_bytes()
