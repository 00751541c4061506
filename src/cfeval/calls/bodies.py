"""What a chat completion says (OpenAI's protocol, OpenRouter's additions), or the fault it hides behind HTTP 200."""

import re
from collections.abc import Sequence
from typing import Any

from cfeval.calls.call import Reply, Usage
from cfeval.calls.faults import Fault, of_status, record, retry
from cfeval.calls.images import of_data_url
from cfeval.records.common import Status

EMPTY_TRIES = 3
"""How often an empty answer is asked for again; it was paid for each time."""
_SNAPSHOT = re.compile(r"[-@](\d{2,8}|latest|main)(-\d+)*(-preview)?$")
"""What a provider adds to the name of the model asked for: a date, a revision."""


def chat_reply(body: Any, asked: str, accepted: Sequence[str], key_env: str, image: bool = False) -> Reply | Fault:
    """Read a chat completion.

    Args:
        body: the answer's JSON.
        asked: the model asked for.
        accepted: further names under which it may be served.
        key_env: see `of_status`.
        image: an image is wanted, not a text.
    """
    usage = usage_of(body)
    fault = _hidden_error(body, usage, key_env)
    if fault is not None:
        return fault
    choice = body["choices"][0]
    message = _dict(choice.get("message"))
    served = str(body.get("model") or "")
    paid = {"usage": usage, "sent": True, "raw": without_images(body)}
    if message.get("refusal"):
        return record("refused", Status.REFUSED, str(message["refusal"]), **paid)
    if choice.get("finish_reason") == "content_filter" or "SAFETY" in str(choice.get("native_finish_reason")).upper():
        return record("moderated", Status.MODERATED, "the provider's filter stopped the answer", **paid)
    if served and not same_model(asked, served, accepted):
        reason = f"{served} answered, not {asked}; name it in accept_models if it is meant"
        return record("wrong_model", Status.WRONG_MODEL, reason, **paid)
    if image:
        return _image(message, served, paid)
    return _text(choice, _content(message), served, paid)


def _hidden_error(body: Any, usage: Usage, key_env: str) -> Fault | None:
    """An error that came with HTTP 200, or an answer without a choice."""
    choices = _dict(body).get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else None
    error = _dict(body).get("error") or _dict(choice).get("error")
    if error:
        code = _dict(error).get("code")
        status = code if isinstance(code, int) and code >= 400 else 500
        return of_status(status, {}, {"error": error}, key_env)
    if choice is None:
        return retry("empty", "the answer holds no choice", sent=True, usage=usage)
    if choice.get("finish_reason") == "error":
        return retry("provider", "the provider broke off", sent=True, usage=usage)
    return None


def _text(choice: dict[str, Any], text: str, served: str, paid: dict[str, Any]) -> Reply | Fault:
    finish = choice.get("finish_reason")
    if finish == "length":
        return record("truncated", Status.TRUNCATED, "cut off at max_tokens; raise it", **paid)
    if finish is None:
        return retry("unfinished", "the answer does not say how it ended", **paid)
    if not text.strip():
        return retry("empty", "the answer is empty", tries=EMPTY_TRIES, status=Status.UNPARSABLE, **paid)
    return Reply(text=text, model=served, usage=paid["usage"], raw=paid["raw"])


def _image(message: dict[str, Any], served: str, paid: dict[str, Any]) -> Reply | Fault:
    images = [part for part in message.get("images") or [] if isinstance(part, dict)]
    if len(images) != 1:
        said = " ".join(_content(message).split())[:120]
        what = f"{len(images)} images came back" if images else f"no image came back, but {said!r}"
        return retry("no_image", what, tries=EMPTY_TRIES, status=Status.NO_IMAGE, **paid)
    content = of_data_url(str(_dict(images[0].get("image_url")).get("url")))
    if isinstance(content, Fault):
        return content
    return Reply(text=_content(message), model=served, image=content, usage=paid["usage"], raw=paid["raw"])


def fault_as_reply(fault: Fault) -> Reply:
    """The reply of a call whose last attempt ended with this fault."""
    return Reply(
        status=fault.status,
        reason=" ".join(fault.reason.split()),
        usage=fault.usage or Usage(),
        final=fault.final,
        raw=fault.raw,
    )


def same_model(asked: str, served: str, accepted: Sequence[str]) -> bool:
    """Whether a served model is the one asked for: the same name, or that name with a snapshot's date."""
    names = {_bare(name) for name in (asked, *accepted)}
    given = _bare(served)
    return given in names or _SNAPSHOT.sub("", given) in names or given in {name.rpartition("/")[2] for name in names}


def _bare(name: str) -> str:
    """A model's name without Gemini's prefix and without OpenRouter's routing suffix."""
    return name.removeprefix("models/").partition(":")[0].lower()


def usage_of(body: Any) -> Usage:
    """What a completion used; 0 where the answer does not say."""
    said = _dict(_dict(body).get("usage"))
    cost = said.get("cost")
    return Usage(
        input_tokens=_count(said.get("prompt_tokens") or said.get("input_tokens")),
        output_tokens=_count(said.get("completion_tokens") or said.get("output_tokens")),
        cost_usd=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
    )


def without_images(content: Any) -> Any:
    """JSON in which every `data:` URL and every long base64 text is replaced by its length."""
    if isinstance(content, dict):
        return {name: without_images(value) for name, value in content.items()}
    if isinstance(content, list):
        return [without_images(value) for value in content]
    if isinstance(content, str) and len(content) > 500 and (content.startswith("data:") or " " not in content[:500]):
        return f"({len(content)} characters)"
    return content


def _content(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return content if isinstance(content, str) else ""


def _count(value: Any) -> int:
    return value if isinstance(value, int) and value >= 0 else 0


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
