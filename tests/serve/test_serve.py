"""`cfeval serve` with real processes: started when asked, restarted, drained, and none is left over."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
import yaml

from cfeval.core.errors import InputError
from cfeval.inference.serving.replicas import ENGINES, engine_of, words
from cfeval.inference.serving.router import conversation
from cfeval.study.serve import locals_of
from tests.tiny.vlms import checkpoint
from tests.workflow.study import PARAMS

SMALL = f"{sys.executable} {Path(__file__).with_name('small_server.py')} {{model}} {{port}}"
USER = {"role": "user", "content": "What is this?"}


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def params_of(port: int, model: str = "small", provider: str = "vllm", **options: Any) -> dict[str, Any]:
    """A study of one model that it expects at a port of this machine."""
    address = f"http://127.0.0.1:{port}/v1"
    served = {"plugin": "openai", "provider": provider, "model": model, "base_url": address, **options}
    names = {"dataset": ["mine"], "vlm": ["served"], "writer": ["w"], "editor": ["ea"], "judge": ["j"]}
    params = deepcopy(PARAMS) | {"shards": 1}
    params["edct"] |= {"vlms": {"served": served}, "tables": {"table1": [names], "table2": []}, "known": {}}
    return params


def study(folder: Path, model: str = "small", provider: str = "vllm") -> int:
    """A study of one served model in a folder; the port at which it expects it."""
    port = free_port()
    folder.mkdir(exist_ok=True)
    (folder / "params.yaml").write_text(yaml.safe_dump(params_of(port, model, provider)))
    return port


@contextmanager
def serving(folder: Path, *options: str, engine: str = SMALL) -> Iterator["subprocess.Popen[str]"]:
    """`cfeval serve` in a folder, from when it listens; killed at the end if it has not ended."""
    program = [sys.executable, "-m", "cfeval.cli", "serve", ".", *(("--engine", engine) if engine else ()), *options]
    process = subprocess.Popen(program, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "' at http://127.0.0.1:" in line, line + (process.stderr.read() if process.stderr else "")
        yield process
    finally:
        process.kill()
        process.communicate()


def post(port: int, **fields: Any) -> httpx2.Response:
    body = {"model": "small", "messages": [USER], **fields}
    return httpx2.post(f"http://127.0.0.1:{port}/v1/chat/completions", json=body, timeout=600, trust_env=False)


def answered(port: int, **fields: Any) -> httpx2.Response:
    """The reply of a request that is sent again while a server that has just died says so."""
    until = time.monotonic() + 120
    while (reply := post(port, **fields)).status_code != 200 and time.monotonic() < until:
        time.sleep(0.2)
    return reply


def gone(*pids: int, within: float = 20.0) -> bool:
    until = time.monotonic() + within
    while time.monotonic() < until:
        if not any(psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids):
            return True
        time.sleep(0.1)
    return False


def test_both_turns_of_an_item_go_to_one_server_and_items_to_all(tmp_path: Path) -> None:
    port = study(tmp_path)
    with serving(tmp_path, "--replicas", "2"):
        seen = set()
        for number in range(12):
            first = {"role": "user", "content": f"What is picture {number}?"}
            answer = {"role": "assistant", "content": "A bus."}
            one = post(port, messages=[first])
            two = post(port, messages=[first, answer, {"role": "user", "content": "Why?"}])
            assert (one.json()["turns"], two.json()["turns"]) == (1, 3)
            assert one.json()["pid"] == two.json()["pid"]
            assert one.headers["x-cfeval-replica"] == two.headers["x-cfeval-replica"]
            seen.add(one.json()["pid"])
        assert len(seen) == 2


def test_the_list_of_models_starts_no_server(tmp_path: Path) -> None:
    port = study(tmp_path)
    with serving(tmp_path) as process:
        said = httpx2.get(f"http://127.0.0.1:{port}/v1/models", trust_env=False).json()
        assert [model["id"] for model in said["data"]] == ["small"]
        assert psutil.Process(process.pid).children() == []


def test_a_server_that_dies_is_started_again_and_the_request_may_be_sent_again(tmp_path: Path) -> None:
    port = study(tmp_path)
    with serving(tmp_path):
        before = post(port).json()["pid"]
        died = post(port, die=True)
        assert (died.status_code, died.headers["retry-after"]) == (503, "1")
        assert "ended before it answered; ask again" in died.json()["error"]["message"]
        after = answered(port).json()["pid"]
        assert after != before
        os.kill(after, signal.SIGKILL)
        assert gone(after)
        assert answered(port).json()["pid"] not in (before, after)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_requests_finish_and_ends_all_processes(tmp_path: Path, number: signal.Signals) -> None:
    port = study(tmp_path)
    with serving(tmp_path) as process:
        there = post(port).json()
        replies: list[httpx2.Response] = []
        asked = tmp_path / "asked"
        asking = threading.Thread(target=lambda: replies.append(post(port, wait=1.5, tells=str(asked))))
        asking.start()
        until = time.monotonic() + 60
        while not asked.exists() and time.monotonic() < until:
            time.sleep(0.05)
        process.send_signal(number)
        asking.join()
        assert [reply.status_code for reply in replies] == [200]
        assert process.wait(30) in (128 + number, -number)
        assert gone(there["pid"], there["child"])


def test_a_kill_leaves_no_process_behind(tmp_path: Path) -> None:
    """Neither the server nor what it started in a session of its own."""
    port = study(tmp_path)
    with serving(tmp_path) as process:
        there = post(port).json()
        process.kill()
        assert gone(there["pid"], there["child"])


def test_the_kill_of_its_keeper_ends_a_server_too(tmp_path: Path) -> None:
    port = study(tmp_path)
    with serving(tmp_path) as process:
        there = post(port).json()
        (keeper,) = psutil.Process(process.pid).children()
        keeper.kill()
        assert gone(there["pid"])
        assert answered(port).json()["pid"] != there["pid"]


def test_servers_that_nobody_asks_end_and_start_again_when_asked(tmp_path: Path) -> None:
    port = study(tmp_path)
    with serving(tmp_path, "--idle", "1"):
        there = post(port).json()
        assert gone(there["pid"], there["child"])
        assert answered(port).json()["pid"] != there["pid"]


def test_a_server_that_does_not_come_up_says_why_at_once_the_second_time(tmp_path: Path) -> None:
    port = study(tmp_path, model="broken")
    with serving(tmp_path):
        for _ in range(2):
            began = time.monotonic()
            reply = post(port)
            assert reply.status_code == 503
            assert "ended before it was well" in reply.json()["error"]["message"]
            assert "no such weights" in reply.json()["error"]["message"]
        assert time.monotonic() - began < 1


def test_it_serves_while_a_command_runs_and_ends_with_its_status(tmp_path: Path) -> None:
    port = study(tmp_path)
    ask = f"import httpx2; print(httpx2.post('http://127.0.0.1:{port}/v1/x', json={{}}).json()['pid']); exit(3)"
    program = [sys.executable, "-m", "cfeval.cli", "serve", ".", "--engine", SMALL, "--", sys.executable, "-c", ask]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 3, done.stderr
    assert gone(int(done.stdout.split()[-1]))


def test_a_command_finds_the_model_at_another_port_where_its_own_is_taken(tmp_path: Path) -> None:
    """As on a node that jobs of others share; what is stored of a call has the address that the study names."""
    port = study(tmp_path)
    ask = (
        "import asyncio; from cfeval.inference.remote.http import open_client\n"
        "async def ask():\n"
        "    async with open_client() as client:\n"
        f"        print((await client.post('http://localhost:{port}/v1/x', json={{}})).json()['pid'])\n"
        "asyncio.run(ask())"
    )
    with socket.create_server(("127.0.0.1", port)):
        program = [sys.executable, "-m", "cfeval.cli", "serve", ".", "--engine", SMALL, "--", sys.executable, "-c", ask]
        done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert gone(int(done.stdout.split()[-1]))


@pytest.mark.parametrize(("plugin", "command"), [("openai", ()), ("litellm", ("--", "true"))])
def test_a_port_in_use_is_one_line_where_a_call_would_go_to_what_has_it(
    plugin: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    """Nobody is told of another port, or the call is sent by a package that would not look for one."""
    port = free_port()
    params = params_of(port)
    if plugin == "litellm":
        address = f"http://127.0.0.1:{port}/v1"
        params["edct"]["vlms"]["served"] = {"plugin": plugin, "model": "openai/small", "base_url": address}
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(params))
    with socket.create_server(("127.0.0.1", port)):
        program = [sys.executable, "-m", "cfeval.cli", "serve", ".", "--engine", SMALL, *command]
        done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert f"something else listens at port {port}" in done.stderr


@pytest.mark.slow
def test_transformers_serve_answers_is_killed_restarted_and_drained(tmp_path: Path) -> None:
    """The real server, with a tiny random Qwen2.5-VL; its command follows from the provider."""
    (tmp_path / "qwen").symlink_to(checkpoint("qwen2_5_vl"))
    port = study(tmp_path, model="qwen", provider="transformers")
    with serving(tmp_path, "--options=--device cpu", engine="") as process:
        fields = {"model": "qwen", "max_tokens": 5, "seed": 1}
        first = post(port, **fields)
        assert first.status_code == 200, first.text
        said = first.json()["choices"][0]["message"]["content"]
        (keeper,) = psutil.Process(process.pid).children()
        (server,) = keeper.children()
        server.kill()
        assert gone(server.pid)
        again = answered(port, **fields)
        assert again.json()["choices"][0]["message"]["content"] == said
        family = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        assert process.wait(60) in (128 + signal.SIGTERM, -signal.SIGTERM)
        assert gone(*(one.pid for one in family))


def test_the_key_of_a_conversation_is_its_beginning() -> None:
    system = {"role": "system", "content": "Be brief."}
    later = [{"role": "assistant", "content": "A bus."}, {"role": "user", "content": "Why?"}]

    def key(*messages: dict[str, str]) -> str:
        return conversation(json.dumps({"messages": messages}).encode())

    assert key(USER) == key(USER, *later) != ""
    assert key(system, USER) == key(system, USER, *later) != key(USER)
    assert key({"role": "user", "content": "And this?"}) != key(USER)
    for other in (b"", b"{", b'{"messages": 3}', b'{"messages": [{"role": "system"}]}', b"\xff--boundary"):
        assert conversation(other) == ""


def test_the_models_on_this_machine_are_found_in_parts_too() -> None:
    here = {"plugin": "openai", "provider": "vllm", "model": "m", "base_url": "http://127.0.0.1:8000/v1"}
    away = {**here, "base_url": "https://api.example.com/v1"}
    editor = {"plugin": "openai_image", "model": "e", "base_url": "http://localhost:8001/v1"}
    found = locals_of([away, {"plugin": "chat", "model": here}, {"plugin": "gated", "editor": editor}, here])
    assert [(one.port, one.model, one.provider) for one in found] == [(8000, "m", "vllm"), (8001, "e", "vllm-omni")]
    with pytest.raises(InputError, match="'m' and 'other' are both expected at port 8000"):
        locals_of([here, {**here, "model": "other"}])
    with pytest.raises(InputError, match="names no port"):
        locals_of([{**here, "base_url": "http://localhost/v1"}])


def test_a_server_is_expected_at_the_usual_port_of_its_provider() -> None:
    parts = [{"plugin": "openai", "provider": "SGLang", "model": "m"}, {"plugin": "openai", "provider": "groq"}]
    parts += [{"plugin": "openai_image", "provider": "sglang", "model": "e", "base_url": "http://localhost:7/v1"}]
    found = [(one.port, one.model, one.provider) for one in locals_of(parts)]
    assert found == [(30000, "m", "sglang"), (7, "e", "sglang")]


def test_a_command_is_chosen_by_name_by_provider_or_in_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("vllm", "sglang", "llama-server"):
        (tmp_path / name).touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert engine_of("vllm", "") == ENGINES["vllm"]
    assert engine_of("other", "sglang") == ENGINES["sglang"]
    assert words(engine_of("other", "llama-server -m {model} --port {port}"), "a b.gguf", 7) == [
        *("llama-server", "-m", "a b.gguf", "--port", "7")
    ]
    with pytest.raises(InputError, match="nothing is known that serves provider 'other'; name it with --engine"):
        engine_of("other", "")
    with pytest.raises(InputError, match=r"no server 'vlm'; .*'vllm'"):
        engine_of("vllm", "vlm")
    (tmp_path / "vllm").unlink()
    with pytest.raises(InputError, match=r"no program 'vllm' here; .* --engine 'PATH/vllm"):
        engine_of("vllm", "")
