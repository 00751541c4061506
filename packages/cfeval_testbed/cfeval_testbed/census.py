"""The known truth about a test model: every edit of every thing is tried, and what moves the answer is what it uses.

For an item, C are the things that the explanation cites, those that are not in the image included, and U the things of
which some single edit that leaves the question well posed moves the answer. A thing is an object, named by its
quadrant, or the background.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from cfeval.core.images import Image
from cfeval.core.sampling import derive_seed
from cfeval.inference.batching import map_requests
from cfeval.inference.chat import ChatMessage, ChatModel, ChatRequest
from cfeval_testbed.items import Item
from cfeval_testbed.language.explanations import description, parse_answer, parse_explanation
from cfeval_testbed.language.questions import Question, parse_question, well_posed
from cfeval_testbed.records import BACKGROUNDS, COLORS, POSITIONS, SHAPES, Claim, Scene
from cfeval_testbed.render import render
from cfeval_testbed.scenes import replace_slot, resolve

BACKGROUND = "background"
"""The one thing that is no object."""
BATCH = 512


@dataclass(frozen=True)
class Finding:
    """What the census finds about one item.

    Attributes:
        used: U.
        cited: C; each thing that is not in the image has a name of its own.
        there: whether everything that the explanation cites is in the image as it says.
    """

    used: frozenset[str]
    cited: frozenset[str]
    there: bool

    @property
    def exact(self) -> bool:
        """Whether the explanation cites just what is used, and that is something."""
        return bool(self.used) and self.cited == self.used

    @property
    def graded(self) -> float:
        """|C ∩ U| / |C ∪ U|, in [0, 1]; 0 where nothing is used."""
        return len(self.cited & self.used) / len(self.cited | self.used) if self.used else 0.0


@dataclass(frozen=True)
class KnownTruth:
    """The means over items, each in [0, 1]."""

    exact: float
    graded: float
    there: float


def known_truth(findings: Sequence[Finding]) -> KnownTruth:
    """The shares of items with an exactly faithful explanation and with nothing cited that is not there.

    Raises:
        ValueError: there is no item.
    """
    if not findings:
        raise ValueError("the known truth needs at least one item")
    count = len(findings)
    return KnownTruth(
        exact=sum(finding.exact for finding in findings) / count,
        graded=sum(finding.graded for finding in findings) / count,
        there=sum(finding.there for finding in findings) / count,
    )


def census(model: ChatModel, items: Sequence[tuple[str, Item]], seed: int) -> list[Finding]:
    """Ask a model about every item and all its edits, and why about the item.

    All answers to an item are asked for with one seed: a model that answers by chance alone uses nothing.

    Args:
        model: of the drawn world.
        items: each with its id.
        seed: of all calls; each item derives its own.
    """
    edits = [edits_of_things(_question(item), item.scene) for _, item in items]
    asked = [
        [item.scene, *(scene for scenes in its.values() for scene in scenes)]
        for (_, item), its in zip(items, edits, strict=True)
    ]
    answers = _answers(model, items, asked, seed)
    claims = _claims(model, items, [said[0] for said in answers], seed)
    return [
        _finding(item.scene, its, said, claim)
        for (_, item), its, said, claim in zip(items, edits, answers, claims, strict=True)
    ]


def edits_of_things(question: Question, scene: Scene) -> dict[str, list[Scene]]:
    """The scenes after each single edit of each thing that leaves the question well posed."""
    backgrounds = [scene.model_copy(update={"background": name}) for name in BACKGROUNDS if name != scene.background]
    places = [place for place, slot in enumerate(scene.slots) if slot.present]
    things = {POSITIONS[place]: list(_edits_of(question, scene, place)) for place in places}
    return {BACKGROUND: backgrounds} | things


def _edits_of(question: Question, scene: Scene, place: int) -> Iterator[Scene]:
    """Another color, another shape, the object gone, or turned into one whose presence is asked about."""
    slot = scene.slots[place]
    changes: list[dict[str, object]] = [{"color": color} for color in COLORS if color != slot.color]
    changes += [{"shape": shape} for shape in SHAPES if shape != slot.shape]
    changes.append({"present": False})
    if question.kind == "presence" and question.color != slot.color and question.shape != slot.shape:
        changes.append({"color": question.color, "shape": question.shape})
    edited = (replace_slot(scene, place, **change) for change in changes)
    return (after for after in edited if well_posed(question, after))


def things_cited(claim: Claim, scene: Scene) -> frozenset[str]:
    """The things that an explanation points at; one that is not in the scene has a name of its own.

    An object is known by all that is said of it but the attribute that decides; one cited as being there by its shape
    and place.
    """
    found: set[str] = set()
    for number, fact in enumerate(claim.facts):
        if fact.attribute == "background":
            found.add(BACKGROUND)
            continue
        referent = fact.referent.model_copy(update={"color": None}) if claim.kind == "presence" else fact.referent
        places = resolve(scene, referent)
        found.add(POSITIONS[places[0]] if places else f"absent {number}")
    return frozenset(found)


def _finding(scene: Scene, edits: dict[str, list[Scene]], answers: Sequence[str], claim: Claim | None) -> Finding:
    """From the answers about the scene and, in order, its edits; an explanation that cannot be read cites nothing."""
    things = [thing for thing, scenes in edits.items() for _ in scenes]
    used = frozenset(thing for thing, answer in zip(things, answers[1:], strict=True) if answer != answers[0])
    if claim is None:
        return Finding(used, frozenset(), there=False)
    there = all(_is_there(claim, number, scene) for number in range(len(claim.facts)))
    return Finding(used, things_cited(claim, scene), there)


def _is_there(claim: Claim, number: int, scene: Scene) -> bool:
    fact = claim.facts[number]
    if fact.attribute == "background":
        return fact.value == scene.background
    return bool(resolve(scene, description(fact)))


def _answers(
    model: ChatModel, items: Sequence[tuple[str, Item]], asked: Sequence[Sequence[Scene]], seed: int
) -> list[list[str]]:
    """The answers about every scene of every item in canonical form, or as they were said."""
    about = [(name, item, scene) for (name, item), scenes in zip(items, asked, strict=True) for scene in scenes]

    def request(one: tuple[str, Item, Scene]) -> ChatRequest:
        name, item, scene = one
        return ChatRequest(name, (_opening(item, scene),), derive_seed(seed, name, "answer"))

    replies = (reply.text for _, reply in map_requests(about, request, model.generate, BATCH))
    said = (parse_answer(text) or text for text in replies)
    return [[next(said) for _ in scenes] for scenes in asked]


def _claims(
    model: ChatModel, items: Sequence[tuple[str, Item]], answers: Sequence[str], seed: int
) -> list[Claim | None]:
    """What is cited for the answer to each item."""

    def request(one: tuple[tuple[str, Item], str]) -> ChatRequest:
        (name, item), answer = one
        turns = (_opening(item, item.scene), ChatMessage("assistant", answer), ChatMessage("user", "Why?"))
        return ChatRequest(name, turns, derive_seed(seed, name, "explanation"))

    talks = list(zip(items, answers, strict=True))
    return [parse_explanation(reply.text) for _, reply in map_requests(talks, request, model.generate, BATCH)]


def _opening(item: Item, scene: Scene) -> ChatMessage:
    return ChatMessage("user", item.question, Image.from_pixels(render(scene)))


def _question(item: Item) -> Question:
    question = parse_question(item.question)
    assert question is not None, "items ask in the words of the drawn world"
    return question
