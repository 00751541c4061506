"""Several verifiers as one: accepts what every one of them accepts."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import StringConstraints

from cfeval.core import plugin, registry
from cfeval.edct.interfaces import Verifier, VerifyReply, VerifyRequest
from cfeval.inference.batching import together
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

    Numbers and pictures are called `NAME.WHAT`.
    """

    def __init__(self, verifiers: Mapping[str, Verifier]) -> None:
        self.verifiers = verifiers
        self.map_concurrently = together(*verifiers.values())

    def verify(self, requests: Sequence[VerifyRequest]) -> list[VerifyReply]:
        """Have every edit checked by every verifier."""
        said = {name: verifier.verify(requests) for name, verifier in self.verifiers.items()}
        return [_together({name: replies[n] for name, replies in said.items()}) for n in range(len(requests))]


def _together(said: Mapping[str, VerifyReply]) -> VerifyReply:
    verdicts = [reply.verified for reply in said.values()]
    verified = False if False in verdicts else (None if None in verdicts else True)
    raw = {name: reply.completion for name, reply in said.items() if reply.completion}
    return VerifyReply(
        verified,
        "; ".join(f"{name}: {reply.reason}" for name, reply in said.items() if reply.reason),
        {f"{name}.{what}": number for name, reply in said.items() for what, number in reply.numbers.items()},
        {f"{name}.{what}": picture for name, reply in said.items() for what, picture in reply.pictures.items()},
        named_texts(raw) if raw else "",
        tuple(call for reply in said.values() for call in reply.calls),
    )
