"""The server: healthy answers of every provider, keys, scripts, random faults, the log, speed and stopping."""

import asyncio
import base64
import io
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import PIL.Image
import pytest

from tests.loopback.asking import PHOTO, call, chat_body, edit_body, messages, polled, submitted
from tests.loopback.fault import Kind
from tests.loopback.faults import FAULTS, fitting
from tests.loopback.server import loopback
from tests.loopback.site import Loopback

KEY = "canary-key-42"
ROOT = Path(__file__).parents[2]


@pytest.fixture
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


@pytest.fixture(scope="module")
def client() -> Iterator[httpx2.Client]:
    with httpx2.Client(timeout=5, verify=False) as client:
        yield client


def chat(client: httpx2.Client, base: str, **more: Any) -> httpx2.Response:
    return client.post(f"{base}/chat/completions", json=chat_body(**more))


# Healthy answers


def test_each_provider_reports_usage_its_own_way(server: Loopback, client: httpx2.Client) -> None:
    plain, routed = chat(client, server.openai).json(), chat(client, server.openrouter).json()
    assert set(plain["usage"]) == {"prompt_tokens", "completion_tokens", "total_tokens"}
    assert routed["usage"]["cost"] > 0
    assert (routed["provider"], "provider" in plain) == ("Loopback", False)
    assert submitted(server, client)["cost"] == 8.0


def test_what_was_charged_can_be_asked_for(server: Loopback, client: httpx2.Client) -> None:
    costs = [chat(client, server.openrouter, text=text).json()["usage"]["cost"] for text in "abc"]
    submitted(server, client)
    assert client.get(f"{server.openrouter}/key").json()["data"]["usage"] == pytest.approx(sum(costs))
    assert client.get(f"{server.openrouter}/credits").json()["data"]["total_usage"] == pytest.approx(sum(costs))
    assert client.get(f"{server.bfl}/v1/credits").json() == {"credits": 992.0}


def pixels(file: bytes) -> Any:
    with PIL.Image.open(io.BytesIO(file)) as image:
        return np.asarray(image.convert("RGB"))


def edits(server: Loopback, client: httpx2.Client) -> dict[str, bytes]:
    """The healthy edit of every protocol."""
    ready = polled(client, submitted(server, client))
    chatted = client.request(**call(server, client, Kind.IMAGE)).json()["choices"][0]["message"]["images"]
    formed = client.request(**call(server, client, Kind.EDIT)).json()["data"]
    reference = {"type": "image_url", "image_url": {"url": messages()[0]["content"][1]["image_url"]["url"]}}
    body = {"model": "nano", "prompt": "make it blue", "input_references": [reference], "seed": 3}
    listed = client.post(f"{server.openrouter}/images", json=body).json()["data"]
    return {
        "bfl": client.get(ready["result"]["sample"]).content,
        "chat": base64.b64decode(chatted[0]["image_url"]["url"].partition(",")[2]),
        "form": base64.b64decode(formed[0]["b64_json"]),
        "list": base64.b64decode(listed[0]["b64_json"]),
    }


def test_an_edit_changes_one_patch_at_the_inputs_size_and_is_the_same_each_time(
    server: Loopback, client: httpx2.Client
) -> None:
    first = edits(server, client)
    assert first == edits(server, client)
    for file in first.values():
        changed = np.any(pixels(file) != pixels(PHOTO), axis=2)
        assert changed.sum() == (30 // 3) * (45 // 3)


def test_another_instruction_gives_another_edit(server: Loopback, client: httpx2.Client) -> None:
    made = set()
    for n in range(5):
        task = client.post(f"{server.bfl}/v1/flux-2-pro", json=edit_body(f"edit {n}")).json()
        made.add(client.get(polled(client, task)["result"]["sample"]).content)
    assert len(made) == 5


@pytest.mark.parametrize("field", ["seed", "frequency_penalty", "top_k", "metadata"])
def test_gemini_refuses_fields_it_does_not_know_in_a_list(server: Loopback, client: httpx2.Client, field: str) -> None:
    answer = chat(client, server.gemini, **{field: 1})
    assert answer.status_code == 400
    assert f'Unknown name "{field}"' in answer.json()[0]["error"]["message"]
    assert chat(client, server.gemini, max_tokens=5).status_code == 200


def test_only_the_named_models_are_known(client: httpx2.Client) -> None:
    with loopback(models=["vlm"]) as server:
        for base, status in ((server.openai, 404), (server.openrouter, 400), (server.gemini, 404)):
            assert chat(client, base, model="vlm").status_code == 200
            assert chat(client, base, model="other").status_code == status
        listed = [client.get(f"{base}/models").json()["data"] for base in (server.openrouter, server.gemini)]
    assert [[model["id"] for model in models] for models in listed] == [["vlm"], ["models/vlm"]]


def test_bfl_limits_the_tasks_at_work(client: httpx2.Client) -> None:
    with loopback(active_tasks=2) as server:
        first = submitted(server, client)
        submitted(server, client)
        full = client.post(f"{server.bfl}/v1/flux-kontext-max", json=edit_body())
        polled(client, first)
        free = client.post(f"{server.bfl}/v1/flux-kontext-max", json=edit_body())
    assert (full.status_code, free.status_code) == (429, 200)


def test_a_persona_can_be_brought_along(client: httpx2.Client) -> None:
    with loopback(personas={"parrot": lambda conversation: conversation.prompt}) as server:
        body = chat(client, server.openai, model="parrot", text="Hello").json()
    assert body["choices"][0]["message"]["content"] == "Hello"


# Keys


def test_a_missing_or_wrong_key_is_refused_as_each_provider_does(client: httpx2.Client) -> None:
    def statuses(server: Loopback, headers: dict[str, str]) -> list[int]:
        bases = (server.openai, server.openrouter, server.gemini)
        chats = [client.post(f"{base}/chat/completions", json=chat_body(), headers=headers) for base in bases]
        edit = client.post(f"{server.bfl}/v1/flux-kontext-max", json=edit_body(), headers=headers)
        return [answer.status_code for answer in (*chats, edit)]

    with loopback(key=KEY) as server:
        assert statuses(server, {}) == [401, 401, 401, 403]
        assert statuses(server, {"Authorization": "Bearer wrong", "x-key": "wrong"}) == [401, 401, 400, 403]
        assert statuses(server, {"Authorization": f"Bearer {KEY}"}) == [200, 200, 200, 200]


def test_the_log_tells_that_there_was_a_key_and_never_which(client: httpx2.Client) -> None:
    with loopback(key=KEY) as server:
        client.post(f"{server.bfl}/v1/flux-kontext-max", json=edit_body(), headers={"x-key": KEY})
        chat(client, server.openai)
        log = client.get(f"{server.origin}/_ctl/log").text
        assert [entry.auth for entry in server.log] == [True, False]
    assert KEY not in log
    assert KEY not in repr(server.log)


def test_a_refused_request_uses_up_no_fault(client: httpx2.Client) -> None:
    with loopback(key=KEY) as server:
        server.script(["http_500"])
        chat(client, server.openai)
        answer = client.post(f"{server.openai}/chat/completions", json=chat_body(), headers={"x-key": KEY})
    assert answer.status_code == 500


# Choosing faults


def test_a_script_is_played_in_order_and_then_all_is_well(server: Loopback, client: httpx2.Client) -> None:
    server.script(["http_500", None, "http_404"])
    assert [chat(client, server.openai).status_code for _ in range(5)] == [500, 200, 404, 200, 200]
    assert server.faults() == {"http_500": 1, "http_404": 1}


def test_a_script_can_wait_for_a_kind_of_request(server: Loopback, client: httpx2.Client) -> None:
    server.script(["http_503"], at="poll")
    task = submitted(server, client)
    assert [client.get(task["polling_url"]).status_code for _ in range(2)] == [503, 200]


def test_a_fault_nobody_knows_is_refused_at_once(server: Loopback) -> None:
    with pytest.raises(ValueError, match="no fault is called 'htp_500'"):
        server.script(["htp_500"])


def choices(client: httpx2.Client, texts: list[str], seed: int) -> dict[tuple[str, int], str | None]:
    """The fault that each body met at each of two attempts."""
    names = [fault.name for fault in fitting(Kind.CHAT) if fault.name.startswith("http")]
    with loopback() as server:
        server.random(0.3, names, seed=seed)
        for text in texts:
            chat(client, server.openai, text=text)
        return {(entry.digest, entry.attempt): entry.fault for entry in server.log}


@pytest.mark.slow
def test_random_faults_are_the_same_in_any_order_and_others_with_another_seed(client: httpx2.Client) -> None:
    texts = [f"question {n}" for n in range(60)] * 2
    first = choices(client, texts, seed=1)
    assert first == choices(client, texts[::-1], seed=1)
    assert first != choices(client, texts, seed=2)
    assert 0.15 < sum(fault is not None for fault in first.values()) / len(first) < 0.45
    assert len({fault for fault in first.values() if fault}) > 5


def test_random_faults_fit_their_requests(server: Loopback, client: httpx2.Client) -> None:
    server.random(1.0, ["bfl_error", "http_404"])
    submitted(server, client)
    for kind in (Kind.CHAT, Kind.INFO):
        client.request(**call(server, client, kind))
    played = [entry.fault for entry in server.log]
    assert played[0] in ("bfl_error", "http_404")
    assert played[1:] == ["http_404", None]  # a chat knows no task, and a list of models costs nothing


# The log


def test_the_log_counts_requests_models_and_bodies(server: Loopback, client: httpx2.Client) -> None:
    for text in ("a", "a", "b"):
        chat(client, server.openrouter, text=text)
    chat(client, server.openai, model="judge")
    client.get(f"{server.openai}/models")
    assert server.requests() == {"openrouter.chat": 3, "openai.chat": 1, "openai.models": 1}
    assert server.models() == {"vlm": 3, "judge": 1}
    assert sorted(server.sent().values()) == [1, 1, 2]
    assert [entry.attempt for entry in server.log] == [1, 2, 1, 1, 1]
    assert server.log[0].payload["messages"][0]["content"][0]["text"] == "a"
    server.reset()
    assert (server.log, server.requests(), server.sent()) == ([], {}, {})


def test_a_form_sent_twice_is_the_same_body(server: Loopback, client: httpx2.Client) -> None:
    for _ in range(2):
        client.request(**call(server, client, Kind.EDIT))
    assert list(server.sent().values()) == [2]
    assert server.log[0].payload["prompt"] == "make it blue"


def test_the_log_tells_how_a_request_ended(server: Loopback, client: httpx2.Client) -> None:
    server.script(["http_500", "close_before_headers", None])
    for _ in range(3):
        try:
            chat(client, server.openai)
        except httpx2.RemoteProtocolError:
            continue
    assert [entry.status for entry in server.log] == [500, None, 200]
    assert all(entry.ended is not None and entry.ended >= entry.began for entry in server.log)


def test_many_threads_are_counted_right(server: Loopback, client: httpx2.Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: chat(client, server.openai, text=f"t{n % 10}"), range(100)))
    assert server.requests() == {"openai.chat": 100}
    assert set(server.sent().values()) == {10}


# Latency, speed, stopping


async def served(server: Loopback, count: int, max_connections: int) -> float:
    """Seconds that `count` requests took, `max_connections` in flight."""
    gate = asyncio.Semaphore(max_connections)
    limits = httpx2.Limits(max_connections=max_connections)
    async with httpx2.AsyncClient(limits=limits, timeout=10) as client:

        async def one(n: int) -> None:
            async with gate:
                answer = await client.post(f"{server.openai}/chat/completions", json=chat_body(text=f"question {n}"))
                assert answer.status_code == 200

        began = time.monotonic()
        await asyncio.gather(*(one(n) for n in range(count)))
        return time.monotonic() - began


@pytest.mark.slow
def test_requests_wait_side_by_side() -> None:
    with loopback(latency=0.25) as server:
        seconds = asyncio.run(served(server, 128, max_connections=64))
        assert server.most_in_flight == 64
    assert 0.5 <= seconds < 16  # one after the other: 32 s


def test_some_requests_can_be_made_slow(server: Loopback, client: httpx2.Client) -> None:
    client.post(f"{server.origin}/_ctl/latency", json={"seconds": 0.01, "slow": 5, "one_in": 2}).raise_for_status()
    assert {server.seconds_of(f"{number:08x}") for number in range(16)} == {0.01, 5}
    client.post(f"{server.origin}/_ctl/latency", json={"seconds": 0.01}).raise_for_status()
    assert {server.seconds_of(f"{number:08x}") for number in range(16)} == {0.01}


def test_a_client_that_goes_away_is_no_longer_in_flight(server: Loopback, client: httpx2.Client) -> None:
    server.script(["hang"])
    with pytest.raises(httpx2.ReadTimeout):
        client.post(f"{server.openai}/chat/completions", json=chat_body(), timeout=0.1)
    deadline = time.monotonic() + 2
    while server.in_flight and time.monotonic() < deadline:
        time.sleep(0.01)
    assert server.in_flight == 0


@pytest.mark.parametrize(
    "fault", [fault.name for fault in FAULTS.values() if fault.stalls and Kind.CHAT in fault.where]
)
def test_a_request_that_stalls_does_not_keep_the_server_from_stopping(fault: str) -> None:
    broken: list[Exception] = []

    def wait(url: str) -> None:
        try:
            httpx2.post(url, json=chat_body(), timeout=20)
        except httpx2.TransportError as error:
            broken.append(error)

    with loopback() as server:
        server.script([fault])
        waiting = threading.Thread(target=wait, args=(f"{server.openai}/chat/completions",))
        waiting.start()
        while not server.in_flight:
            time.sleep(0.005)
        time.sleep(0.05)
        began = time.monotonic()
    assert time.monotonic() - began < 10  # the client would wait for 20 s
    waiting.join(5)
    assert len(broken) == 1


def test_a_defect_of_the_server_is_not_taken_for_a_fault() -> None:
    def broken(_: Any) -> str:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), loopback(personas={"vlm": broken}) as server:
        assert httpx2.post(f"{server.openai}/chat/completions", json=chat_body()).status_code == 500


@pytest.mark.slow
def test_a_limit_answers_so_many_in_each_second(client: httpx2.Client, server: Loopback) -> None:
    client.post(f"{server.origin}/_ctl/limit", json={"per_second": 2}).raise_for_status()
    began, statuses = [], []
    for text in "abcdefgh":
        statuses.append(chat(client, server.openrouter, text=text).status_code)
        began.append(int(server.log[-1].began))
    for second in set(began):
        taken = [status for at, status in zip(began, statuses, strict=True) if at == second]
        assert taken == [200, 200, *[429] * (len(taken) - 2)][: len(taken)]
    server.reset()
    assert [chat(client, server.openrouter, text=text).status_code for text in "abc"] == [200] * 3


def test_another_process_steers_it_over_http(client: httpx2.Client) -> None:
    command = [sys.executable, "-m", "tests.loopback", "--key", KEY, "--latency", "0.01"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        origin = process.stdout.readline().strip()
        client.post(f"{origin}/_ctl/script", json={"faults": ["http_502", None]})
        unknown = client.post(f"{origin}/_ctl/script", json={"faults": ["htp"]})
        headers = {"Authorization": f"Bearer {KEY}"}
        url = f"{origin}/v1/chat/completions"
        got = [client.post(url, json=chat_body(), headers=headers).status_code for _ in range(2)]
        summary = client.get(f"{origin}/_ctl/summary").json()
        client.post(f"{origin}/_ctl/reset")
        log = client.get(f"{origin}/_ctl/log").json()
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=5)
    assert (got, unknown.status_code, log) == ([502, 200], 400, [])
    assert (summary["requests"], summary["faults"]) == ({"openai.chat": 2}, {"http_502": 1})
    assert (process.returncode, errors) == (0, "")
