"""Every fault of the table does, on every kind of request it fits, what its name says: seen by a plain client."""

import base64
import io
import json
import re
import time
import warnings
from collections.abc import Callable, Iterator
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
import numpy as np
import PIL.Image
import pytest

from cfeval.core.records import Status
from tests.loopback.asking import PHOTO, call, polled, submitted
from tests.loopback.fault import Fault, Kind, Reaction
from tests.loopback.faults import FAULTS, FINISH
from tests.loopback.server import loopback
from tests.loopback.site import Loopback

PATIENCE = 0.2
"""Read timeout of the client where the server stalls, seconds; elsewhere it has time."""


@pytest.fixture(scope="module")
def server() -> Iterator[Loopback]:
    with loopback() as running:
        yield running


@pytest.fixture(scope="module")
def client() -> Iterator[httpx2.Client]:
    with httpx2.Client(timeout=10, verify=False, headers={"Authorization": "Bearer canary-key"}) as client:
        yield client


def asked(server: Loopback, client: httpx2.Client, fault: str, kind: Kind) -> httpx2.Response:
    return client.request(**call(server, client, kind), headers={"X-Fault": fault})


# What the client raises where the connection breaks.
BREAKS: dict[str, type[Exception]] = {
    "reset_before_headers": httpx2.ReadError,
    "close_before_headers": httpx2.RemoteProtocolError,
    "not_http": httpx2.RemoteProtocolError,
    "reset_mid_body": httpx2.ReadError,
    "close_mid_body": httpx2.RemoteProtocolError,
    "chunked_cut": httpx2.RemoteProtocolError,
    "hang": httpx2.ReadTimeout,
    "stall_mid_body": httpx2.ReadTimeout,
    "gzip_corrupt": httpx2.DecodingError,
    "stream_cut": httpx2.RemoteProtocolError,
}

# What the body's parser raises where the document is broken, or what it gives.
UNREADABLE: dict[str, type[Exception]] = {
    "json_truncated": json.JSONDecodeError,
    "json_not_utf8": UnicodeDecodeError,
    "json_nested": RecursionError,
    "html_200": json.JSONDecodeError,
    "empty_200": json.JSONDecodeError,
}
DOCUMENTS: dict[str, Callable[[Any], bool]] = {
    "json_null": lambda body: body is None,
    "json_list": lambda body: body == [],
    "json_as_text": lambda body: len(body) > 0,
    "error_200": lambda body: set(body) == {"error"} and body["error"]["code"] == 502,
    "error_200_429": lambda body: set(body) == {"error"} and body["error"]["code"] == 429,
    "error_200_400": lambda body: set(body) == {"error"} and body["error"]["code"] == 400,
    "error_200_402": lambda body: set(body) == {"error"} and body["error"]["code"] == 402,
    "error_200_403": lambda body: body["error"]["metadata"]["reasons"] == ["violence"],
    "choices_missing": lambda body: "choices" not in body,
    "choices_null": lambda body: body["choices"] is None,
    "choices_empty": lambda body: body["choices"] == [],
    "message_null": lambda body: body["choices"][0]["message"] is None,
    "wrong_model": lambda body: body["model"] == "loopback/another-model",
    "model_dated": lambda body: re.fullmatch(r"vlm-\d{4}-\d\d-\d\d", body["model"]) is not None,
    "usage_missing": lambda body: "usage" not in body,
    "usage_odd": lambda body: body["usage"] == {"cost": "free"},
}

# The finish_reason and the content of a choice, and what else its message must hold.
CHOICES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "finish_error": ("error", "The ima", {}),
    "finish_null": (None, "The", {}),
    "finish_length": ("length", "The image sho", {}),
    "finish_content_filter": ("content_filter", None, {}),
    "reasoning_only": ("length", "", {"reasoning": "Let me look."}),
    "content_null": ("stop", None, {}),
    "content_empty": ("stop", "", {}),
    "content_blank": ("stop", " \n", {}),
    "content_number": ("stop", 7, {}),
    "refusal_field": ("stop", None, {"refusal": "I can't help with that."}),
    "refusal_text": ("stop", "I can't help.", {"refusal": None}),
    "image_safety": ("content_filter", None, {"images": []}),
    "image_refusal_text": ("stop", "I can't edit pictures of people.", {"images": []}),
}


def pixels(file: bytes) -> "np.ndarray[tuple[int, ...], np.dtype[np.uint8]]":
    with PIL.Image.open(io.BytesIO(file)) as image:
        return np.asarray(image.convert("RGB"))


def unreadable(file: bytes) -> bool:
    try:
        pixels(file)
    except OSError:
        return True
    return False


def size(file: bytes) -> tuple[int, int]:
    """Width and height as the head of the file states them."""
    return int.from_bytes(file[16:20], "big"), int.from_bytes(file[20:24], "big")


def mode(file: bytes) -> str:
    with PIL.Image.open(io.BytesIO(file)) as image:
        return image.mode


FILES: dict[str, Callable[[bytes], bool]] = {
    "image_truncated": lambda file: file.startswith(b"\x89PNG") and unreadable(file),
    "image_html": lambda file: b"<html>" in file,
    "image_empty": lambda file: file == b"",
    "image_bomb": lambda file: size(file) == (30_000, 30_000) and len(file) < 200_000,
    "image_same": lambda file: file == PHOTO,
    "image_same_pixels": lambda file: file != PHOTO and np.array_equal(pixels(file), pixels(PHOTO)),
    "image_other_size": lambda file: size(file) == (96, 48) and not unreadable(file),
    "image_alpha": lambda file: mode(file) == "RGBA" and size(file) == size(PHOTO),
}
LISTS: dict[str, Callable[[list[str]], bool]] = {
    "image_missing": lambda urls: urls == [],
    "image_two": lambda urls: len(urls) == 2,
    "image_bad_base64": lambda urls: urls[0].endswith("@@@"),
    "image_url": lambda urls: urls[0].startswith("http://localhost:"),
    "image_wrong_mime": lambda urls: urls[0].startswith("data:image/jpeg;base64,iVBOR"),
}

# How a walk from submission to image goes: see `walk`.
WALKS: dict[str, list[Any]] = {
    "bfl_request_moderated": ["Request Moderated"],
    "bfl_content_moderated": ["Content Moderated"],
    "bfl_moderated_503": ["503 Content Moderated"],
    "bfl_error": ["Error"],
    "bfl_failed": ["Failed"],
    "bfl_task_not_found": ["404 Task not found"],
    "bfl_pending": ["Pending"] * 5,
    "bfl_no_polling_url": ["no polling_url"],
    "bfl_foreign_polling_url": ["foreign polling_url"],
    "bfl_odd_polling_url": ["foreign polling_url"],
    "bfl_odd_sample": ["Ready", "InvalidURL"] * 5,
    "bfl_no_sample": ["Ready", "no sample"],
    "bfl_expired": ["Pending", "Ready", 403, "Ready", 403, "Ready", 403],
    "bfl_not_found_once": ["404 Task not found"],  # this walk ends there; the editor looks again
    "bfl_expired_once": ["Pending", "Ready", 403, "Ready", 200],
    "bfl_cut_once": ["Pending", "Ready", "RemoteProtocolError", "Ready", 200],
    "bfl_poll_500_once": ["500 None", "Ready", 200],
    "bfl_poll_429_once": ["429 None", "Ready", 200],
    "bfl_poll_cut_once": ["RemoteProtocolError", "Ready", 200],
    "bfl_ready_503": ["Pending", "503 Ready", 200],
    "bfl_new_status": ["Reasoning", "Ready", 200],
    "bfl_no_cost": ["no cost", "Pending", "Ready", 200],
}

STREAMS = {"stream_silent_end", "stream_error", "stream_bad_chunk"}
ENDINGS = {row.name for row in FINISH}
HTTP = {name for name in FAULTS if re.match(r"(http|bfl)_\d{3}", name)}
SEEN = [
    HTTP,
    {"slow_drip"},
    BREAKS,
    UNREADABLE,
    DOCUMENTS,
    CHOICES,
    ENDINGS,
    {"content_parts"},
    FILES,
    LISTS,
    WALKS,
    STREAMS,
]


def cases(names: Any) -> pytest.MarkDecorator:
    """Every fault of these names on every kind of request it fits; fast on one, in turn the first, the second, …"""
    rows = []
    for number, fault in enumerate(fault for fault in FAULTS.values() if fault.name in names):
        for place, kind in enumerate(fault.where):
            marks = () if place == number % len(fault.where) else pytest.mark.slow
            rows.append(pytest.param(fault, kind, id=f"{fault.name}-{kind}", marks=marks))
    return pytest.mark.parametrize(("fault", "kind"), rows)


def test_every_fault_is_looked_at_by_one_test() -> None:
    assert sorted(name for group in SEEN for name in group) == sorted(FAULTS)


@cases(HTTP)
def test_an_http_fault_answers_with_the_status_of_its_name(
    server: Loopback, client: httpx2.Client, fault: Fault, kind: Kind
) -> None:
    answer = asked(server, client, fault.name, kind)
    assert answer.status_code == int(re.findall(r"\d{3}", fault.name)[0])
    assert ("canary-key" in answer.text) == fault.name.endswith("_echo")
    assert answer.text.startswith("[") == (fault.name in ("http_400_list", "http_400_bad_key"))
    assert answer.text.startswith("<") == (fault.name in ("http_500_html", "http_520"))


@pytest.mark.parametrize("fault", [fault for fault in FAULTS.values() if "_after" in fault.name], ids=lambda f: f.name)
def test_the_table_knows_how_long_a_server_asks_to_wait(server: Loopback, client: httpx2.Client, fault: Fault) -> None:
    headers = asked(server, client, fault.name, fault.where[0]).headers
    if "Retry-After-Ms" in headers:
        told: float | None = float(headers["Retry-After-Ms"]) / 1000
    elif "GMT" in headers["Retry-After"]:
        told = parsedate_to_datetime(headers["Retry-After"]).timestamp() - time.time()
    else:
        told = float(headers["Retry-After"]) if headers["Retry-After"].isdigit() else None
    assert told == (fault.wait if fault.wait is None else pytest.approx(fault.wait, abs=1.1))


def test_no_other_fault_asks_to_wait(server: Loopback, client: httpx2.Client) -> None:
    for name in sorted(HTTP):
        if "_after" not in name:
            assert FAULTS[name].wait is None
            assert "retry-after" not in asked(server, client, name, FAULTS[name].where[0]).headers


@cases(BREAKS)
def test_a_fault_of_the_connection_breaks_it(server: Loopback, client: httpx2.Client, fault: Fault, kind: Kind) -> None:
    request = call(server, client, kind)
    with pytest.raises(BREAKS[fault.name]):
        client.request(**request, headers={"X-Fault": fault.name}, timeout=PATIENCE if fault.stalls else 10)


@pytest.mark.parametrize("kind", [Kind.CHAT, Kind.DOWNLOAD])
def test_a_drip_outlives_every_read_timeout(server: Loopback, client: httpx2.Client, kind: Kind) -> None:
    request = call(server, client, kind)
    began, got = time.monotonic(), b""
    with client.stream(**request, headers={"X-Fault": "slow_drip"}, timeout=0.5) as answer:
        for part in answer.iter_raw():
            got += part
            if time.monotonic() - began > 0.6:
                break
    assert 0 < len(got) <= 20


@cases(UNREADABLE)
def test_a_broken_document_comes_with_200_and_does_not_parse(
    server: Loopback, client: httpx2.Client, fault: Fault, kind: Kind
) -> None:
    answer = asked(server, client, fault.name, kind)
    assert answer.status_code == 200
    with pytest.raises(UNREADABLE[fault.name]):
        answer.json()


@cases(DOCUMENTS)
def test_a_document_of_another_shape_comes_with_200(
    server: Loopback, client: httpx2.Client, fault: Fault, kind: Kind
) -> None:
    answer = asked(server, client, fault.name, kind)
    assert answer.status_code == 200
    assert DOCUMENTS[fault.name](answer.json())
    assert answer.headers["Content-Type"].startswith(
        "text/plain" if fault.name == "json_as_text" else "application/json"
    )


@cases(ENDINGS)
def test_an_answer_ends_as_its_fault_names(server: Loopback, client: httpx2.Client, fault: Fault, kind: Kind) -> None:
    (choice,) = asked(server, client, fault.name, kind).json()["choices"]
    rest = "" if choice["message"] else ", no message"
    assert fault.does == f"200, finish_reason {choice['finish_reason']}, native {choice['native_finish_reason']}{rest}"


@cases(CHOICES)
def test_a_choice_says_what_its_fault_names(server: Loopback, client: httpx2.Client, fault: Fault, kind: Kind) -> None:
    finish, content, rest = CHOICES[fault.name]
    choice = asked(server, client, fault.name, kind).json()["choices"][0]
    assert (choice["finish_reason"], choice["message"]["content"]) == (finish, content)
    assert rest.items() <= choice["message"].items()
    assert not choice["message"].get("images")


def test_parts_carry_the_text_of_the_healthy_answer(server: Loopback, client: httpx2.Client) -> None:
    healthy = client.request(**call(server, client, Kind.CHAT)).json()["choices"][0]["message"]["content"]
    parts = asked(server, client, "content_parts", Kind.CHAT).json()["choices"][0]["message"]["content"]
    assert parts == [{"type": "text", "text": healthy}]


def urls(answer: httpx2.Response, kind: Kind) -> list[str]:
    body = answer.json()
    if kind == Kind.EDIT:
        return [item.get("url") or "data:image/png;base64," + item["b64_json"] for item in body["data"]]
    return [item["image_url"]["url"] for item in body["choices"][0]["message"]["images"]]


@cases(FILES)
def test_the_file_of_an_image_is_what_its_fault_names(
    server: Loopback, client: httpx2.Client, fault: Fault, kind: Kind
) -> None:
    answer = asked(server, client, fault.name, kind)
    file = answer.content if kind == Kind.DOWNLOAD else base64.b64decode(urls(answer, kind)[0].partition(",")[2])
    assert FILES[fault.name](file)


@cases(LISTS)
def test_the_list_of_images_is_what_its_fault_names(
    server: Loopback, client: httpx2.Client, fault: Fault, kind: Kind
) -> None:
    assert LISTS[fault.name](urls(asked(server, client, fault.name, kind), kind))


def test_the_bomb_is_a_real_image(server: Loopback, client: httpx2.Client) -> None:
    file = asked(server, client, "image_bomb", Kind.DOWNLOAD).content
    with warnings.catch_warnings(), pytest.raises(PIL.Image.DecompressionBombError):
        PIL.Image.open(io.BytesIO(file))


def walk(server: Loopback, client: httpx2.Client, fault: str | None) -> list[Any]:
    """Submit, poll at most five times, fetch up to three links; what was met on the way."""
    task = submitted(server, client, fault)
    met: list[Any] = ["no cost"] if "cost" not in task else []
    if not str(task.get("polling_url")).startswith(server.origin):
        return [*met, "foreign polling_url" if "polling_url" in task else "no polling_url"]
    for _ in range(5):
        try:
            answer = client.get(task["polling_url"])
        except httpx2.RemoteProtocolError as error:
            met.append(type(error).__name__)
            continue
        status = answer.json().get("status")
        met.append(status if answer.status_code == 200 else f"{answer.status_code} {status}")
        if status == "Ready":
            try:
                met.append(client.get(answer.json()["result"]["sample"]).status_code)
            except (httpx2.RemoteProtocolError, httpx2.InvalidURL) as error:
                met.append(type(error).__name__)
            except KeyError:
                met.append("no sample")
        if met[-1] in (200, "no sample") or len(met) == 7 or status not in (None, "Pending", "Reasoning", "Ready"):
            break
    return met


@cases(WALKS)
def test_a_task_takes_the_course_its_fault_names(
    server: Loopback, client: httpx2.Client, fault: Fault, kind: Kind
) -> None:
    assert kind == Kind.SUBMIT
    assert walk(server, client, fault.name) == WALKS[fault.name]


def test_a_healthy_task_is_pending_then_ready_then_there(server: Loopback, client: httpx2.Client) -> None:
    assert walk(server, client, None) == ["Pending", "Ready", 200]


@cases(STREAMS)
def test_a_broken_stream_ends_without_a_reason(
    server: Loopback, client: httpx2.Client, fault: Fault, kind: Kind
) -> None:
    text = asked(server, client, fault.name, kind).text
    assert "[DONE]" not in text
    assert '"finish_reason": "stop"' not in text
    assert ('"code": 502' in text) == (fault.name == "stream_error")
    assert text.rstrip().endswith('{"id": "gen') == (fault.name == "stream_bad_chunk")


def test_a_fault_that_does_not_fit_its_request_is_said_so(server: Loopback, client: httpx2.Client) -> None:
    answer = asked(server, client, "bfl_pending", Kind.CHAT)
    assert (answer.status_code, "does not fit" in answer.text) == (400, True)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS.values(), ids=lambda fault: fault.name)
def test_the_reaction_and_the_status_of_a_row_agree(fault: Fault) -> None:
    if fault.reaction in (Reaction.ACCEPTED, Reaction.STOPS):
        assert fault.status == Status.OK
    elif fault.reaction == Reaction.RECORDED:
        assert fault.status != Status.OK
    else:
        assert (fault.status == Status.OK) == fault.name.endswith("_once")
    assert fault.where


def test_polling_again_gives_a_fresh_link(server: Loopback, client: httpx2.Client) -> None:
    task = submitted(server, client)
    first, second = (polled(client, task)["result"]["sample"] for _ in range(2))
    assert first != second
    assert client.get(first).content == client.get(second).content
