"""A whole study through providers' protocols: faults, kills, changed prompts, replays; nothing is paid for twice."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from tests.loopback.fault import Reaction
from tests.loopback.faults import FAULTS
from tests.loopback.server import loopback
from tests.loopback.site import Loopback
from tests.workflow.study import PARAMS, PROJECT, Study, lay_out, wait

KEY = "canary-5f1c"
KEYS = dict.fromkeys(("OPENROUTER_API_KEY", "BFL_API_KEY"), KEY)
OFFLINE = "calls={offline: true}"
TABLE = "results/edct/tables/edct_table1.csv"
REPLAYED = ("items", "baselines", "instructions", "counterfactuals", "checks", "requeries", "verdicts", "scores")


def params(server: Loopback) -> dict[str, Any]:
    """The small study, its plugins behind the server."""

    def model(name: str) -> dict[str, Any]:
        where = {"provider": "openrouter", "base_url": server.openrouter, "key_env": "OPENROUTER_API_KEY"}
        return {"plugin": "openai", "model": f"lab/{name}", "temperature": 0.7, **where}

    content = deepcopy(PARAMS)
    names = {"dataset": ["mine"], "vlm": ["v"], "writer": ["w"], "editor": ["e"], "judge": ["j"]}
    content["shards"] = 1
    content["calls"] = {"timeout": 5, "deadline": 60, "max_retries": 9}
    content["edct"] |= {
        "vlms": {"v": model("vlm")},
        "instruction_writers": {"w": {"plugin": "chat", "model": model("writer")}},
        "editors": {"e": {"plugin": "bfl", "base_url": server.bfl, "key_env": "BFL_API_KEY", "poll": 0.02}},
        "judges": {"j": {"plugin": "chat", "model": model("judge"), "prompts": "own"}},
        "tables": {"table1": [names]},
        "known": {},
    }
    return content


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with loopback(key=KEY) as server:
        yield server


@pytest.fixture(scope="module")
def fresh(server: Loopback, tmp_path_factory: pytest.TempPathFactory) -> Study:
    """A study of which nothing has run."""
    study = lay_out(tmp_path_factory.mktemp("calls") / "home" / "study", params(server))
    own = study.root / "own"
    own.mkdir()
    for name in ("judge", "judge_repair"):
        shutil.copy2(PROJECT / f"src/cfeval/edct/prompts/edct-2025/{name}.md", own)
    return study


@pytest.fixture(scope="module")
def finished(fresh: Study, server: Loopback) -> Study:
    """The study, finished without a fault."""
    study = fresh.copy(beside(fresh, "finished"))
    server.reset()
    study.run("snakemake", **KEYS)
    study.commit("finished")
    return study


def beside(study: Study, name: str) -> Path:
    """A folder for a copy of a study."""
    return study.home.parent / name


@contextmanager
def asked(server: Loopback) -> Iterator[Counter[str]]:
    """Counts the requests for each model that come in inside the block, BFL's under "bfl"."""
    server.reset()
    found: Counter[str] = Counter()
    yield found
    found.update(server.models())


def test_every_item_ends_with_a_score(finished: Study) -> None:
    rows = (finished.root / "results/edct/scores/mine/v/w/e/j/edct-2025.csv").read_text().splitlines()[1:]
    assert len(rows) == 12
    assert all(",ok," in row for row in rows)


def test_a_run_again_sends_nothing(finished: Study, server: Loopback) -> None:
    study = finished.copy(beside(finished, "again"))
    with asked(server) as models:
        assert study.jobs("snakemake") == {}
        study.run("rm", "-r", *(f"results/edct/{name}" for name in REPLAYED))
        assert len(study.jobs("snakemake", "--", "edct_verdicts_all")) == len(REPLAYED)
    assert not models, "not even a run from nothing pays twice, and it needs no key"
    assert study.results() == finished.results()


def test_faults_leave_the_same_tables(fresh: Study, finished: Study, server: Loopback) -> None:
    passing = [n for n, f in FAULTS.items() if f.reaction == Reaction.RETRIED and not f.stalls and (f.wait or 0) <= 1]
    study = fresh.copy(beside(fresh, "faulty"))
    server.reset()
    server.random(0.2, passing, seed=3)
    study.run("snakemake", "--", TABLE, **KEYS)
    assert sum(server.faults().values()) > 5
    assert study.table("edct_table1.csv") == finished.table("edct_table1.csv")
    assert study.results("results/edct/verdicts") == finished.results("results/edct/verdicts")


def test_a_changed_prompt_of_the_judge_asks_the_judge_alone(finished: Study, server: Loopback) -> None:
    study = finished.copy(beside(finished, "prompted"))
    study.edit("own/judge.md", "Be strict.")
    with asked(server) as models:
        jobs = study.jobs("snakemake", "--", "edct_verdicts_all", **KEYS)
    assert set(models) == {"lab/judge"}
    assert models["lab/judge"] == 12
    assert jobs == {"verdicts": 1, "scores": 1}


def test_what_an_experiment_in_a_copy_paid_for_is_not_paid_again(finished: Study, server: Loopback) -> None:
    study = finished.copy(beside(finished, "experiment"))
    study.run("dvc", "repro")
    study.commit("hashed")
    hotter = "edct.judges.j.model.temperature=0.2"
    with asked(server) as models:
        study.run("dvc", "exp", "run", "--temp", "--set-param", hotter, "edct", **KEYS)
    assert models == {"lab/judge": 12}
    params = study.params()
    params["edct"]["judges"]["j"]["model"]["temperature"] = 0.2
    study.set_params(params)
    with asked(server) as models:
        assert study.jobs("snakemake", "--", "edct_verdicts_all") == {"verdicts": 1, "scores": 1}
    assert not models


def test_another_protocol_asks_anew_only_what_it_asks_differently(finished: Study, server: Loopback) -> None:
    """Steps by hand: a baseline beside that of the run, and the instructions of a chain."""
    study = finished.copy(beside(finished, "protocol"))
    edct = study.params()["edct"]
    samples, baseline, seed = "results/edct/items/mine.jsonl", "results/edct/baselines/mine/v.jsonl", str(edct["seed"])
    vlm, writer = json.dumps(edct["vlms"]["v"]), json.dumps(edct["instruction_writers"]["w"])
    steps = {
        "baselines": ("--samples", samples, "--vlm", vlm),
        "instructions": (
            *("--samples", samples, "--baselines", baseline, "--writer", writer),
            *("--protocol", "edct-bench-2026"),
        ),
    }
    with asked(server) as models:
        for step, words in steps.items():
            study.run("cfeval", "edct", step, *words, "--seed", seed, "--out", f"other/{step}.jsonl", **KEYS)
    assert set(models) == {"lab/writer"}
    assert (study.root / "other/baselines.jsonl").read_bytes() == (study.root / baseline).read_bytes()


def test_a_kill_loses_no_more_than_what_was_in_flight(fresh: Study, finished: Study, server: Loopback) -> None:
    study = fresh.copy(beside(fresh, "killed"))
    server.reset()
    server.latency = 0.3
    run = study.start("snakemake", "--config", "calls={max_connections: 4}", "--", TABLE, **KEYS)
    wait(lambda: len(server.log) >= 30, run)
    in_flight = server.in_flight
    study.kill(run)
    server.latency = 0
    study.run("snakemake", "--", TABLE, **KEYS)
    paid = [entry for entry in server.log if entry.kind in ("chat", "submit")]
    again = len(paid) - len({entry.digest for entry in paid})
    assert in_flight > 0
    assert again <= 4, "no more than may be in flight at once"
    assert study.table("edct_table1.csv") == finished.table("edct_table1.csv")


def test_another_machine_replays_it_from_its_archive(fresh: Study, finished: Study, server: Loopback) -> None:
    study = fresh.copy(beside(fresh, "replayed"))
    study.run("cfeval", "cache", "import", str(finished.root / "results/edct/calls/calls.zip"))
    with asked(server) as models:
        study.run("snakemake", "--config", OFFLINE)
    assert not models
    assert study.results() == finished.results()


def test_a_copy_elsewhere_is_rebuilt_without_a_key(finished: Study, server: Loopback) -> None:
    clone = Study(beside(finished, "cloned") / "study")
    clone.home.mkdir()
    finished.run("git", "clone", "--quiet", str(finished.root), str(clone.root))
    finished.run("cp", "-r", "results", str(clone.root))
    assert clone.jobs("snakemake") == {}
    clone.run("cfeval", "cache", "import", "results/edct/calls/calls.zip")
    clone.run("rm", "-r", "results/edct/verdicts", "results/edct/scores", "results/edct/tables")
    with asked(server) as models:
        clone.run("snakemake", "--config", OFFLINE)
    assert not models
    assert clone.stale() == {}
    assert clone.results() == finished.results()


def test_offline_names_the_first_call_that_is_missing(fresh: Study) -> None:
    study = fresh.copy(beside(fresh, "offline"))
    done = study.try_("snakemake", "--config", OFFLINE, "--", TABLE)
    assert done.returncode != 0
    assert "offline: item 'i" in done.stdout + done.stderr


def test_no_file_of_a_study_holds_a_key(fresh: Study, finished: Study, server: Loopback) -> None:
    study = fresh.copy(beside(fresh, "canary"))
    server.reset()
    server.script(["http_400_echo"] * 2 + ["http_500"] * 3)
    study.run("snakemake", "--", "edct_baselines_all", **KEYS)
    for folder in (finished.home, study.home):
        files = [path for path in folder.rglob("*") if path.is_file()]
        assert len(files) > 100
        assert not [path for path in files if KEY.encode() in path.read_bytes()]


def test_a_wrong_key_ends_the_run_with_one_line(fresh: Study) -> None:
    study = fresh.copy(beside(fresh, "locked-out"))
    done = study.try_("snakemake", "--", TABLE, **dict.fromkeys(KEYS, "wrong"))
    said = done.stdout + done.stderr
    assert done.returncode != 0
    assert "the key in OPENROUTER_API_KEY is refused" in said
    assert "Traceback" not in said
    assert not Path(study.root / "results/edct/baselines/mine/v.jsonl").exists()
