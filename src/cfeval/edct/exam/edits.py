"""The cases of the verifier exam: edits of drawn scenes, right and wrong, that the exam makes itself.

Scenes and edits are drawn by the built-in world, 64 × 64 pixels: for each of 48 scenes the edit as it was told, and
the same with a fault; for eight of them also an instruction about what is not there, and the image left as it is.
"""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Literal

from cfeval.core import registry
from cfeval.core.errors import PluginError
from cfeval.core.images import Image
from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import Binary, Record
from cfeval.core.sampling import derive_seed
from cfeval.datasets.sample import RawSample
from cfeval.edct.interfaces import Editor, EditRequest, VerifyRequest, verify_request

SEED, SCENES = 20261128, 48
"""Of the built-in world, for which the instructions in edits.jsonl were written."""
EDITS = {
    "made": "the edit as it was told",
    "no_op": "the image is only stored anew",
    "none_made": "only the noise is drawn anew",
    "wrong_value": "the right thing becomes something else than told",
    "wrong_object": "another thing is edited instead",
    "extra_object": "another thing is edited too",
    "spill": "the edit is made, and all else is redrawn as well",
    "absent": "what is to be edited is not there, and nothing was",
}
"""The kinds of cases: only the first deserves to be accepted."""
Kind = Literal["made", "no_op", "none_made", "wrong_value", "wrong_object", "extra_object", "spill", "absent"]


class EditCase(Record):
    """An instruction about a scene, and whether the edit that is shown is right."""

    id: str
    kind: Kind
    scene: int
    """Its number among those of the built-in world."""
    concept: str
    positive: str
    negative: str
    right: Binary


def edit_cases() -> list[EditCase]:
    """All cases, in the order of the file."""
    return list(read_jsonl(Path(str(resources.files(__package__) / "edits.jsonl")), EditCase))


def scenes() -> list[RawSample]:
    """The scenes of the cases."""
    return list(registry.build("datasets", {"plugin": "world"}).samples(SCENES, SEED))


def editors(cases: Sequence[EditCase]) -> dict[str, Editor]:
    """Who makes the edits of the cases, by kind."""
    made = {case.kind: "none" if case.kind == "made" else case.kind for case in cases if case.kind != "absent"}
    return {kind: registry.build("editors", {"plugin": "flawed", "fault": fault}) for kind, fault in made.items()}


async def edited(case: EditCase, scene: RawSample, editor: Editor | None) -> Image:
    """The image after the edit of a case; without an editor it is left as it is.

    Raises:
        PluginError: the instruction does not fit the scene.
    """
    if editor is None:
        return scene.image
    reply = await editor.edit(_edit_request(case, scene))
    if reply.image is None:
        raise PluginError(f"exam case '{case.id}': the built-in editor made no image: {reply.reason}")
    return reply.image


def case_request(case: EditCase, scene: RawSample, edited: Image, seed: int) -> VerifyRequest:
    """What a verifier is asked about a case."""
    return verify_request(_edit_request(case, scene), edited, derive_seed(seed, case.id, "exam"))


def _edit_request(case: EditCase, scene: RawSample) -> EditRequest:
    return EditRequest(case.id, scene.image, case.positive, case.negative, SEED, case.concept, scene.metadata)
