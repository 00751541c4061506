"""Drawn scenes before and after an edit, for what checks or spoils edits on purpose."""

from collections.abc import Sequence

from cfeval.records.world import Scene
from cfeval.world.grammar import parse_instruction, referent_phrase
from cfeval.world.scenes import SceneEditError, apply, resolve


def scenes_of(scene: Scene, before: Sequence[str], positive: str) -> tuple[Scene, Scene]:
    """A scene after the instructions `before`, and after one more.

    Raises:
        SceneEditError: an instruction is not in the built-in world's language, or does not fit the scene.
    """
    for instruction in before:
        scene = _after(scene, instruction)
    return scene, _after(scene, positive)


def _after(scene: Scene, positive: str) -> Scene:
    intent = parse_instruction(positive)
    if intent is None:
        raise SceneEditError("the instruction is not in the built-in world's language")
    if intent.kind not in ("background", "add") and len(resolve(scene, intent.target)) != 1:
        raise SceneEditError(f"no single object in the scene fits '{referent_phrase(intent.target)}'")
    return apply(scene, intent.model_copy(update={"old": ""}))
