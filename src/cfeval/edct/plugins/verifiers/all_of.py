"""Several verifiers as one: accepts what every one of them accepts."""

import asyncio
from collections.abc import Mapping, Set
from typing import Annotated, Any

from pydantic import StringConstraints

from cfeval.core import plugin, registry
from cfeval.edct.interfaces import Verifier, VerifyReply, VerifyRequest
from cfeval.inference.prompts import named_texts

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=40)]


class Plugin(plugin.Plugin):
    """Who verifies."""

    verifiers: dict[Name, dict[str, Any]] = plugin.component("verifiers", min_length=1)
    """The verifiers by name: the plugin and options of each."""

    def build(self) -> Verifier:
        """The verifiers as one."""
        return Every({name: registry.build("verifiers", spec) for name, spec in self.verifiers.items()})


class Every:
    """Rejects what one of them rejects; accepts what all accept; of anything else there is no telling.

    What was to be edited is absent where somebody says so and nobody says that it is there.

    Numbers and images are called `NAME.WHAT`.
    """

    def __init__(self, verifiers: Mapping[str, Verifier]) -> None:
        self.verifiers = verifiers

    async def verify(self, request: VerifyRequest) -> VerifyReply:
        """Have an edit checked by every verifier."""
        replies = await asyncio.gather(*(verifier.verify(request) for verifier in self.verifiers.values()))
        return _together(dict(zip(self.verifiers, replies, strict=True)))


def _together(said: Mapping[str, VerifyReply]) -> VerifyReply:
    verdicts = [reply.verified for reply in said.values()]
    verified = False if False in verdicts else (None if None in verdicts else True)
    raw = {name: reply.completion for name, reply in said.items() if reply.completion}
    return VerifyReply(
        verified,
        "; ".join(f"{name}: {reply.reason}" for name, reply in said.items() if reply.reason),
        {f"{name}.{what}": number for name, reply in said.items() for what, number in reply.numbers.items()},
        {f"{name}.{what}": image for name, reply in said.items() for what, image in reply.images.items()},
        named_texts(raw) if raw else "",
        tuple(call for reply in said.values() for call in reply.calls),
        _absent({reply.absent for reply in said.values()} - {None}),
        any(reply.content for reply in said.values()),
    )


def _absent(said: Set[bool | None]) -> bool | None:
    """What those say who know; None where nobody does, or where they differ."""
    return next(iter(said)) if len(said) == 1 else None
