"""`cfeval doctor` before anything is spent: a line for everything a study needs, status 2 where it will not work."""

import json
import threading
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.inference.models import openai
from cfeval.inference.remote.cache import Budget, ResponseCache, UsageEntry
from cfeval.inference.remote.request import Request, Response
from cfeval.study import doctor
from cfeval_testbed.mocks import chat
from tests.conftest import Run
from tests.images import image
from tests.loopback.site import Loopback
from tests.provider_study import BLOCK, CANARY, KEY_ENV, params, target, written

CALL = Request("chat", "http://x", "gpt-4o", {}, 0)


@pytest.fixture
def examined(cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs the doctor on parameters; returns exit status, the lines of findings, and stderr."""
    monkeypatch.chdir(tmp_path)

    def run(content: dict[str, Any], *arguments: object) -> tuple[int, list[str], str]:
        asked = [] if "--probe" in arguments else ["--no-probe"]
        status, out, err = cfeval("doctor", written(tmp_path, content).parent, *asked, *arguments)
        assert CANARY not in out + err
        lines = out.splitlines()
        assert lines[0] == "Nothing to clean up"
        return status, lines[1:], err

    return run


def about(lines: list[str], name: str) -> str:
    [line] = [line for line in lines if line[5:].startswith(f"{name}:")]
    return line


def test_all_is_fine(examined: Any, server: Loopback, tmp_path: Path) -> None:
    status, lines, err = examined(params(tmp_path, server.openai))
    assert (status, err) == (0, "")
    assert all(line.startswith("ok   ") for line in lines)
    assert about(lines, "edct.vlms.m") == f"ok   edct.vlms.m: {server.openai} answers and has gpt-4o"
    names = ["edct.datasets.d", "edct.vlms.m", "edct.instruction_writers.w", "edct.editors.e", "edct.judges.j"]
    assert [line[5:].partition(":")[0] for line in lines[:5]] == names
    assert not server.requests().get("openai.chat"), "nothing that costs is asked"
    assert not (tmp_path / "calls.sqlite").exists()


def test_a_limit_that_will_cut_thoughts_off_is_a_warning_and_no_fault(
    examined: Any, server: Loopback, tmp_path: Path
) -> None:
    thinker = {"model": "vlm-reasoner", "accept_models": ["gpt-4o"]}
    status, lines, err = examined(params(tmp_path, server.openai, {**thinker, "thinking_tokens": 100}))
    assert (status, err) == (0, "")
    [warning] = [line for line in lines if line.startswith("warn ")]
    assert warning.startswith("warn edct.vlms.m: vlm-reasoner thinks before it replies, and 100 tokens are kept")
    assert "set thinking_tokens" in warning
    status, lines, _ = examined(params(tmp_path, server.openai, thinker))
    assert status == 0
    assert not [line for line in lines if line.startswith("warn ")]


def test_a_wrong_key(examined: Any, server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_ENV, f"{CANARY}x")
    status, lines, err = examined(params(tmp_path, server.openai))
    assert status == 2
    assert f"the key in {KEY_ENV} is refused" in about(lines, "edct.vlms.m")
    assert err == "cfeval: 1 thing will not work; see above what to do, nothing was spent\n"


def test_no_key(examined: Any, server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(KEY_ENV)
    status, lines, _ = examined(params(tmp_path, server.openai))
    assert status == 2
    assert f"set the environment variable {KEY_ENV}" in about(lines, "edct.vlms.m")


@pytest.mark.parametrize("key", [f"{CANARY}\n{CANARY}", f"{CANARY}…"])
def test_a_key_that_no_header_can_hold_is_not_shown(
    examined: Any, server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv(KEY_ENV, key)
    status, lines, _ = examined(params(tmp_path, server.openai))
    assert status == 2
    assert f"{KEY_ENV} holds a line break or a character that no key has" in about(lines, "edct.vlms.m")


def test_a_wrong_model(examined: Any, server: Loopback, tmp_path: Path) -> None:
    status, lines, _ = examined(params(tmp_path, server.openai, {"model": "gpt-4p"}))
    assert status == 2
    assert "does not list the model gpt-4p; did you mean 'gpt-4o'?" in about(lines, "edct.vlms.m")


def test_a_wrong_path_of_a_server_that_lists_its_models(examined: Any, server: Loopback, tmp_path: Path) -> None:
    astray = f"{server.origin}/some/where/else/far"
    assert examined(params(tmp_path, astray))[0] == 0, "any server: it may have no list"
    status, lines, _ = examined(params(tmp_path, astray, {"provider": "vllm"}))
    assert status == 2
    assert f"FAIL edct.vlms.m: {astray} has no list of models (HTTP 404" in about(lines, "edct.vlms.m")
    assert "correct base_url" in about(lines, "edct.vlms.m")


@pytest.mark.parametrize("path", ["", "/v2", "/v1/chat/completions"])
@pytest.mark.parametrize("kind", ["vllm", "other"])
def test_an_address_without_the_version_is_put_right(
    examined: Any, server: Loopback, tmp_path: Path, path: str, kind: str
) -> None:
    status, lines, _ = examined(params(tmp_path, f"{server.origin}{path}", {"provider": kind}))
    assert status == 2
    assert about(lines, "edct.vlms.m").endswith(f"is not the model server's address; set base_url: {server.openai}")


@pytest.mark.parametrize(
    ("source", "ids", "found"),
    [
        ("id,image,question\na,a.png,What?\nb,b.png,Why?\n", "b\n", "ok   edct.datasets.d: items: 1"),
        ("id,image,question\na,a.png,What?\n", "b\n", "FAIL edct.datasets.d: ids.txt, line 1: no item 'b'"),
        ("id,image,question\na/b,a.png,What?\n", "b\n", "FAIL edct.datasets.d: mine.csv, line 2: id 'a/b' cannot be"),
    ],
)
def test_own_rows_and_ids_are_read(
    examined: Any, server: Loopback, tmp_path: Path, source: str, ids: str, found: str
) -> None:
    (tmp_path / "mine.csv").write_text(source)
    (tmp_path / "ids.txt").write_text(ids)
    for name in ("a", "b"):
        (tmp_path / f"{name}.png").write_bytes(image().png)
    content = params(tmp_path, server.openai)
    content["edct"]["datasets"]["d"] = {"plugin": "files", "path": "mine.csv", "ids": "ids.txt"}
    status, lines, _ = examined(content)
    assert about(lines, "edct.datasets.d").startswith(found)
    assert status == (0 if found.startswith("ok") else 2)


def test_a_record_file_that_cannot_be_read(examined: Any, server: Loopback, tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("{}\n")
    content = params(tmp_path, server.openai)
    content["edct"]["datasets"]["d"] = {"plugin": "samples", "path": "mine.jsonl"}
    status, lines, _ = examined(content)
    assert status == 2
    assert about(lines, "edct.datasets.d").startswith("FAIL edct.datasets.d: mine.jsonl, line 1")


def test_a_server_that_is_down(examined: Any, server: Loopback, tmp_path: Path) -> None:
    status, lines, _ = examined(params(tmp_path, "http://127.0.0.1:9/v1"))
    assert status == 2
    assert "127.0.0.1 cannot be reached" in about(lines, "edct.vlms.m")


def test_a_missing_file_and_a_missing_folder_are_both_told(examined: Any, server: Loopback, tmp_path: Path) -> None:
    content = params(tmp_path, server.openai)
    content["edct"]["datasets"]["d"] = {"plugin": "samples", "path": "gone.jsonl"}
    content["edct"]["prompts"] = "nowhere"
    status, lines, _ = examined(content)
    assert status == 2
    assert "the file gone.jsonl is missing" in about(lines, "edct.datasets.d")
    assert "nowhere" in about(lines, "edct.prompts")
    assert about(lines, "edct.vlms.m").startswith("ok   ")


def test_missing_weights_are_named_once_with_what_brings_them(
    examined: Any, server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cfeval_testbed.plugins.chat_easy_vqa.models_dir", lambda: tmp_path / "models")
    content = params(tmp_path, server.openai)
    content["edct"]["vlms"]["m"] = {"plugin": "easy_vqa"}
    status, lines, _ = examined(content)
    assert status == 2
    said = "FAIL edct.vlms.m: the file models/easy-vqa.safetensors is missing; pip install 'cfeval[world]'"
    assert [line for line in lines if "edct.vlms.m" in line] == [said]


def test_a_wrong_option_does_not_hide_the_rest(examined: Any, server: Loopback, tmp_path: Path) -> None:
    content = params(tmp_path, server.openai)
    content["edct"]["judges"]["j"] = {"plugin": "mock", "treshold": 1}
    status, lines, _ = examined(content)
    assert status == 2
    assert about(lines, "edct.judges.j").startswith("FAIL edct.judges.j: unknown option 'treshold' of 'mock'")
    assert about(lines, "edct.vlms.m").startswith("ok   ")


def test_only_what_the_tables_use_is_examined(examined: Any, server: Loopback, tmp_path: Path) -> None:
    content = params(tmp_path, server.openai)
    content["edct"]["vlms"]["idle"] = target("http://127.0.0.1:9/v1")
    status, lines, _ = examined(content)
    assert status == 0
    assert not any("idle" in line for line in lines)


def test_offline_no_server_is_asked(examined: Any, server: Loopback, tmp_path: Path) -> None:
    ResponseCache(tmp_path / "calls.sqlite").close()
    status, lines, _ = examined(params(tmp_path, server.openai, offline=True))
    assert status == 0
    assert "offline" in about(lines, "edct.vlms.m")
    assert not server.log


def test_offline_without_a_cache_will_not_work(examined: Any, server: Loopback, tmp_path: Path) -> None:
    status, lines, _ = examined(params(tmp_path, server.openai, offline=True))
    assert status == 2
    assert "there is no cache" in next(line for line in lines if line.startswith("FAIL "))


def test_parameter_files_are_merged_in_order(examined: Any, server: Loopback, tmp_path: Path) -> None:
    overlay = written(tmp_path, {"edct": {"vlms": {"m": {"model": "gpt-4p"}}}}, "overlay.yaml")
    status, lines, _ = examined(params(tmp_path, server.openai), "--params", overlay)
    assert status == 2
    assert "gpt-4p" in about(lines, "edct.vlms.m")


def test_a_defect_of_an_examination_is_a_finding_that_shows_no_secret(
    examined: Any, server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def examine(self: openai.Plugin) -> Iterator[registry.Diagnostic]:
        raise KeyError(CANARY)

    monkeypatch.setattr(openai.Plugin, "diagnose", examine)
    status, lines, err = examined(params(tmp_path, server.openai))
    assert status == 2
    assert "the check itself broke (KeyError in test_doctor_findings.py" in about(lines, "edct.vlms.m")
    assert "Traceback" not in err


def test_an_examination_that_never_ends_is_left_behind(
    examined: Any, server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    never = threading.Event()

    def examine(self: chat.Plugin) -> Iterator[registry.Diagnostic]:
        never.wait(60)
        yield registry.Diagnostic(True, "late")

    monkeypatch.setattr(chat.Plugin, "diagnose", examine)
    content = params(tmp_path, server.openai)
    content["edct"]["vlms"] = {name: {"plugin": "mock"} for name in ("m", "n", "o")}
    content["edct"]["tables"]["table1"] = [BLOCK | {"vlm": ["m", "n", "o"]}]
    status, lines, _ = examined(content, "--seconds", 1)
    never.set()
    assert status == 0
    slow = [line for line in lines if line.endswith("slow: not finished after 1 s; going on")]
    assert [line[:5] for line in slow] == ["warn "] * 3


def test_a_damaged_cache_is_told(examined: Any, server: Loopback, tmp_path: Path) -> None:
    (tmp_path / "calls.sqlite").write_text("not a database, but long enough to be taken for one" * 30)
    status, lines, _ = examined(params(tmp_path, server.openai))
    assert status == 2
    assert "not a response cache" in next(line for line in lines if line.startswith("FAIL cache"))


def test_a_budget_that_is_used_up_is_told(examined: Any, server: Loopback, tmp_path: Path) -> None:
    cache = ResponseCache(tmp_path / "calls.sqlite")
    cache.record_usage(UsageEntry(cache.send(CALL, 0.0, Budget()).number, "ok", None, None, charged=True))
    cache.keep(CALL, Response(text="x"))
    cache.close()
    status, lines, _ = examined(params(tmp_path, server.openai, max_calls=1))
    assert status == 2
    assert "calls.max_calls = 1 is used up" in next(line for line in lines if line.startswith("FAIL cache"))
    assert "1 answers, 1 calls sent" in next(
        line for line in examined(params(tmp_path, server.openai))[1] if "cache" in line
    )


def test_a_budget_needs_the_price_of_every_model(examined: Any, server: Loopback, tmp_path: Path) -> None:
    content = params(tmp_path, server.openai, {"model": "vlm"}, max_cost_usd=1)
    status, lines, _ = examined(content)
    assert status == 2
    assert "no list has a price of vlm; add a line for it to .cfeval/prices.yaml" in about(lines, "prices")


def test_a_full_disk_is_told(examined: Any, server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LEAST_FREE", 2**80)
    status, lines, _ = examined(params(tmp_path, server.openai))
    assert status == 2
    assert "free some space" in about(lines, "disk results")


def test_a_results_folder_in_whose_place_a_file_stands_is_told(examined: Any, server: Loopback, tmp_path: Path) -> None:
    (tmp_path / "results").touch()
    status, lines, _ = examined(params(tmp_path, server.openai))
    assert status == 2
    assert "a folder is needed" in about(lines, "disk results")


@pytest.mark.parametrize("there", [True, False])
def test_the_gpu_is_looked_at_where_a_plugin_needs_one(
    examined: Any, server: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: there)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda number: (3 * 2**30, 8 * 2**30))
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda number: "Large One")
    content = params(tmp_path, server.openai)
    assert not any(line.startswith("ok   gpu") for line in examined(content)[1])
    content["edct"]["vlms"]["m"] = {"plugin": "mock"}
    monkeypatch.setattr(chat.Plugin, "resources", lambda self: registry.Resources(gpu=1))
    status, lines, _ = examined(content)
    assert status == 0
    said = about(lines, "gpu")
    assert ("Large One, 3 of 8 GiB free" in said) == there
    assert ("the processor, many times slower (edct.vlms.m)" in said) != there


def test_bad_parameters_are_one_line(cfeval: Run, tmp_path: Path) -> None:
    content = deepcopy(params(tmp_path, "http://x"))
    content["edct"]["itmes"] = content["edct"].pop("items")
    status, _, err = cfeval("doctor", written(tmp_path, content).parent)
    assert status == 2
    assert err.count("\n") == 1
    assert "did you mean 'items'?" in err


def test_the_folder_s_own_parameters_are_found(cfeval: Run, server: Loopback, tmp_path: Path) -> None:
    content = json.loads(json.dumps(params(tmp_path, server.openai)))
    content["edct"]["datasets"]["d"] = {"plugin": "samples", "path": "mine.jsonl"}
    written(tmp_path, content)
    (tmp_path / "mine.jsonl").touch()
    status, out, err = cfeval("doctor", tmp_path)
    assert status == 0, out + err
    assert "edct.vlms.m" in out
