"""The vendors' own packages as our transport: their retries off, their answers as JSON, their errors as faults.

Each is imported when the first call is sent through it. What is sent, what an answer says, and when to ask again is
decided elsewhere; nothing here changes a result.
"""

import asyncio
import hashlib
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import httpx2

from cfeval.core.errors import PluginError
from cfeval.core.extras import advice
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import TIMEOUT, Fault, of_status, retry
from cfeval.inference.remote.http import Endpoint, HttpClient, exchange, storable

if TYPE_CHECKING:
    from openai import AsyncOpenAI

T = TypeVar("T")
Json = Mapping[str, Any]


def package(module: str) -> ModuleType:
    """A vendor's package.

    Raises:
        PluginError: it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        name = str(error.name)
        raise PluginError(f"needs the package '{name}', which is not installed: {advice(name)}") from error


def ready(module: str, where: Callable[[], Endpoint]) -> tuple[bool, str]:
    """Whether a vendor's package is installed and the key is there; and that in one line. Nothing is sent."""
    try:
        package(module)
        address = where().base_url
    except PluginError as error:
        return False, str(error)
    return True, f"the package {module} is installed and the key is set; {address or 'the model'} is not asked"


def openai(client: HttpClient, where: Endpoint) -> "AsyncOpenAI":
    """The `openai` package's client for an address: Azure's where it has an `api_version`."""

    def make() -> "AsyncOpenAI":
        from openai import AsyncAzureOpenAI, AsyncOpenAI, Omit

        ambient = {"OpenAI-Organization": Omit(), "OpenAI-Project": Omit()}  # of another account, perhaps
        common: dict[str, Any] = {
            "api_key": where.key or "none",
            "default_headers": {**ambient, **dict(where.headers)},
            "http_client": client,
            "max_retries": 0,
            "timeout": client.timeout,
        }
        if where.api_version:
            return AsyncAzureOpenAI(azure_endpoint=where.base_url, api_version=where.api_version, **common)
        return AsyncOpenAI(base_url=where.base_url, **common)

    return _kept(client, ("openai", where), make)


async def chat(attempts: RetryLoop, where: Endpoint, body: Json) -> Any | Fault:
    """The JSON that `chat/completions` answers."""
    return await _posted(attempts, where, "/chat/completions", body)


async def responses(attempts: RetryLoop, where: Endpoint, body: Json) -> Any | Fault:
    """The JSON that `responses` answers."""
    return await _posted(attempts, where, "/responses", body)


async def edit_image(attempts: RetryLoop, where: Endpoint, form: Json, files: Json) -> Any | Fault:
    """The JSON that `images/edits` answers; a file is its name, its bytes and its type."""
    edit = openai(attempts.client, where).images.with_raw_response.edit
    named = {name: form[name] for name in ("model", "prompt")}
    further = {name: value for name, value in form.items() if name not in named}
    arguments = {**named, **files, "extra_body": further, "extra_headers": None if where.key else _anonymous()}
    return await exchange(where, attempts.seconds(), lambda: edit(**arguments))


async def generate_image(attempts: RetryLoop, where: Endpoint, body: Json) -> Any | Fault:
    """The JSON that `images/generations` answers."""
    return await _posted(attempts, where, "/images/generations", body)


async def openrouter_image(attempts: RetryLoop, where: Endpoint, body: Json) -> Any | Fault:
    """The JSON that OpenRouter's `images` answers, for which the `openai` package has no method of its own."""
    return await _posted(attempts, where, "/images", body)


async def _posted(attempts: RetryLoop, where: Endpoint, path: str, body: Json) -> Any | Fault:
    """The JSON that a path answers to a body as it stands: the method of the package would go through its types."""
    post = openai(attempts.client, where).post
    options: Any = {"security": {"bearer_auth": True}, **({} if where.key else {"headers": _anonymous()})}
    arguments: dict[str, Any] = {"cast_to": httpx2.Response, "body": dict(body), "options": options}
    return await exchange(where, attempts.seconds(), lambda: post(path, **arguments))


def _anonymous() -> dict[str, Any]:
    from openai import Omit

    return {"Authorization": Omit()}


def anthropic(client: HttpClient, where: Endpoint) -> Any:
    """The `anthropic` package's client for an address."""

    def make() -> Any:
        vendor = package("anthropic")
        return vendor.AsyncAnthropic(
            base_url=where.base_url,
            api_key=where.key or "none",
            default_headers=dict(where.headers),
            http_client=client,
            max_retries=0,
            timeout=client.timeout,
        )

    return _kept(client, ("anthropic", where), make)


async def anthropic_message(attempts: RetryLoop, where: Endpoint, body: Json) -> Any | Fault:
    """The JSON that Anthropic's `messages` answers."""
    create = anthropic(attempts.client, where).messages.with_raw_response.create
    named = ("model", "messages", "max_tokens")
    further = {name: value for name, value in body.items() if name not in named}
    arguments = {**{name: body[name] for name in named}, "extra_body": further}
    return await exchange(where, attempts.seconds(), lambda: create(**arguments))


def google(client: HttpClient, where: Endpoint) -> Any:
    """The `google-genai` package's client for an address that ends with the version."""

    def make() -> Any:
        vendor = package("google.genai")
        host, _, version = where.base_url.rpartition("/")
        options = {
            "base_url": host,
            "api_version": version,
            "headers": dict(where.headers),
            "httpx_async_client": client,
        }
        return vendor.Client(vertexai=False, api_key=where.key or "none", http_options=options).aio

    return _kept(client, ("google", where), make)


async def google_content(attempts: RetryLoop, where: Endpoint, body: Json) -> Any | Fault:
    """The JSON that Gemini's `generateContent` answers."""
    generate = google(attempts.client, where).models.generate_content
    further = {name: value for name, value in body.items() if name not in ("model", "contents")}
    config = {"should_return_http_response": True, "http_options": {"extra_body": further}}
    arguments = {"model": body["model"], "contents": body["contents"], "config": config}
    return await exchange(where, attempts.seconds(), lambda: generate(**arguments))


async def litellm(attempts: RetryLoop, where: Endpoint, body: Json) -> Any | Fault:
    """The answer of LiteLLM, as that of a chat completion; it sends by itself."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else its import fetches a list of prices
    vendor: Any = package("litellm")
    vendor.suppress_debug_info = True
    vendor.telemetry = False
    handler = package("litellm.llms.custom_httpx.http_handler").AsyncHTTPHandler
    handler.single_connection_post_request = _not_again
    address = {"api_base": where.base_url} if where.base_url else {}
    own = {**address, "api_key": where.key or None, "extra_headers": dict(where.headers) or None}
    seconds = attempts.seconds()
    try:
        async with asyncio.timeout(seconds):
            reply = await vendor.acompletion(**body, **own, num_retries=0, max_retries=0, timeout=seconds)
        return storable(reply.model_dump(mode="json"), where.scrubbed)
    except TimeoutError:
        return retry(TIMEOUT, f"no whole answer within {seconds:.0f} s", sent=True)
    except (ValueError, RecursionError) as error:
        return retry("bad_body", f"the answer cannot be read ({type(error).__name__})", sent=True)
    except Exception as error:
        status = getattr(error, "status_code", None)
        if not isinstance(status, int):
            raise
        refused = isinstance(error, vendor.ContentPolicyViolationError)
        error_body = {"message": where.scrubbed(str(error)), "code": "content_policy_violation" if refused else status}
        headers = getattr(getattr(error, "response", None), "headers", None) or {}
        return of_status(status, headers, {"error": error_body}, where.key_env)


async def _not_again(*_: Any, **__: Any) -> Any:
    """Instead of LiteLLM's own second attempt where a connection breaks: the error it would cover."""
    raise


def _kept(client: HttpClient, key: tuple[str, Endpoint], make: Callable[[], T]) -> T:
    if key not in client.sdks:
        client.sdks[key] = make()
    kept: T = client.sdks[key]
    return kept


# Sends a request; the answer's JSON, or a Fault.
Send = Callable[[Mapping[str, Any]], Awaitable[Any]]
# How a server refuses a name that it does not know; older ones break.
_MISS = ("http_400", "http_404", "http_422", "http_500")
# Misses without a hit after which a server is taken to keep no images.
_IN_VAIN = 8


class ImagesOnce:
    """Images that a server is sent whole once, and by a name after that.

    vLLM keeps what it made of an image (`--mm-processor-cache-gb`) under the `uuid` that stands beside it in the
    request, and takes `image_url: null` with that `uuid` for the same image (docs.vllm.ai, Multimodal Inputs, Online
    Serving). It refuses a name that it does not know, or no longer; then the image is sent again. The name is a hash of
    the image, so that a name never stands for another one. What is stored of a call is the same either way.
    """

    def __init__(self) -> None:
        self._held: set[str] = set()
        self._hits = self._misses = 0

    async def ask(self, body: Mapping[str, Any], send: Send) -> Any:
        """Send a request, its images that the server holds by their names; what `send` answers."""
        names = {name for _, name in _images(body)}
        if names & self._held and (self._hits or self._misses < _IN_VAIN):
            answer = await send(_worded(body, self._held))
            if not isinstance(answer, Fault):
                self._hits += 1
                self._held |= names
                return answer
            if answer.kind not in _MISS:
                return answer
            self._misses += 1
            self._held -= names
        answer = await send(_worded(body, frozenset()))
        if not isinstance(answer, Fault):
            self._held |= names
        return answer


def _images(body: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    for message in body.get("messages", ()):
        for part in message["content"] if isinstance(message["content"], list) else ():
            if part.get("type") == "image_url":
                yield part, hashlib.sha256(part["image_url"]["url"].encode()).hexdigest()


def _worded(body: Mapping[str, Any], held: set[str] | frozenset[str]) -> dict[str, Any]:
    """The request with a name beside each image, and without the images that are held."""
    named = {id(part): name for part, name in _images(body)}

    def named_part(part: Mapping[str, Any]) -> Mapping[str, Any]:
        name = named.get(id(part))
        if name is None:
            return part
        return {**part, "uuid": name, **({"image_url": None} if name in held else {})}

    def named_message(message: Mapping[str, Any]) -> Mapping[str, Any]:
        content = message["content"]
        return {**message, "content": [named_part(part) for part in content]} if isinstance(content, list) else message

    return {**body, "messages": [named_message(message) for message in body["messages"]]}
