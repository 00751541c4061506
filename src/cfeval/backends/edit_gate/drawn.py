"""Drawn scenes before and after an edit, for what checks or spoils edits on purpose."""

from collections.abc import Sequence

from cfeval.records.world import Scene
from cfeval.world.grammar import scene_after


def scenes_of(scene: Scene, before: Sequence[str], positive: str) -> tuple[Scene, Scene]:
    """A scene after the instructions `before`, and after one more.

    Raises:
        SceneEditError: an instruction is not in the built-in world's language, or does not fit the scene.
    """
    start = scene_after(scene, before)
    return start, scene_after(start, [positive])
