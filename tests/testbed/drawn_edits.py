"""Edits of drawn scenes whose quality is known, as requests to an editor and to a verifier."""

import random
from collections.abc import Sequence
from functools import cache

from cfeval.core import registry
from cfeval.core.images import Image
from cfeval.edct.interfaces import EditRequest, VerifyRequest
from cfeval_testbed.items import sample_edit
from cfeval_testbed.language.instructions import describe
from cfeval_testbed.render import render
from cfeval_testbed.scenes import as_metadata, sample_scene
from tests.answers import answers


@cache
def wanted(count: int, seed: int = 1) -> tuple[EditRequest, ...]:
    """Requests of every kind of edit, each fitting its scene."""
    rng = random.Random(seed)
    return tuple(_request(number, rng) for number in range(count))


def _request(number: int, rng: random.Random) -> EditRequest:
    scene = sample_scene(rng)
    concept, positive, negative = describe(sample_edit(scene, rng))
    return EditRequest(
        f"i{number}", Image.from_pixels(render(scene)), positive, negative, number, concept, as_metadata(scene)
    )


@cache
def drawn(count: int, fault: str = "none") -> tuple[VerifyRequest, ...]:
    """The edits made with a fault of `cfeval_testbed.plugins.editors_flawed`, to be verified."""
    editor = registry.build("editors", {"plugin": "flawed", "fault": fault})
    requests = wanted(count)
    replies = answers(editor.edit, requests)
    assert all(reply.image for reply in replies)
    return checked(requests, [reply.image for reply in replies])


def checked(requests: Sequence[EditRequest], edited: Sequence[Image]) -> tuple[VerifyRequest, ...]:
    """What a verifier is asked about edited images."""
    return tuple(
        VerifyRequest(r.item, r.image, made, r.positive, r.metadata, r.negative, r.concept, r.before, edit=r.edit)
        for r, made in zip(requests, edited, strict=True)
    )
