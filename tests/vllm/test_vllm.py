"""`cfeval serve` with real vLLM on the CPU: a study, its server killed and restarted, drained, and nothing left."""

import re
import signal
import sys
import threading
import time
from pathlib import Path

import httpx2
import psutil
import pytest

from cfeval.core.jsonl import read_jsonl
from cfeval.edct.records import Baseline, Requery
from tests.serve.test_serve import free_port, gone, params_of, post, serving, study
from tests.tiny.vlms import END, checkpoint
from tests.workflow.study import ITEMS, PROJECT, lay_out, wait

PROGRAM = PROJECT / ".venv-vllm/bin/vllm"
OPTIONS = "--options=--enforce-eager --max-model-len 4096 --block-size 32"
"""Blocks so small that a first turn fills some, which the second finds in the prefix cache."""
FIELDS = {"model": "tiny", "temperature": 1.0, "max_tokens": 500}
SLOWEST = 600.0


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What vLLM keeps about models from one start to the next."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def found(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`vllm` is on PATH, though not what else is in its environment; it uses little memory and asks no hub."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "vllm").symlink_to(PROGRAM)
    monkeypatch.setenv("PATH", str(programs), prepend=":")
    own = {"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CACHE_ROOT": str(cache), "HF_HUB_OFFLINE": "1"}
    for name, value in {**own, "TORCHDYNAMO_DISABLE": "1", "STUDY_PROGRAMS": str(programs)}.items():
        monkeypatch.setenv(name, value)


def server_of(serve: int) -> psutil.Process:
    """The server below `cfeval serve`, whose child is its keeper."""
    keepers = [one for one in psutil.Process(serve).children() if "cfeval.inference.serving.keeper" in one.cmdline()]
    return keepers[0].children()[0]


def counted(metrics: str, name: str) -> float:
    """The sum of a counter in what vLLM tells about itself."""
    return sum(float(value) for value in re.findall(rf"^vllm:{name}_total(?:{{.*}})? (\S+)$", metrics, re.MULTILINE))


def ascii_alone() -> list[int]:
    """The tokens of visible ASCII, and the end: vLLM leaves out of a reply what is no UTF-8, which may be all of it."""
    from transformers import AutoTokenizer

    vocabulary = AutoTokenizer.from_pretrained(checkpoint("qwen2_5_vl_wide")).get_vocab()
    return [
        vocabulary[END],
        *(number for token, number in vocabulary.items() if len(token) == 1 and "!" <= token <= "~"),
    ]


def test_a_study_runs_to_its_end_though_its_server_is_killed(tmp_path: Path) -> None:
    port = free_port()
    extra = {"allowed_token_ids": ascii_alone()}
    params = params_of(port, "tiny", temperature=1.0, max_tokens=500, images_once=True, extra=extra)
    params["calls"] = {"max_connections": 2}
    study = lay_out(tmp_path / "home" / "study", params)
    (study.root / "tiny").symlink_to(checkpoint("qwen2_5_vl_wide"))
    log = study.root / ".cfeval/serve/tiny-0.log"
    then = (
        "import subprocess, httpx2; subprocess.run(['snakemake', '--cores', '1'], check=True); "
        f"print(httpx2.get('http://127.0.0.1:{port}/metrics', trust_env=False).text)"
    )
    run = study.start("cfeval", "serve", ".", OPTIONS, "--", sys.executable, "-c", then)
    wait(lambda: log.exists() and log.read_text().count('/v1/chat/completions HTTP/1.1" 200') >= 5, run, SLOWEST)
    first = server_of(run.pid)
    family = [first, *first.children(recursive=True)]
    first.kill()
    assert gone(*(one.pid for one in family)), "the engine outlived the server"
    assert run.wait(SLOWEST) == 0, study.said
    assert study.said.count("serving 'tiny' at port") == 2
    results = study.root / "results/edct"
    before = list(read_jsonl(results / "baselines/mine/served.jsonl", Baseline))
    after = list(read_jsonl(results / "requeries/mine/served/w/ea/edct-2025.jsonl", Requery))
    assert len(before) == len(after) == ITEMS
    assert {record.status for record in (*before, *after)} == {"ok"}
    hits, asked = (counted(study.said, f"mm_cache_{name}") for name in ("hits", "queries"))
    assert 0 < hits < asked, "both turns of an item show its image, the second by its name"
    assert counted(study.said, "prefix_cache_hits") > 0
    study.run("snakemake", "--forceall", "--config", "calls={offline: true}")


def test_it_answers_as_the_client_expects_and_is_drained(tmp_path: Path) -> None:
    (tmp_path / "tiny").symlink_to(checkpoint("qwen2_5_vl_wide"))
    port = study(tmp_path, model="tiny")
    with serving(tmp_path, OPTIONS, engine="") as process:
        first = post(port, **FIELDS, seed=1)
        assert first.status_code == 200, first.text
        said = first.json()
        assert (said["model"], said["choices"][0]["finish_reason"]) == ("tiny", "stop")
        assert min(said["usage"]["prompt_tokens"], said["usage"]["completion_tokens"]) > 0
        assert post(port, **FIELDS, seed=1).json()["choices"] == said["choices"]
        assert (
            len({post(port, **FIELDS, seed=seed).json()["choices"][0]["message"]["content"] for seed in range(5)}) > 1
        )
        short = FIELDS | {"max_tokens": 2, "ignore_eos": True, "logprobs": True, "top_logprobs": 5}
        cut = post(port, **short).json()["choices"][0]
        assert cut["finish_reason"] == "length"
        assert [len(step["top_logprobs"]) for step in cut["logprobs"]["content"]] == [5, 5]
        family = psutil.Process(process.pid).children(recursive=True)
        replies: list[httpx2.Response] = []
        long = FIELDS | {"max_tokens": 1500}
        asking = threading.Thread(target=lambda: replies.append(post(port, **long, ignore_eos=True)))
        asking.start()
        time.sleep(1)
        process.terminate()
        asking.join()
        assert process.wait(60) in (128 + signal.SIGTERM, -signal.SIGTERM)
        assert [reply.json()["usage"]["completion_tokens"] for reply in replies] == [1500]
        assert gone(*(one.pid for one in family))


def test_a_kill_while_it_loads_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "tiny").symlink_to(checkpoint("qwen2_5_vl_wide"))
    port = study(tmp_path, model="tiny")

    def ask() -> None:
        with pytest.raises(httpx2.TransportError):
            post(port, **FIELDS)

    def family() -> list[psutil.Process]:
        return psutil.Process(process.pid).children(recursive=True)

    with serving(tmp_path, OPTIONS, engine="") as process:
        asking = threading.Thread(target=ask)
        asking.start()
        until = time.monotonic() + SLOWEST
        while len(family()) < 4 and time.monotonic() < until:  # the keeper, vLLM, its tracker and its engine
            time.sleep(0.1)
        there = [one.pid for one in family()]
        process.kill()
        asking.join()
        assert len(there) >= 4
        assert gone(*there)
