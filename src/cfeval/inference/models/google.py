"""Gemini by Google's own protocol, by the `google-genai` package (extra `google`).

Unlike Gemini's path for the OpenAI protocol it takes a seed, and says why an answer was stopped.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import chain, repeat
from typing import IO, Any, ClassVar

from pydantic import Field

from cfeval.core.images import Image
from cfeval.core.registry import Diagnostic
from cfeval.inference.chat import MOST, ChatReply, ChatRequest, Step, ToolCall, is_logprob, scored
from cfeval.inference.models.hosted import HostedChat, HostedPlugin, Shown
from cfeval.inference.remote import sdks
from cfeval.inference.remote.batch_account import (
    CANCELLED,
    EXPIRED,
    MISSING,
    BatchAccount,
    entries,
    named,
    size_of,
    submitted,
    whole,
)
from cfeval.inference.remote.batches import BatchApi, Progress
from cfeval.inference.remote.cache_db import Sought
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import Fault, as_dict
from cfeval.inference.remote.http import Endpoint
from cfeval.inference.remote.openai_api import Completion, count, reply_of, tool_calls
from cfeval.inference.remote.provider_table import PROVIDERS, Provider
from cfeval.inference.remote.providers import joined
from cfeval.inference.remote.request import Response, Usage
from cfeval.inference.remote.sdks import google
from cfeval.inference.thinking import Effort

# How the ids begin that are ours, of calls that Gemini gave none.
_UNNAMED = "call-"
# What was written, thoughts included: ai.google.dev/api/generate-content#UsageMetadata.
WRITTEN = ("candidatesTokenCount", "thoughtsTokenCount")


class Plugin(HostedPlugin):
    """How to reach and ask the model."""

    OWN: ClassVar[tuple[str, ...]] = ("model", "contents")
    EFFORTS: ClassVar[tuple[Effort, ...]] = ("minimal", "low", "medium", "high")

    takes_tools: ClassVar[bool] = True

    json_schema: bool = True
    """Whether the server is asked to enforce a schema."""
    seed: bool = True
    """Whether a seed is sent."""
    logprobs: int | None = Field(None, ge=1, le=MOST)
    """See the plugin `openai`; not every model gives log-probabilities (the others refuse the call)."""

    @property
    def rules(self) -> Provider:
        """The provider's rules."""
        return PROVIDERS["google"]

    def diagnose(self) -> Iterator[Diagnostic]:
        """Package and key; a room for thoughts that is too small."""
        yield Diagnostic(*sdks.ready("google.genai", self.endpoint))
        yield from self.about_thoughts()

    def thinking(self) -> dict[str, Any]:
        """How a request says how much is to be thought: a level (Gemini 3), or a budget (Gemini 2.5, where 0 is none).

        See ai.google.dev/gemini-api/docs/thinking.
        """
        if self.effort:
            return {"thinkingConfig": {"thinkingLevel": self.effort.upper()}}
        return {} if self.thinking_tokens is None else {"thinkingConfig": {"thinkingBudget": self.thinking_tokens}}

    def build(self) -> "Google":
        """The model; offline neither package nor key is needed."""
        return Google(self)


class Google(HostedChat):
    """A chat model behind Gemini's `generateContent`."""

    api = "google"

    def _fields(self, request: ChatRequest) -> dict[str, Any]:
        options = self.options
        sampling = {"topP" if name == "top_p" else name: value for name, value in options.sampling().items()}
        config: dict[str, Any] = {"maxOutputTokens": options.limit(request), **sampling, **options.thinking()}
        if options.seed:
            config["seed"] = request.seed
        if options.logprobs and len(request.turns) == 1:
            config |= {"responseLogprobs": True, "logprobs": options.logprobs}
        if request.schema and options.json_schema:
            config |= {"responseMimeType": "application/json", "responseJsonSchema": dict(request.schema)}
        fields: dict[str, Any] = {"generationConfig": config}
        if request.tools:
            named = [
                {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
                for tool in request.tools
            ]
            fields["tools"] = [{"functionDeclarations": named}]
        return {"model": options.model, **joined(fields, options.extra)}

    def _messages(self, turns: Sequence[Shown], encode: Callable[[Image], str]) -> dict[str, Any]:
        names: dict[str, str] = {}
        messages: list[dict[str, Any]] = []
        for number, turn in enumerate(turns):
            names |= {call.id: call.name for call in turn.tool_calls}
            if turn.role != "tool":
                messages.append(_content(turn, encode))
                continue
            response = {"name": names.get(turn.answers, ""), "response": {"result": turn.text}}
            own = {} if turn.answers.startswith(_UNNAMED) else {"id": turn.answers}
            part = {"functionResponse": {**own, **response}}
            if turns[number - 1].role == "tool":
                messages[-1]["parts"].append(part)  # the results of one turn's calls are one content
            else:
                messages.append({"role": "user", "parts": [part]})
        return {"contents": messages}

    async def _ask(self, attempts: RetryLoop, where: Endpoint, body: dict[str, Any]) -> Any:
        return await sdks.google_content(attempts, where, body)

    def _chat_reply(self, reply: Response, chat_reply: ChatReply) -> ChatReply:
        if not self.options.logprobs:
            return chat_reply
        return scored(chat_reply, token_steps(reply.raw), chat_reply.text)

    def _batches(self, attempts: RetryLoop, where: Endpoint) -> BatchApi:
        return GoogleBatches(attempts, where)

    def _tool_calls(self, body: Any) -> tuple[ToolCall, ...]:
        message = _message(_candidate(as_dict(body)).get("content"))
        return tuple(ToolCall(*call) for call in tool_calls({"choices": [{"message": message}]}))

    def _parts(self, body: Any) -> tuple[Any, ...]:
        return tuple(_candidate(as_dict(body))["content"]["parts"])

    def _read(self, body: Any, key_env: str, tools: bool = False) -> Response | Fault:
        content = body if isinstance(body, dict) else {}
        used = as_dict(content.get("usageMetadata"))
        usage = Usage(count(used.get("promptTokenCount")), sum(count(used.get(name)) for name in WRITTEN))
        options = self.options
        answer = Completion(
            content, options.model, options.accept_models, usage, str(content.get("modelVersion") or "")
        )
        first = _candidate(content)
        word = first.get("finishReason")
        if not word and (blocked := as_dict(content.get("promptFeedback")).get("blockReason")):
            word = f"blockReason: {blocked}"  # whatever it is, OTHER too, the prompt was not let through
        choice = {"finish_reason": word, "message": _message(first.get("content"))}
        return reply_of(answer, choice, key_env, False, options.accept_finish_reasons, tools)


def token_steps(body: Any) -> list[Step]:
    """What a response says token by token, each with the log-probabilities of the likeliest in its place.

    See ai.google.dev/api/generate-content#LogprobsResult: the token that was said may not be among the likeliest, and
    counts as one of them here; what has no number is left out.
    """
    logprobs = as_dict(_candidate(as_dict(body)).get("logprobsResult"))
    chosen_tokens = [as_dict(candidate) for candidate in _list(logprobs.get("chosenCandidates"))]
    top = [_list(as_dict(candidate).get("candidates")) for candidate in _list(logprobs.get("topCandidates"))]
    return [
        (
            str(candidate.get("token") or ""),
            tuple(
                (str(each["token"]), float(each["logProbability"]))
                for each in map(as_dict, (candidate, *likeliest))
                if isinstance(each.get("token"), str) and is_logprob(each.get("logProbability"))
            ),
        )
        for candidate, likeliest in zip(chosen_tokens, chain(top, repeat([])), strict=False)
    ]


def _candidate(content: dict[str, Any]) -> dict[str, Any]:
    """The one reply of a response; nothing where there is none."""
    return as_dict(next(iter(_list(content.get("candidates"))), None))


def _content(turn: Shown, encode: Callable[[Image], str]) -> dict[str, Any]:
    if turn.parts:
        return {"role": "model", "parts": list(turn.parts)}
    parts = [{"text": turn.text}]
    shown = [{"inlineData": {"mimeType": "image/png", "data": encode(image)}} for image in turn.images]
    return {"role": "model" if turn.role == "assistant" else "user", "parts": [*shown, *parts]}


def _message(content: Any) -> dict[str, Any] | None:
    """The text of a candidate without its thoughts; None where there is no content at all."""
    if not isinstance(content, dict):
        return None
    parts = [as_dict(part) for part in _list(content.get("parts"))]
    calls = [as_dict(part["functionCall"]) for part in parts if "functionCall" in part]
    wanted = [
        {
            "id": call.get("id") or f"{_UNNAMED}{number}",
            "function": {"name": call.get("name"), "arguments": json.dumps(call.get("args") or {})},
        }
        for number, call in enumerate(calls)
    ]
    text = [part for part in parts if "text" in part and not part.get("thought")]
    return {"content": text, "tool_calls": wanted}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# The states that a batch does not leave, without what precedes them: google.genai.types.JobState.
OVER = ("SUCCEEDED", "PARTIALLY_SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")
# The HTTP status of each code of an error, else 500: google/rpc/code.proto.
STATUS = {1: 499, 3: 400, 4: 504, 5: 404, 6: 409, 7: 403, 8: 429, 9: 400, 10: 409, 11: 400, 12: 501, 14: 503, 16: 401}
# The status of a batch that would bring the tokens in an account's batches over their limit.
EXHAUSTED = 429
_PAGE = 100


class GoogleBatches(BatchAccount):
    """The batches of a project at Google, for one model.

    A file of requests is uploaded, a batch made of it, its file of answers read: see
    ai.google.dev/gemini-api/docs/batch-api. File and batch bear our own id as their display name, by which either is
    found again; neither list says how it is ordered, so that each is read to its end. Google removes files after 48
    hours.
    """

    def __init__(self, attempts: RetryLoop, where: Endpoint) -> None:
        super().__init__(attempts, where, "generateContent")
        self._sdk, self._model = google(attempts.client, where), attempts.call.model

    def line(self, _: str, key: str, body: Mapping[str, Any]) -> bytes:
        """A request as it is in the file of a batch."""
        request = {name: value for name, value in body.items() if name != "model"}
        return json.dumps({"key": key, "request": request}).encode() + b"\n"

    async def submit(self, name: str, content: IO[bytes]) -> str | Fault:
        """Upload the file and make the batch."""
        size = size_of(content)
        config = {"display_name": _mark(name), "mime_type": "application/jsonl"}
        reply = await self._exchange(lambda: self._sdk.files.upload(file=content, config=config), size)
        file = named(reply if isinstance(reply, Fault) else as_dict(reply).get("file"), "name")
        return file if isinstance(file, Fault) else await self._create(name, file)

    async def _create(self, name: str, file: str) -> str | Fault:
        create, config = self._sdk.batches.create, {"display_name": _mark(name)}
        reply = await self._exchange(lambda: create(model=self._model, src=file, config=config))
        return submitted(reply, "name", file.removeprefix("files/"))

    async def find(self, sought: Sought) -> str | Fault | None:
        """The batch, by its display name; where there is only its file, the batch is made of it."""
        wanted = _mark(sought.name)
        batches, files = self._sdk.batches.list, self._sdk.files.list
        batch = await self._listed(batches, "operations", lambda entry: as_dict(entry.get("metadata")), wanted)
        if batch is not None:
            return batch
        file = await self._listed(files, "files", as_dict, wanted)
        return await self._create(sought.name, file) if isinstance(file, str) else file

    async def _listed(
        self, pages: Callable[..., Any], field: str, about: Callable[[Any], dict[str, Any]], wanted: str
    ) -> str | Fault | None:
        token: dict[str, str] = {}
        while True:
            reply = await self._exchange(lambda: pages(config={"page_size": _PAGE, **token}))  # noqa: B023
            page = entries(reply, field)
            if isinstance(page, Fault):
                return page
            match = next((entry for entry in page if about(entry).get("displayName") == wanted), None)
            if match is not None:
                return named(match, "name")
            if not reply.get("nextPageToken"):
                return None
            token = {"page_token": str(reply["nextPageToken"])}

    async def progress(self, remote: str) -> Progress | Fault:
        """How far a batch is."""
        reply = await self._exchange(lambda: self._sdk.batches.get(name=remote))
        if isinstance(reply, Fault):
            return reply
        about = as_dict(as_dict(reply).get("metadata"))
        state, counts = str(about.get("state")).rpartition("_STATE_")[2], as_dict(about.get("batchStats"))
        done = whole(counts.get("successfulRequestCount")) + whole(counts.get("failedRequestCount"))
        refused = state == "FAILED" and _status(as_dict(reply).get("error")) == EXHAUSTED
        return Progress(state, state in OVER, done, whole(counts.get("requestCount")), refused, as_dict(reply))

    async def outcomes(self, progress: Progress) -> dict[str, dict[str, Any]] | Fault:
        """What the file of answers says, where there is one."""
        places = (as_dict(progress.raw.get("response")), as_dict(as_dict(progress.raw.get("metadata")).get("output")))
        file = next((str(place["responsesFile"]) for place in places if place.get("responsesFile")), "")
        lines = await self._lines(lambda: self._sdk.files.download(file=file)) if file else []
        return lines if isinstance(lines, Fault) else {str(line.get("key")): _outcome(line) for line in lines}

    def missing(self, progress: Progress) -> dict[str, Any]:
        """What came of a call that is not in the file: what the batch itself says."""
        if progress.state == "FAILED":
            return _failed(progress.raw.get("error") or {"code": 3, "message": "no reason given"})
        return {"error": {"code": {"EXPIRED": EXPIRED, "CANCELLED": CANCELLED}.get(progress.state, MISSING)}}


def _outcome(line: Mapping[str, Any]) -> dict[str, Any]:
    if line.get("error"):
        return _failed(line["error"])
    return {"status": 200, "body": line["response"]} if line.get("response") else {"error": {"code": MISSING}}


def _failed(error: Any) -> dict[str, Any]:
    return {"status": _status(error), "body": {"error": as_dict(error)}}


def _status(error: Any) -> int:
    code = whole(as_dict(error).get("code"))
    return code if code >= 400 else STATUS.get(code, 500)


def _mark(name: str) -> str:
    return f"cfeval-{name}"
