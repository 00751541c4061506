"""Edits of drawn scenes whose quality is known, as requests to an editor and to a verifier."""

import random
from collections.abc import Sequence
from functools import cache

from cfeval.backends import registry
from cfeval.backends.editors.base import EditRequest
from cfeval.backends.verifiers.base import VerifyRequest
from cfeval.io.pictures import Picture
from cfeval.world.grammar import describe
from cfeval.world.items import sample_edit
from cfeval.world.render import render
from cfeval.world.scenes import as_metadata, sample_scene


@cache
def wanted(count: int, seed: int = 1) -> tuple[EditRequest, ...]:
    """Requests of every kind of edit, each fitting its scene."""
    rng = random.Random(seed)
    return tuple(_request(number, rng) for number in range(count))


def _request(number: int, rng: random.Random) -> EditRequest:
    scene = sample_scene(rng)
    concept, positive, negative = describe(sample_edit(scene, rng))
    return EditRequest(
        f"i{number}", Picture.from_pixels(render(scene)), positive, negative, number, concept, as_metadata(scene)
    )


@cache
def drawn(count: int, fault: str = "none") -> tuple[VerifyRequest, ...]:
    """The edits made with a fault of `cfeval.backends.editors.flawed`, to be verified."""
    editor = registry.build("editors", {"backend": "flawed", "fault": fault})
    requests = wanted(count)
    replies = editor.edit(requests)
    assert all(reply.picture for reply in replies)
    return checked(requests, [reply.picture for reply in replies])


def checked(requests: Sequence[EditRequest], edited: Sequence[Picture]) -> tuple[VerifyRequest, ...]:
    """What a verifier is asked about edited pictures."""
    return tuple(
        VerifyRequest(r.item, r.picture, made, r.positive, r.metadata, r.negative, r.concept, r.before, edit=r.edit)
        for r, made in zip(requests, edited, strict=True)
    )
