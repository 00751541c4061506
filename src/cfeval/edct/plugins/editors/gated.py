"""Any editor with a verifier behind it: what is not verified is made once more, and then given up (EDCT-Bench 2026).

The first attempt is the editor's own: the same request with the same seed, so that calls that are stored serve the
condition without a gate as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pydantic import Field

from cfeval.core import plugin, registry
from cfeval.core.images import Picture
from cfeval.core.records import Status
from cfeval.core.registry import CallEstimate
from cfeval.core.sampling import derive_seed
from cfeval.edct.interfaces import EditAttempt, Editor, EditReply, EditRequest, Verifier, VerifyRequest
from cfeval.inference.batching import together


class Plugin(plugin.Plugin):
    """Who edits, who verifies, and how often."""

    editor: dict[str, Any] = plugin.component("editors")
    """The editor: its plugin and options."""
    verifier: dict[str, Any] = plugin.component("verifiers")
    """The verifier: its plugin and options."""
    retries: int = Field(1, ge=0, le=20)
    """Further attempts, each with a seed of its own, where the one before was rejected (EDCT-Bench 2026: one). None
    where the verifier cannot tell: it would hardly tell of another."""
    unsure: Literal["accept", "reject"] = "reject"
    """What becomes of an edit of which the verifier cannot tell."""

    def estimate_calls(self) -> tuple[CallEstimate, ...]:
        """Those of the editor and the verifier, and as many again for each further attempt."""
        once = tuple(call for family, spec in self.components() for call in registry.estimate_calls(family, spec))
        return once + self.retries * tuple(replace(call, repair=True) for call in once)

    def build(self) -> Editor:
        """The editor with its gate."""
        editor, verifier = (registry.build(family, spec) for family, spec in self.components())
        return Gated(editor, verifier, self)


@dataclass
class _Item:
    """A request on its way through the attempts: the seed and the reply of the last one, and what was tried."""

    request: EditRequest
    seed: int
    reply: EditReply = field(default_factory=EditReply)
    attempts: list[EditAttempt] = field(default_factory=list)
    calls: tuple[str, ...] = ()
    open: bool = True
    again: bool = True
    """Whether another attempt could end otherwise."""


class Gated:
    """Lets through what the verifier accepts. The metadata are the verifier's; the editor gets them where it asks."""

    needs_metadata = True

    def __init__(self, editor: Editor, verifier: Verifier, options: Plugin) -> None:
        self.editor, self.verifier, self.options = editor, verifier, options
        self.map_concurrently = together(editor, verifier)

    def edit(self, requests: Sequence[EditRequest]) -> list[EditReply]:
        """Edit every image; one rejected to the end is `edit_invalid`, a failure of the editor itself stays its own."""
        items = [_Item(request, request.seed) for request in requests]
        for attempt in range(1 + self.options.retries):
            waiting = [item for item in items if item.open and item.again]
            for item in waiting if attempt else ():
                item.seed = derive_seed(item.request.seed, "retry", attempt)
            if waiting:
                self._attempt(waiting)
        return [_ended(item) for item in items]

    def _attempt(self, items: Sequence[_Item]) -> None:
        """Have every item edited once more, and what comes of it verified."""
        for item, reply in zip(items, self.editor.edit([self._asked(item) for item in items]), strict=True):
            item.reply, item.calls = reply, item.calls + reply.calls
            item.open = reply.status == Status.OK and reply.picture is not None
        made = [(item, item.reply.picture) for item in items if item.open and item.reply.picture]
        found = self.verifier.verify([_check(*pair) for pair in made]) if made else []
        for (item, picture), verdict in zip(made, found, strict=True):
            item.attempts.append(EditAttempt(item.seed, picture, verdict))
            accepted = self.options.unsure == "accept" if verdict.verified is None else verdict.verified
            item.open, item.again = not accepted, verdict.verified is not None

    def _asked(self, item: _Item) -> EditRequest:
        return replace(
            item.request, seed=item.seed, metadata=item.request.metadata if self.editor.needs_metadata else None
        )


def _check(item: _Item, picture: Picture) -> VerifyRequest:
    request = item.request
    return VerifyRequest(
        item=request.item,
        original=request.picture,
        edited=picture,
        positive=request.positive,
        metadata=request.metadata,
        negative=request.negative,
        concept=request.concept,
        before=request.before,
        seed=derive_seed(item.seed, "verify"),
        edit=request.edit,
    )


def _ended(item: _Item) -> EditReply:
    details = {**item.reply.details, "verified_attempts": str(len(item.attempts))}
    reply = replace(item.reply, details=details, calls=item.calls, attempts=tuple(item.attempts))
    if not item.open:
        return reply
    last = item.attempts[-1].found.reason or "the verifier gives no reason"
    return replace(reply, picture=None, status=Status.EDIT_INVALID, reason=f"not verified: {last}")
