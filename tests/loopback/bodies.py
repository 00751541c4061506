"""Healthy answers as each provider words them. Costs in US dollars; those of BFL in credits (a cent each)."""

from collections.abc import Mapping
from math import log
from typing import Any

from tests.loopback.conversation import Conversation

USD_PER_TOKEN = 1e-6
USD_PER_IMAGE = 0.04
CREDITS = {"flux-kontext-max": 8.0, "flux-kontext-pro": 4.0}
"""Credits an edit costs; models not named here cost 5."""
CREDIT_LIMIT = 1000.0
IMAGE_TOKENS = 85
"""Tokens counted for an image that comes in."""
CREATED = 1_760_000_000
"""The time every answer claims, so that equal requests get equal bytes."""


def tokens(conversation: Conversation, reply: str) -> dict[str, int]:
    """Token counts: a quarter of the characters, and a fixed figure an image."""
    asked = len(conversation.text) // 4 + IMAGE_TOKENS * len(conversation.images)
    said = len(reply) // 4 + 1
    return {"prompt_tokens": asked, "completion_tokens": said, "total_tokens": asked + said}


def completion(conversation: Conversation, reply: str) -> dict[str, Any]:
    """A chat completion as OpenAI, vLLM and Gemini word it: token counts, no cost."""
    message = {"role": "assistant", "content": reply, "refusal": None}
    told = _logprobs(conversation, reply)
    return {
        "id": f"chatcmpl-{conversation.digest[:24]}",
        "object": "chat.completion",
        "created": CREATED,
        "model": conversation.model,
        "system_fingerprint": None,
        "choices": [{"index": 0, "logprobs": told, "finish_reason": "stop", "message": message}],
        "usage": tokens(conversation, reply),
    }


class Weighed(str):
    """A reply with the probabilities of the words with which it could have begun."""

    __slots__ = ("weights",)
    weights: Mapping[str, float]

    def __new__(cls, text: str, weights: Mapping[str, float]) -> "Weighed":
        made = super().__new__(cls, text)
        made.weights = weights
        return made


def _logprobs(conversation: Conversation, reply: str) -> dict[str, Any] | None:
    """Word by word, as OpenAI has it: of a reply without weights each word is certain."""
    if not conversation.top_logprobs:
        return None
    first, *rest = reply.split(" ")
    words = [first, *(f" {word}" for word in rest)]
    told = [dict(reply.weights) if place == 0 and isinstance(reply, Weighed) else {} for place in range(len(words))]
    steps = []
    for word, weights in zip(words, told, strict=True):
        ranked = sorted((weights or {word: 1.0}).items(), key=lambda one: -one[1])
        tokens = [{"token": w, "logprob": log(p), "bytes": list(w.encode())} for w, p in ranked]
        said = {"token": word, "logprob": log(weights.get(word, 1.0)), "bytes": list(word.encode())}
        steps.append({**said, "top_logprobs": tokens[: conversation.top_logprobs]})
    return {"content": steps, "refusal": None}


def routed(body: dict[str, Any], images: list[str] | None) -> dict[str, Any]:
    """The same as OpenRouter words it: the provider that served it, what it cost, and images as data URLs."""
    choice, usage = body["choices"][0], body["usage"]
    choice["native_finish_reason"] = choice["finish_reason"]
    cost = usage["total_tokens"] * USD_PER_TOKEN
    if images is not None:
        choice["message"]["images"] = [{"type": "image_url", "image_url": {"url": url}} for url in images]
        cost += USD_PER_IMAGE * len(images)
    usage |= {"cost": round(cost, 9), "is_byok": False, "cost_details": {"upstream_inference_cost": None}}
    return {**body, "id": body["id"].replace("chatcmpl", "gen"), "provider": "Loopback"}


def images_reply(images: list[str], *, priced: bool) -> dict[str, Any]:
    """Edited images in base64 as the images endpoints word it; only OpenRouter's states a cost."""
    usage: dict[str, Any] = {"input_tokens": 100, "output_tokens": 4000, "total_tokens": 4100}
    if priced:
        usage["cost"] = USD_PER_IMAGE * len(images)
    return {"created": CREATED, "data": [{"b64_json": text} for text in images], "usage": usage}


def submitted(task: str, polling_url: str, model: str) -> dict[str, Any]:
    """What BFL answers to a submitted edit."""
    return {"id": task, "polling_url": polling_url, "cost": credits_of(model), "input_mp": 1.0, "output_mp": 1.0}


def credits_of(model: str) -> float:
    """What an edit by a model of BFL costs, in credits."""
    return CREDITS.get(model, 5.0)


def progress(task: str, status: str, **more: Any) -> dict[str, Any]:
    """What BFL answers to a poll."""
    return {"id": task, "status": status, "result": None, "progress": None, "details": None, **more}


def models(names: list[str], takes: list[str] | None) -> dict[str, Any]:
    """The list of models; prices as OpenRouter words them, in US dollars per token, and the parameters they take."""
    price = {"prompt": f"{USD_PER_TOKEN:.6f}", "completion": f"{USD_PER_TOKEN:.6f}"}
    served = [{"id": name, "object": "model", "created": CREATED, "owned_by": "loopback"} for name in names]
    more = {"pricing": price} | ({} if takes is None else {"supported_parameters": takes})
    return {"object": "list", "data": [{**model, **more} for model in served]}


def key_info(spent: float, limit: float | None) -> dict[str, Any]:
    """What OpenRouter tells about a key, which may have no limit of its own."""
    left = None if limit is None else limit - spent
    return {
        "data": {
            "label": "loopback",
            "limit": limit,
            "limit_remaining": left,
            "usage": spent,
            "is_free_tier": False,
        }
    }


def credit_info(spent: float) -> dict[str, Any]:
    """What OpenRouter tells about the account."""
    return {"data": {"total_credits": CREDIT_LIMIT, "total_usage": spent}}


def error(code: int, message: str, **metadata: Any) -> dict[str, Any]:
    """An error as OpenRouter words it."""
    return {"error": {"code": code, "message": message, **({"metadata": metadata} if metadata else {})}}


def openai_error(message: str, kind: str, code: str | None = None) -> dict[str, Any]:
    """An error as OpenAI words it."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def google_error(message: str, *details: dict[str, Any], code: int = 400) -> list[dict[str, Any]]:
    """An error of Gemini's OpenAI-compatible path: a list of one."""
    status = "INVALID_ARGUMENT" if code == 400 else "NOT_FOUND"
    return [{"error": {"code": code, "message": message, "status": status, "details": list(details)}}]
