"""Given pairs of drawn scenes: the items of the dataset `world`, each with one thing changed.

Half of the changes, drawn by the id, change the right answer; the others are of an object or the background on which it
does not depend at all. The images before the change are those of `world` for the same seed.
"""

import random
from collections.abc import Iterator
from typing import Literal

from cfeval.core import plugin
from cfeval.core.images import Image
from cfeval.core.sampling import derive_seed
from cfeval.datasets.pair import ChangeKind, PairSet, RawPair
from cfeval_testbed.census import edits_of_things
from cfeval_testbed.items import EDITABLE_KINDS, generate_items
from cfeval_testbed.language.explanations import referent_phrase
from cfeval_testbed.language.questions import Question, QuestionKind, parse_question, true_answer
from cfeval_testbed.records import POSITIONS, Referent, Scene
from cfeval_testbed.render import render


class Plugin(plugin.Plugin):
    """Which questions."""

    kinds: tuple[QuestionKind, ...] = EDITABLE_KINDS
    """They take turns, as in the dataset `world`."""

    def build(self) -> PairSet:
        """The set."""
        return WorldPairs(self)


class WorldPairs:
    """Draws as many pairs as are wanted."""

    def __init__(self, options: Plugin) -> None:
        self.options = options

    def pairs(self, items: int, seed: int) -> Iterator[RawPair]:
        """Pairs that differ by seed; the first ones stay the same when more are wanted."""
        for number, item in enumerate(generate_items(items, seed, self.options.kinds)):
            name, question = f"world-{number:05d}", parse_question(item.question)
            assert question is not None, "items ask in the words of the drawn world"
            thing, after = change(question, item.scene, random.Random(derive_seed(seed, name, "pair")))
            told = [_words(scene, thing) for scene in (item.scene, after)]
            yield RawPair(
                id=name,
                images=(Image.from_pixels(render(item.scene)), Image.from_pixels(render(after))),
                question=item.question,
                before=told[0],
                after=told[1],
                references=(item.answer, true_answer(question, after)),
                kind=_kind(item.scene, after, thing),
                verified="drawn so",
            )


def change(question: Question, scene: Scene, rng: random.Random) -> tuple[str, Scene]:
    """A thing, and the scene after one change of it: half of the draws change the right answer.

    The others change a thing of which no edit would change it.
    """
    right = true_answer(question, scene)
    found = edits_of_things(question, scene)
    deciding = {
        thing: [after for after in scenes if true_answer(question, after) != right] for thing, scenes in found.items()
    }
    matters = rng.random() < 0.5
    thing = rng.choice([name for name in found if found[name] and bool(deciding[name]) == matters])
    return thing, rng.choice(deciding[thing] if matters else found[thing])


def _words(scene: Scene, thing: str) -> str:
    """A thing as a scene shows it; empty where it is not there."""
    if thing not in POSITIONS:
        return f"the {scene.background} background"
    place = POSITIONS.index(thing)
    slot = scene.slots[place]
    if not slot.present:
        return ""
    return referent_phrase(Referent(color=slot.color, shape=slot.shape, position=POSITIONS[place]))


def _kind(before: Scene, after: Scene, thing: str) -> ChangeKind:
    if thing not in POSITIONS:
        return "background"
    one, other = (scene.slots[POSITIONS.index(thing)] for scene in (before, after))
    gone: Literal["count", "attribute"] = "count" if one.present != other.present else "attribute"
    return "object" if one.color != other.color and one.shape != other.shape else gone
