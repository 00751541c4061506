"""What an OpenAI-style answer says (OpenRouter's additions included), or the fault it hides behind HTTP 200."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from cfeval.core.records import Status
from cfeval.inference.chat import Step, is_logprob
from cfeval.inference.remote.faults import Fault, as_dict, of_error, of_status, record, retry
from cfeval.inference.remote.finish_reasons import Ending, finish
from cfeval.inference.remote.images import of_base64, of_data_url
from cfeval.inference.remote.provider_table import same_model
from cfeval.inference.remote.request import Response, Usage

# How often an empty answer is asked for again; it was paid for each time.
EMPTY_TRIES = 3
# A larger count of tokens is none.
MOST = 2**53


@dataclass(frozen=True)
class Completion:
    """An answer's JSON: what was asked of whom, what came, and the model that answered, as it names itself, if so."""

    body: dict[str, Any]
    asked: str
    accepted: Sequence[str]
    usage: Usage
    served: str = ""

    def record(self, kind: str, status: Status, reason: str, **more: Any) -> Fault:
        """A fault that stands."""
        return record(kind, status, reason, usage=self.usage, sent=True, raw=without_images(self.body), **more)

    def retry(self, kind: str, reason: str, **more: Any) -> Fault:
        """A fault that may pass."""
        return retry(kind, reason, usage=self.usage, sent=True, raw=without_images(self.body), **more)

    def reply(self, text: str, image: bytes | None = None) -> Response:
        """A good one."""
        return Response(
            text=text, model=self.served or self.asked, image=image, usage=self.usage, raw=without_images(self.body)
        )


def chat_reply(
    body: Any,
    asked: str,
    accepted: Sequence[str],
    key_env: str,
    image: bool = False,
    finish_reasons: tuple[str, ...] = (),
    tools: bool = False,
) -> Response | Fault:
    """Read a chat completion.

    Args:
        body: the answer's JSON.
        asked: the model asked for.
        accepted: further names under which it may be served.
        key_env: see `of_status`.
        image: an image is wanted, not a text.
        finish_reasons: further finish reasons of a whole answer.
        tools: the model was given tools, so that an answer may be nothing but calls of them.
    """
    fields = as_dict(body)
    answer = Completion(fields, asked, accepted, usage_of(fields), str(fields.get("model") or ""))
    return reply_of(answer, _choice(fields), key_env, image, finish_reasons, tools)


def tool_calls(body: Any) -> list[tuple[str, str, str]]:
    """The calls of tools in a chat completion: id, name and arguments (JSON) of each that has a name."""
    calls = _dicts(as_dict(_choice(as_dict(body)).get("message")).get("tool_calls"))
    functions = [(str(call.get("id") or ""), as_dict(call.get("function"))) for call in calls]
    return [
        (call_id, function["name"], str(function.get("arguments") or "{}"))
        for call_id, function in functions
        if isinstance(function.get("name"), str)
    ]


def token_steps(body: Any) -> list[Step]:
    """What a model says token by token, each with the log-probabilities of the likeliest in its place.

    See platform.openai.com/docs/api-reference/chat/object: `choices[].logprobs.content[].top_logprobs[]`; of Responses
    `output[].content[].logprobs[]` of the same form. The token that was said counts among them; what has no number is
    left out.
    """
    content = _dicts(as_dict(_choice(as_dict(body)).get("logprobs")).get("content"))
    content += [step for part in _output(as_dict(body)) for step in _dicts(part.get("logprobs"))]
    return [
        (
            str(step.get("token") or ""),
            tuple(
                (str(each["token"]), float(each["logprob"]))
                for each in (step, *_dicts(step.get("top_logprobs")))
                if isinstance(each.get("token"), str) and is_logprob(each.get("logprob"))
            ),
        )
        for step in content
    ]


def _output(body: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of what a model says by OpenAI's Responses, reasoning aside."""
    messages = [item for item in _dicts(body.get("output")) if item.get("type") == "message"]
    return [part for item in messages for part in _dicts(item.get("content"))]


def responses_reply(
    body: Any,
    asked: str,
    accepted: Sequence[str],
    key_env: str,
    finish_reasons: tuple[str, ...] = (),
    tools: bool = False,
) -> Response | Fault:
    """Read an answer of OpenAI's Responses; for the arguments see `chat_reply`."""
    fields = as_dict(body)
    answer = Completion(fields, asked, accepted, usage_of(fields), str(fields.get("model") or ""))
    return reply_of(answer, responses_choice(fields), key_env, False, finish_reasons, tools)


def responses_choice(body: Any) -> dict[str, Any]:
    """An answer of OpenAI's Responses as the choice of a chat completion, calls of tools included."""
    fields = as_dict(body)
    parts = _output(fields)
    refusal = "".join(str(part.get("refusal")) for part in parts if part.get("type") == "refusal")
    calls = [item for item in _dicts(fields.get("output")) if item.get("type") == "function_call"]
    message = {
        "content": [part for part in parts if part.get("type") == "output_text"],
        "refusal": refusal,
        "tool_calls": [{"id": call.get("call_id"), "function": call} for call in calls],
    }
    word = as_dict(fields.get("incomplete_details")).get("reason") or fields.get("status")
    return {"finish_reason": word, "message": message}


def reply_of(
    answer: Completion,
    choice: dict[str, Any],
    key_env: str,
    image: bool,
    finish_reasons: tuple[str, ...],
    tools: bool = False,
) -> Response | Fault:
    """Read a choice as a chat completion has them, whatever protocol its parts came by; see `chat_reply`."""
    ending, word = finish(choice, finish_reasons)
    fault = _error(answer, choice, key_env) or _unusable(answer, choice, ending, word)
    if fault is not None:
        # The image of another model is not kept: where the model is accepted later, it must be asked again.
        return replace(fault, final=False) if image and fault.kind == "wrong_model" else fault
    message = as_dict(choice.get("message"))
    if tools and tool_calls({"choices": [choice]}):
        return answer.reply(_content(message))
    if ending is Ending.OTHER:
        # An ending that is not known to be a good one: the text is kept, and not taken for an answer.
        reason = f"it ended by '{word}', which no whole answer is known to end by"
        text = _content(message)
        if not text.strip() and not (image and message.get("images")):
            status = Status.NO_IMAGE if image else Status.UNPARSABLE
            return answer.retry("finish_reason", f"{reason}, and is empty", tries=EMPTY_TRIES, status=status)
        reason += "; name it in accept_finish_reasons if it is meant"
        return answer.record("finish_reason", Status.UNPARSABLE, reason, text=text, final=not image)
    return _image(answer, message) if image else _text(answer, ending, _content(message))


def images_reply(body: Any, asked: str, key_env: str) -> Response | Fault:
    """Read an answer of the images endpoints: the last image, as base64; for the arguments see `chat_reply`."""
    answer = Completion(as_dict(body), asked, (), usage_of(body), str(as_dict(body).get("model") or ""))
    fault = _error(answer, {}, key_env)
    if fault is not None:
        return fault
    data = answer.body.get("data")
    if not isinstance(data, list):
        return answer.retry("no_data", "the answer holds no list of images")
    images = _dicts(data)
    if not images:
        return _none(answer, "")
    if not isinstance(images[-1].get("b64_json"), str):
        return answer.record("no_image", Status.NO_IMAGE, "the provider sent no image, but an address or nothing")
    return _decoded(answer, of_base64(images[-1]["b64_json"]), "")


def images_in(body: Any) -> int:
    """How many images an answer holds: drafts may come before the final one, which is the last."""
    fields = as_dict(body)
    data = fields.get("data")
    return len(_dicts(data if isinstance(data, list) else as_dict(_choice(fields).get("message")).get("images")))


def _choice(body: dict[str, Any]) -> dict[str, Any]:
    choices = body.get("choices")
    return as_dict(choices[0]) if isinstance(choices, list) and choices else {}


def _error(answer: Completion, choice: dict[str, Any], key_env: str) -> Fault | None:
    """An error that came with HTTP 200; it is what it would be with the status in its code."""
    error = answer.body.get("error") or choice.get("error")
    if not error:
        return None
    code = str(as_dict(error).get("code"))
    body = {"error": error}
    fault = of_status(int(code), {}, body, key_env) if re.fullmatch("[45][0-9][0-9]", code) else of_error(body, key_env)
    return fault and replace(fault, usage=answer.usage, sent=True)


def _unusable(answer: Completion, choice: dict[str, Any], ending: Ending | None, word: str) -> Fault | None:
    """Why there is nothing to read in an answer, whatever was wanted."""
    message = as_dict(choice.get("message"))
    if ending is Ending.BROKEN_OFF:
        return answer.retry("provider", f"the provider broke off ({word})")
    if message.get("refusal"):
        return answer.record("refused", Status.REFUSED, str(message["refusal"]))
    if ending is Ending.REFUSED:
        return answer.record("refused", Status.REFUSED, _content(message) or f"the model refused ({word})")
    if ending is Ending.MODERATED:
        return answer.record("moderated", Status.MODERATED, f"the provider's filter stopped the answer ({word})")
    if ending is Ending.TRUNCATED:
        return answer.record("truncated", Status.TRUNCATED, f"cut off at a limit on tokens ({word}); raise max_tokens")
    if ending is not Ending.OTHER and not isinstance(choice.get("message"), dict):
        return answer.retry("no_choice", "the answer holds no choice with a message")
    if answer.served and not same_model(answer.asked, answer.served, answer.accepted):
        reason = f"{answer.served} answered, not {answer.asked}; name it in accept_models if it is meant"
        return answer.record("wrong_model", Status.WRONG_MODEL, reason)
    return None


def _text(answer: Completion, ending: Ending | None, text: str) -> Response | Fault:
    if ending is None:
        reason = 'the answer does not say how it ended; name "null" in accept_finish_reasons if the server never does'
        more = {"tries": EMPTY_TRIES, "status": Status.UNPARSABLE, "text": text, "final": bool(text.strip())}
        return answer.retry("unfinished", reason, **more)
    if not text.strip():
        return answer.retry("empty", "the answer is empty", tries=EMPTY_TRIES, status=Status.UNPARSABLE)
    return answer.reply(text)


def _image(answer: Completion, message: dict[str, Any]) -> Response | Fault:
    images = _dicts(message.get("images"))
    text = _content(message)
    if not images:
        return _none(answer, text)
    made = replace(answer, usage=replace(answer.usage, images=len(images)))
    return _decoded(made, of_data_url(str(as_dict(images[-1].get("image_url")).get("url"))), text)


def _none(answer: Completion, text: str) -> Fault:
    excerpt = f", but {' '.join(text.split())[:120]!r}" if text.strip() else ""
    return answer.retry("no_image", f"no image came back{excerpt}", tries=EMPTY_TRIES, status=Status.NO_IMAGE)


def _decoded(answer: Completion, image: bytes | Fault, text: str) -> Response | Fault:
    if isinstance(image, Fault):
        return replace(image, usage=answer.usage, raw=without_images(answer.body))
    return answer.reply(text, image)


def fault_as_reply(fault: Fault) -> Response:
    """The reply of a call whose last attempt ended with this fault."""
    return Response(
        status=fault.status,
        reason=" ".join(fault.reason.split()),
        text=fault.text,
        usage=fault.usage or Usage(),
        final=fault.final,
        raw=fault.raw,
    )


def usage_of(body: Any) -> Usage:
    """What a completion used; 0 where the answer does not say.

    Gemini counts what it thinks in the total only, and charges for it as output.
    """
    usage = as_dict(as_dict(body).get("usage"))
    read = count(usage.get("prompt_tokens") or usage.get("input_tokens"))
    written = count(usage.get("completion_tokens") or usage.get("output_tokens"))
    written = max(written, count(usage.get("total_tokens")) - read)
    apart = as_dict(usage.get("prompt_tokens_details") or usage.get("input_tokens_details"))
    return Usage(read, written, cost_usd=cost_of(usage.get("cost")), image_tokens=count(apart.get("image_tokens")))


def cost_of(value: Any, unit: float = 1.0) -> float | None:
    """A cost as a provider states it, in USD; None where it states none that can be one."""
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST and math.isfinite(value):
        return value * unit
    return None


def without_images(content: Any) -> Any:
    """JSON in which every image's `data:` URL and every long base64 text is replaced by its length."""
    if isinstance(content, dict):
        if content.get("type") == "redacted_thinking":
            return content
        return {name: value if name in _SIGNED else without_images(value) for name, value in content.items()}
    if isinstance(content, list):
        return [without_images(value) for value in content]
    if isinstance(content, str) and (content.startswith("data:image/") or _BASE64.match(content)):
        return f"({len(content)} characters)"
    return content


# What providers sign or encrypt of a model's thoughts, and want back as it was with the results of tools.
_SIGNED = ("signature", "thoughtSignature", "encrypted_content")
_BASE64 = re.compile(r"[A-Za-z0-9+/=_\-]{500}")


# Types of the parts that are the answer; others are thoughts (`thinking`, `reasoning`), whatever they hold.
_OF_TEXT = ("text", "output_text")


def _content(message: dict[str, Any]) -> str:
    """The text of a message; what stands in `reasoning_content` or `reasoning` beside it is no answer."""
    content = message.get("content")
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in _dicts(content) if part.get("type", "text") in _OF_TEXT)
    return content if isinstance(content, str) else ""


def count(value: Any) -> int:
    """A count of tokens, 0 where it is none; some servers write whole numbers as floats."""
    whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if whole and not isinstance(value, bool) and 0 <= value < MOST else 0


def _dicts(value: Any) -> list[dict[str, Any]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []
