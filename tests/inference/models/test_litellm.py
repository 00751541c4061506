"""Models behind LiteLLM: its own retries are off, and its answers and errors end as any others do."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cfeval.core import registry
from cfeval.core.config import Calls
from cfeval.core.errors import PluginError
from cfeval.core.records import Status
from cfeval.inference.chat import ChatMessage, ChatReply, ChatRequest
from cfeval.inference.remote import rate_limit
from cfeval.inference.remote.settings import use
from tests.answers import answers
from tests.images import image
from tests.inference.models.scripted import Scripted, scripted

KEY = "sk-canary-77aa01"
PHOTO = image(40, (8, 6))

pytestmark = pytest.mark.slow


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scripted]:
    monkeypatch.setenv("A_KEY", KEY)
    monkeypatch.setenv("CFEVAL_CALLS", "")
    monkeypatch.setattr(rate_limit, "_BACK_OFF", 0.005)
    use(Calls(cache=str(tmp_path / "calls.sqlite"), max_retries=1))
    with scripted() as server:
        yield server


def completion(reason: str = "stop") -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", "content": "A cat."}, "finish_reason": reason}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    return {"id": "x", "object": "chat.completion", "created": 1, "model": "x", "choices": [choice], "usage": usage}


def ask(server: Scripted, provider: str, text: str) -> ChatReply:
    spec = {"plugin": "litellm", "model": f"{provider}/x", "base_url": f"{server.origin}/v1", "key_env": "A_KEY"}
    request = ChatRequest("i1", (ChatMessage("user", text, PHOTO),), 7)
    [reply] = answers(registry.build("chat", spec).generate, [request])
    return reply


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("provider", ["openai", "mistral"])
def test_litellm_carries_calls_and_decides_nothing(server: Scripted, provider: str) -> None:
    server.say(completion())
    reply = ask(server, provider, "Good?")
    assert (reply.text, reply.status, len(server.log)) == ("A cat.", Status.OK, 1), reply.reason
    assert server.log[0].headers["authorization"] == f"Bearer {KEY}"
    for reason, status in (("length", Status.TRUNCATED), ("brand_new", Status.UNPARSABLE)):
        server.say(completion(reason))
        assert ask(server, provider, reason).status == status
        assert len(server.log) == 1
    server.say((429, {"error": {"message": "slow down"}}, {}), completion())
    assert ask(server, provider, "429?").status == Status.OK
    assert len(server.log) == 2
    server.say((500, {"error": {"message": "boom"}}, {}))
    assert ask(server, provider, "500?").status == Status.TRANSPORT_ERROR
    assert len(server.log) == 2, "both attempts are ours"
    server.say((400, {"error": {"message": "bad field"}}, {}))
    assert ask(server, provider, "400?").status == Status.REJECTED
    server.say((401, {"error": {"message": f"bad {KEY}"}}, {}))
    with pytest.raises(PluginError, match="A_KEY") as caught:
        ask(server, provider, "401?")
    assert KEY not in str(caught.value)
