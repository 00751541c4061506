"""Writers and judges of every protocol through a provider's protocol: what the server is sent, and what comes of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.config import Calls
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.edct.interfaces import Change, WriteRequest
from cfeval.edct.protocols.rules import EDCT_BENCH_2026, RULES, UNCITED_EDIT
from cfeval.inference.remote.cache import ResponseCache
from cfeval.inference.remote.settings import VARIABLE
from tests.answers import answers
from tests.edct.plugins.judging import PHOTO, request
from tests.loopback.image_files import from_base64
from tests.loopback.server import loopback
from tests.loopback.site import Loopback

EXPLAINED = "It is the red colour of the car."
WRITTEN = [protocol for protocol, rules in RULES.items() if rules.written]


@pytest.fixture(scope="module")
def running() -> Iterator[Loopback]:
    with loopback(key="k") as server:
        yield server


@pytest.fixture
def server(running: Loopback, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Loopback:
    """The server, with a cache that is empty."""
    monkeypatch.setenv(VARIABLE, Calls(cache=str(tmp_path / "calls.sqlite")).model_dump_json())
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    running.reset()
    return running


def built(server: Loopback, family: str, model: str, schema: bool, **options: Any) -> Any:
    """A plugin over a model of the server, which enforces a schema or answers in free text."""
    where = {
        "provider": "openrouter",
        "base_url": server.openrouter,
        "key_env": "OPENROUTER_API_KEY",
        "json_schema": schema,
    }
    return registry.build(
        family, {"plugin": "chat", "model": {"plugin": "openai", "model": f"lab/{model}"} | where} | options
    )


def images(body: Any) -> list[str]:
    """The hashes of a request's images."""
    contents = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    urls = [part["image_url"]["url"] for parts in contents for part in parts if part["type"] == "image_url"]
    return [Image(from_base64(url)).sha256 for url in urls]


@pytest.mark.parametrize("schema", [True, False], ids=["schema", "text"])
@pytest.mark.parametrize("protocol", WRITTEN)
def test_a_writer_writes_for_every_protocol(server: Loopback, protocol: str, schema: bool) -> None:
    several = 1 if protocol == "edct-2025" else 2
    image = PHOTO if protocol == UNCITED_EDIT else None
    asked = WriteRequest("i", "What is it?", "A car.", EXPLAINED, 1, several, protocol, image)
    [reply] = answers(built(server, "instruction_writers", "writer", schema).write, [asked])
    assert reply.status == Status.OK, reply.reason
    assert len(reply.edits) == several
    assert {edit.evidence for edit in reply.edits} == ({"object"} if image else {""})
    [sent] = [entry.payload for entry in server.log]
    assert images(sent) == ([PHOTO.sha256] if image else [])
    assert sent["max_tokens"] == (4096 if protocol == EDCT_BENCH_2026 else 2048)
    assert ("response_format" in sent) == schema


@pytest.mark.parametrize("schema", [True, False], ids=["schema", "text"])
@pytest.mark.parametrize("protocol", RULES)
def test_a_judge_judges_by_every_protocol(server: Loopback, protocol: str, schema: bool) -> None:
    asked = request(protocol=protocol)
    if RULES[protocol].chained:
        asked = request(protocol=protocol, changes=(Change("One."), Change("Two.", "one")))
    [reply] = answers(built(server, "judges", "judge", schema).judge, [asked])
    assert reply.status == Status.OK, reply.reason
    assert tuple(reply.scores) == RULES[protocol].scores
    assert (reply.grade is not None) == RULES[protocol].graded
    sent = [entry.payload for entry in server.log]
    assert [body["max_tokens"] for body in sent] == ([4096, 8192] if RULES[protocol].graded else [2048])
    assert not [image for body in sent for image in images(body)]


def test_more_samples_send_only_what_is_missing(server: Loopback, tmp_path: Path) -> None:
    asked = request(protocol=EDCT_BENCH_2026)
    [one] = answers(built(server, "judges", "judge", True).judge, [asked])
    server.reset()
    [three] = answers(built(server, "judges", "judge", True, votes=3).judge, [asked])
    assert len(server.log) == 4, "scores and grades of the second and the third sample"
    assert three.calls[:2] == one.calls
    cache = ResponseCache(tmp_path / "calls.sqlite")
    assert cache.counts() == {"lab/judge": (6, 0)}
    cache.close()
