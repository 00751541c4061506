"""Verifiers of edits that need no segmenter: a chat model that sees, and several verifiers as one.

The chat model answers in one reply: was the thing there, is it now as asked, what else changed? Whether the edit is
right follows from its answers. A thing that was not in the original cannot be edited: that tells of the explanation
that cites it.

It is shown both images joined into one, side by side or one above the other, whichever is nearer to a square: every
model takes one image, not every model takes two. A model that shrinks large images sees each of the two at about half
its resolution.
"""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from cfeval.core import plugin, registry
from cfeval.core.images import Image
from cfeval.edct.interfaces import Verifier, VerifyReply, VerifyRequest
from cfeval.inference import prompts
from cfeval.inference.chat import ChatModel
from cfeval.inference.parsing import BINARY, TEXT, StrictBinary, object_schema, raw_objects
from cfeval.inference.prompts import Prompt, PromptTemplate, generate_parsed, named_texts
from cfeval.inference.verdicts import clear_verdict

# Of the prompts.
FOLDER = "verification"
PLACEHOLDERS = ("first", "second", "instruction")
# Width of the band between the images, as a share of the longer side.
_BAND = 0.02
_GRAY = 128
# Other changes that are counted at most, so that the count is one digit.
MOST = 9
_ELSE = re.compile(
    r"^[ \t>*_`#•-]*(?:(?:what )?else(?: changed)?|(?:other )?changes)[*_` \t]*:[*_` \t]*"
    r"(.*(?:\n[ \t]*(?:[-*•]|[0-9]{1,2}[.)])[ \t].*)*)",
    re.IGNORECASE | re.MULTILINE,
)
_NOTHING = re.compile(
    r"(?:nothing|none|n/?a|not any)\b(?! (?:but|except)\b)|no(?: (?:other|further|additional|unwanted|visible|such))*"
    r"(?: (?:changes?|differences?|alterations?|things?)\b|\Z)|[\[\]—–]*\Z",
    re.IGNORECASE,
)
# What the prompt says does not count, and a reply may name nevertheless.
_NOT_COUNTED = re.compile(
    r"\b(?:(?:do(?:es)?|did) not count|don't count|doesn't count|not counted|ignor\w+|negligible|shadows?"
    r"|reflections?|hidden|blur\w*|noise|tint|compress\w+|shift\w*|crop\w*|margin)\b",
    re.IGNORECASE,
)
# A reply; what is seen comes first, so that the scores follow from it.
SCHEMA = object_schema(
    before=TEXT,
    now=TEXT,
    changes={"type": "array", "items": TEXT},
    present=BINARY,
    as_asked=BINARY,
    others={"type": "integer", "minimum": 0, "maximum": MOST},
)


class Sight(BaseModel):
    """What a model saw of an edit."""

    model_config = ConfigDict(frozen=True)

    present: StrictBinary
    """Was what is edited in the original?"""
    as_asked: StrictBinary
    """Has its place now the value that was asked for?"""
    others: int = Field(ge=0, le=MOST)
    """How many other things changed."""


def read_sight(text: str) -> Sight | None:
    """The scores of a reply: JSON, or lines `PRESENT:`, `AS_ASKED:`, `OTHERS:`.

    None where it leaves doubt, or where OTHERS is 0 and other changes are listed, or the other way round.
    """
    try:
        sight = clear_verdict(text, Sight, "0123456789")
    except ValidationError:  # a digit over 1 where 0 or 1 was asked for
        return None
    listed = _listed_changes(text)
    return None if sight is None or listed not in (None, sight.others > 0) else sight


def _listed_changes(text: str) -> bool | None:
    """Whether a reply lists changes that were not asked for; None where it has no list, or only what does not count."""
    lists = [
        content["changes"] if isinstance(content["changes"], list) else [content["changes"]]
        for *_, content in raw_objects(text)
        if isinstance(content, dict) and "changes" in content
    ]
    lists += [re.split(r"[;\n]", part) for part in _ELSE.findall(text)]
    if not lists:
        return None
    items = [str(item).strip(" \t*_`•-.0123456789)") for item in lists[-1]]
    changes = [item for item in items if item and not _NOTHING.match(item)]
    return None if changes and all(_NOT_COUNTED.search(item) for item in changes) else bool(changes)


FORM = PromptTemplate(FOLDER, "verify", PLACEHOLDERS, SCHEMA, read_sight, seen=True)


class SemanticPlugin(prompts.ChatPlugin):
    """A verifier that is any chat model that sees: was the thing there, is it now as asked, what else changed?

    Templates in an own folder: verify.md, verify_repair.md.
    """

    def forms(self, protocol: str = "") -> tuple[PromptTemplate[Sight]]:
        """What is asked; it is the same under every protocol."""
        del protocol
        return (FORM,)

    def build(self) -> Verifier:
        """The verifier."""
        return Semantic(registry.build("chat", self.model), self.prompt(FORM))


class Semantic:
    """Asks a chat model about every edit; see `cfeval.inference.prompts`."""

    def __init__(self, model: ChatModel, prompt: Prompt[Sight]) -> None:
        self.model, self.asked = model, prompt

    async def verify(self, request: VerifyRequest) -> VerifyReply:
        """Have an edit looked at; where the model says nothing that can be read, there is no telling."""
        negative = f"\nThis must not remain: {request.negative}" if request.negative else ""
        image, first, second = beside(request.original, request.edited)
        values = {"first": first, "second": second, "instruction": request.positive + negative}
        parsed = await generate_parsed(self.model, self.asked, request.item, values, request.seed, image)
        sight = parsed.value
        if sight is None:
            return VerifyReply(
                None, f"{parsed.status}: {parsed.reason}", completion=parsed.completion, calls=parsed.calls
            )
        faults = [] if sight.present else ["the model does not see in the original what was to be edited"]
        faults += [] if sight.as_asked else ["the model does not see the edit that was asked for"]
        faults += [f"the model sees {sight.others} changes that were not asked for"] if sight.others else []
        numbers = {name: float(value) for name, value in sight.model_dump().items()}
        reply = VerifyReply(not faults, "; ".join(faults), numbers, completion=parsed.completion, calls=parsed.calls)
        return replace(reply, absent=not sight.present)


def beside(original: Image, edited: Image) -> tuple[Image, str, str]:
    """Both images joined into one, the edited one at the original's size, and where each of them is."""
    height, width = original.pixels.shape[:2]
    pair = original.pixels, edited.resized(width, height).pixels
    axis = 0 if width > height else 1
    thick = max(2, round(_BAND * max(height, width)))
    band = np.full((*((thick, width) if axis == 0 else (height, thick)), 3), _GRAY, dtype=np.uint8)
    names = ("upper", "lower") if axis == 0 else ("left", "right")
    return Image.from_pixels(np.concatenate([pair[0], band, pair[1]], axis=axis)), *names


Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]*$", max_length=40)]


class AllOfPlugin(plugin.Plugin):
    """Several verifiers as one: accepts what every one of them accepts."""

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
        by_name = dict(zip(self.verifiers, replies, strict=True))
        verdicts = [reply.verified for reply in by_name.values()]
        verified = False if False in verdicts else (None if None in verdicts else True)
        raw = {name: reply.completion for name, reply in by_name.items() if reply.completion}
        # What those say who know; None where nobody does, or where they differ.
        opinions = {reply.absent for reply in by_name.values()} - {None}
        return VerifyReply(
            verified,
            "; ".join(f"{name}: {reply.reason}" for name, reply in by_name.items() if reply.reason),
            {f"{name}.{what}": number for name, reply in by_name.items() for what, number in reply.numbers.items()},
            {f"{name}.{what}": image for name, reply in by_name.items() for what, image in reply.images.items()},
            named_texts(raw) if raw else "",
            tuple(call for reply in by_name.values() for call in reply.calls),
            next(iter(opinions)) if len(opinions) == 1 else None,
            any(reply.content for reply in by_name.values()),
        )
