"""Black Forest Labs: FLUX.1 Kontext and FLUX.2 behind its own interface of submit, poll and fetch.

The task is paid for when it is submitted; polling and fetching are tried again by themselves, never by submitting anew.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field

from cfeval.core.errors import CfevalError
from cfeval.core.records import Status
from cfeval.core.registry import Diagnostic
from cfeval.edct.interfaces import Editor, EditReply, EditRequest
from cfeval.edct.plugins.remote_editors import (
    Planned,
    RemoteEditorPlugin,
    Service,
    Uses,
    checked_image,
    edit,
    named_headers,
    prompt_for,
)
from cfeval.inference.remote.client import RetryLoop
from cfeval.inference.remote.faults import Fault, record, retry
from cfeval.inference.remote.http import Endpoint, exchange, fault_of, read_json, request, respond
from cfeval.inference.remote.images import Encoded
from cfeval.inference.remote.openai_api import cost_of
from cfeval.inference.remote.provider_table import PROVIDERS, Provider
from cfeval.inference.remote.providers import checked_base_url, endpoint, get, only_further
from cfeval.inference.remote.request import Response, Usage

USES = Uses(seed=True)
USD_PER_CREDIT = 0.01
# How many tasks may be active at once, where it is not 24.
ACTIVE_TASKS = {"flux-kontext-max": 6}
# Bytes of an image that are taken (docs.bfl.ai, Image Editing: 20 MB).
LARGEST = 20_000_000
# Fields that no option of `extra` may set.
OWN = ("prompt", "seed", "input_image", "prompt_upsampling", "safety_tolerance", "webhook_url", "webhook_secret")
NOT_FOUND = "Task not found"
# Statuses after which polling is over; any other, also one not known here, means that the task is under way.
FINAL = ("Ready", "Request Moderated", "Content Moderated", NOT_FOUND, "Error", "Failed")
# How often a task that was paid for may not be found in a row: a new one is not known to all servers at once.
LOOKS = 20
EXPIRED = (403, 404, 410)


class Plugin(RemoteEditorPlugin):
    """How to reach the model and what to ask of it."""

    model: str = Field("flux-kontext-max", pattern=r"^[a-z0-9][a-z0-9.-]*$")
    """The endpoint: flux-kontext-max, flux-kontext-pro, flux-2-max, flux-2-pro, …"""
    base_url: Annotated[str, AfterValidator(checked_base_url)] = PROVIDERS["bfl"].base_url
    """Address without the version."""
    safety_tolerance: int | None = Field(None, ge=0, le=6)
    """0 is strictest; none: the provider's default."""
    prompt_upsampling: bool = False
    """Whether the provider may rewrite the instruction."""
    extra: Annotated[dict[str, Any], AfterValidator(partial(only_further, own=OWN))] = {}
    """Further fields of the request, such as {aspect_ratio: "1:1"}."""
    poll: float = Field(0.5, gt=0, le=60)
    """Seconds between two looks at a task."""

    @property
    def rules(self) -> Provider:
        """The provider's rules."""
        return PROVIDERS["bfl"]

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether the key is taken and has credit."""
        try:
            account = get(endpoint(self.base_url, self.key_variable, "x-key"), "/v1/credits")
        except CfevalError as error:
            yield Diagnostic(False, str(error))
            return
        if isinstance(account, Fault):
            yield Diagnostic(False, f"{self.base_url}: {account.reason}")
            return
        credits = account.get("credits") if isinstance(account, dict) else None
        enough = not isinstance(credits, int | float) or credits > 0
        advice = "" if enough else f"; add credit to the account of {self.key_variable or self.base_url}"
        yield Diagnostic(enough, f"{self.base_url} answers; {credits} credits are left{advice}")

    def build(self) -> Editor:
        """The editor; offline no key is needed."""
        return Bfl(self)


@dataclass(frozen=True)
class Task:
    """A task that was submitted: where to look for it, and what it costs."""

    polling_url: str
    usage: Usage


class Bfl:
    """Edits by tasks."""

    needs_metadata = False

    def __init__(self, options: Plugin) -> None:
        self.options = options

    async def edit(self, request: EditRequest) -> EditReply:
        """Have an image edited."""
        options = self.options
        service = Service("bfl", options.base_url, options.model, ACTIVE_TASKS.get(options.model, 24), LARGEST)
        return await edit(request, service, options.max_pixels, self._plan)

    def _plan(self, request: EditRequest, image: Encoded) -> Planned:
        prompted = prompt_for(request, USES)
        fields: dict[str, Any] = {"prompt": prompted.prompt, "seed": request.seed, "output_format": "png"}
        fields["prompt_upsampling"] = self.options.prompt_upsampling
        if self.options.safety_tolerance is not None:
            fields["safety_tolerance"] = self.options.safety_tolerance
        fields |= self.options.extra

        async def send(attempts: RetryLoop) -> Response | Fault:
            where = endpoint(self.options.base_url, self.options.key_variable, "x-key", self.options.headers)
            body = {**fields, "input_image": image.base64}
            task = await attempts.paid(lambda: self._submit(attempts, where, body), lambda made: made.usage)
            return task if isinstance(task, Fault) else await self._outcome(attempts, where, task)

        named = {"model": self.options.model, **fields, **named_headers(self.options.headers)}
        return Planned(named, send, prompted.details)

    async def _submit(self, attempts: RetryLoop, where: Endpoint, body: dict[str, Any]) -> Task | Fault:
        url = f"{where.base_url}/v1/{self.options.model}"
        content = await exchange(where, attempts.seconds(), request(attempts.client, where, "POST", url, json=body))
        if isinstance(content, Fault):
            return content
        if not isinstance(content, dict):
            return retry("bad_body", "the answer is no task", sent=True)
        usage = Usage(images=1, cost_usd=cost_of(content.get("cost"), USD_PER_CREDIT))
        if not _trusted(str(content.get("polling_url")), where.base_url):
            reason = "the task's polling_url is missing or leads elsewhere"
            return record("bad_body", Status.TRANSPORT_ERROR, reason, usage=usage, raw=content, final=False)
        return Task(str(content["polling_url"]), usage)

    async def _outcome(self, attempts: RetryLoop, where: Endpoint, task: Task) -> Response | Fault:
        """Wait for the task and fetch its image; a link that has expired is asked for once more."""
        for last in (False, True):
            result = await self._poll(attempts, where, task)
            fault = result if isinstance(result, Fault) else _ending(result)
            if isinstance(fault, Fault):
                return fault
            image = await attempts.free(partial(_fetch, attempts, fault))
            if not isinstance(image, Fault):
                return Response(model=self.options.model, image=image, usage=task.usage, raw=result)
            if last or image.kind != "expired":
                return image
        raise AssertionError("the loop returns")

    async def _poll(self, attempts: RetryLoop, where: Endpoint, task: Task) -> dict[str, Any] | Fault:
        missed = 0
        while True:
            state = await attempts.free(lambda: _look(attempts, where, task.polling_url))
            if isinstance(state, Fault):
                return state
            missed = missed + 1 if state["status"] == NOT_FOUND else 0
            if state["status"] in FINAL and not 0 < missed < LOOKS:
                return state
            if attempts.seconds_left() < self.options.poll:
                reason = f"the task was still '{state['status']}' at the deadline (calls.deadline)"
                return record("timeout", Status.TRANSPORT_ERROR, reason, final=False, raw=state)
            await asyncio.sleep(self.options.poll)


async def _look(attempts: RetryLoop, where: Endpoint, url: str) -> dict[str, Any] | Fault:
    """A task's state; a final one counts whatever HTTP status it came with."""
    response = await respond(where, attempts.seconds(), request(attempts.client, where, "GET", url))
    if isinstance(response, Fault):
        return response
    content = read_json(where, response.content)
    if isinstance(content, dict) and (
        content.get("status") in FINAL or (response.status_code < 300 and "status" in content)
    ):
        return content
    if response.status_code == 404:
        return {"status": NOT_FOUND, "details": content if isinstance(content, dict) else None}
    fault = fault_of(where, response) or (content if isinstance(content, Fault) else None)
    return fault or retry("bad_body", "the task's state is not in the answer", sent=True)


def _ending(state: Mapping[str, Any]) -> str | Fault:
    """The address of the image, or why there is none."""
    status, details = state["status"], state.get("details")
    if status in ("Request Moderated", "Content Moderated"):
        reasons = details.get("Moderation Reasons") if isinstance(details, dict) else None
        return record("moderated", Status.MODERATED, f"{status}: {', '.join(map(str, reasons or ['no reason given']))}")
    if status != "Ready":
        return record("failed", Status.TRANSPORT_ERROR, f"the task ended as '{status}' ({details})", final=False)
    result = state.get("result")
    sample = result.get("sample") if isinstance(result, dict) else None
    if not isinstance(sample, str) or not sample.startswith(("http://", "https://")):
        return record("no_image", Status.NO_IMAGE, "the task is ready, but names no image")
    return sample


async def _fetch(attempts: RetryLoop, link: str) -> bytes | Fault:
    """The image behind a link; it lies elsewhere, so that no key goes along."""
    nobody = Endpoint(link)
    response = await respond(nobody, attempts.seconds(), request(attempts.client, nobody, "GET", link))
    if isinstance(response, Fault):
        return response
    if response.status_code in EXPIRED:
        return record(
            "expired", Status.NO_IMAGE, f"the image's link has expired (HTTP {response.status_code})", final=False
        )
    fault = fault_of(nobody, response)
    if fault is not None:
        return fault
    checked = await checked_image(Response(image=response.content))
    if isinstance(checked, Fault):
        return replace(checked, tries=None)  # a further download costs nothing
    return response.content


def _trusted(url: str, base_url: str) -> bool:
    """Whether the key may go to an address: the same host, or for Black Forest Labs itself any of its hosts."""
    try:
        to, home = urlsplit(url), urlsplit(base_url)
        same = (to.scheme, to.hostname, to.port) == (home.scheme, home.hostname, home.port)
    except ValueError:  # not an address
        return False
    if same:
        return True
    own = (home.hostname or "").endswith("bfl.ai")
    return own and to.scheme == "https" and (to.hostname or "").endswith(".bfl.ai")
