"""Yes and no as models phrase them: a grammar of openings, answers and reasons, in all their combinations."""

from collections.abc import Iterator
from itertools import product
from typing import NamedTuple

import pytest

from cfeval.cvqa.extraction.robust import read
from cfeval.inference.thinking import without_thoughts


class Topic(NamedTuple):
    """A question, and what can be said of it."""

    question: str
    subject: str
    pronoun: str
    verb: str
    claim: str
    """What follows subject and verb where the answer is yes."""
    reason: str
    """A clause that neither answers nor contradicts."""
    aside: str
    """A sentence about something else, that holds none of the question's words."""


TOPICS = (
    Topic(
        *("Would the man be wet if he stood in the rain?", "the man", "he", "would", "be wet"),
        *("nothing else matters in this story", "The street has two lamps."),
    ),
    Topic(
        *("If the lamp was switched on, would the room be brighter?", "the room", "it", "would", "be brighter"),
        *("lamps are made for that", "The walls are green."),
    ),
    Topic(
        *("Would the dogs be able to see the ball if the fence was removed?", "the dogs", "they", "would"),
        *("be able to see the ball", "fences are made of wood", "The grass is short."),
    ),
    Topic(
        *("Is the child holding a kite?", "the child", "she", "is", "holding a kite"),
        *("the string is in view", "Clouds are in the sky."),
    ),
    Topic(
        *("Could the bus still stop here if the sign was taken away?", "the bus", "it", "could", "stop here"),
        *("signs are only signs", "The road is gray."),
    ),
)
WORDS = {
    "yes": ["yes", "Yes", "YES", "**Yes**", '"Yes"', "yeah", "yep"],
    "no": ["no", "No", "NO", "**No**", '"No"', "nope"],
}
LEADS = [
    *("", "Considering the scene, ", "Looking at the image, ", "Based on the picture, ", "From what I can see, "),
    *("Judging by the image, ", "According to the picture, ", "Given the scenario, ", "In this image, ", "Well, "),
    *("In that case, ", "Under those circumstances, ", "In this hypothetical scenario, ", "Hmm, ", "So, ", "Then, "),
    *("To answer your question, ", "In my opinion, ", "As far as I can tell, ", "Overall, ", "In short, ", "Okay, "),
    *("Taking everything into account, ", "After looking at the picture, ", "All things considered, "),
    *("Hypothetically, ", "Thinking about the light, the time, and the place, ", "As described, ", "Even then, "),
]
SAYING = [
    *("{}.", "{}!", "I would say {}.", "I'd say {}.", "I think {}.", "my answer is {}.", "the answer is {}."),
    *("the answer would be {}.", "I would go with {}.", "I have to say {}.", "it's a {}.", "that would be a clear {}."),
    *("most likely {}.", "definitely {}.", "I believe the answer is {}.", "I would have to answer {}."),
    *("I would answer this with a {}.", "I'd answer the question with a clear {}."),
]
FIXED = {
    "yes": [
        *("I think so.", "I believe so.", "I would say so.", "it seems so.", "it looks like it.", "absolutely."),
        *("certainly.", "of course.", "definitely.", "without a doubt.", "that is correct.", "that would be the case."),
        *("very much so.", "most certainly.", "I would imagine so."),
        *("that statement is true.", "I'd say the claim is correct."),
    ],
    "no": [
        *("I don't think so.", "I do not believe so.", "I wouldn't say so.", "it doesn't seem so.", "I doubt it."),
        *("absolutely not.", "certainly not.", "of course not.", "definitely not.", "not at all.", "I think not."),
        *("I'm afraid not.", "that is not the case.", "that would not be the case.", "by no means.", "not really."),
        *("unlikely.", "rather unlikely.", "hardly.", "not likely.", "not a chance.", "that claim is false."),
    ],
}
STATED = {
    "yes": [
        *("{pronoun} {verb}.", "{subject} {verb}.", "{subject} {verb} {claim}.", "{pronoun} {verb} {claim}."),
        *("{subject} {verb} certainly {claim}.", "I think {pronoun} {verb} {claim}.", "I'm sure {pronoun} {verb}."),
        *("I believe that {subject} {verb} {claim}.", "it is clear that {subject} {verb} {claim}."),
        *("certainly, {pronoun} {verb} {claim}.", "of course {pronoun} {verb}.", "{pronoun} {verb} indeed."),
        *("{subject} {verb} most likely {claim}.", "it seems that {subject} {verb} {claim}."),
        *("the claim that {subject} {verb} {claim} is true.", "the statement that {pronoun} {verb} {claim} is right."),
    ],
    "no": [
        *("{pronoun} {verb} not.", "{subject} {verb} not.", "{subject} {verb} not {claim}.", "{pronoun} {verb}n't."),
        *("{pronoun} {verb} not {claim}.", "{subject} {verb} no longer {claim}.", "{subject} {verb} never {claim}."),
        *("I don't think {pronoun} {verb} {claim}.", "I do not think that {subject} {verb} {claim}."),
        *("I doubt that {pronoun} {verb} {claim}.", "it is unlikely that {subject} {verb} {claim}."),
        *("I think {pronoun} {verb} not {claim}.", "I am certain {subject} {verb}n't {claim}."),
        *("it does not seem that {subject} {verb} {claim}.", "{subject} {verb} probably not {claim}."),
        *("the claim that {subject} {verb} {claim} is false.", "the idea that {pronoun} {verb} {claim} is wrong."),
        *("{subject} {verb} hardly {claim}.", "{pronoun} {verb} scarcely {claim}."),
    ],
}
OPENED = [
    "{}, because {reason}.",
    "{}, since {reason}.",
    "{}. {aside}",
    "{} - {reason}.",
    "{}; {reason}.",
    "{}: {reason}.",
]
CONCLUDED = [
    "{aside} So {}.",
    "{reason}, so {}.",
    "{reason}, so I would say {}.",
    "{aside} Therefore, {}.",
    "{aside}\n\n{}",
]
AGREED = [
    *("Certainly, {pronoun} {verb} like that.", "Absolutely, {pronoun} {verb} as described."),
    *("Of course {pronoun} {verb} like that.", "Definitely. {aside}"),
]
"""Nobody knows the words of what is agreed to: `certainly, he would be soaked`."""
UNCLEAR = [
    *("maybe.", "perhaps.", "possibly.", "it depends.", "hard to say.", "I can't tell.", "I'm not sure.", "not sure."),
    *(
        "yes and no.",
        "yes or no.",
        "either.",
        "neither.",
        "I don't know.",
        "no idea.",
        "it is unclear.",
        "not necessarily.",
    ),
    *("maybe yes.", "perhaps not.", "I cannot determine that.", "it could go either way.", "{subject}?", "yes?"),
    *("{pronoun} might.", "{pronoun} may {claim}.", "it's possible that {pronoun} {verb} {claim}.", "{question}"),
    *("I cannot say yes.", "I would not say yes.", "there is a chance that {pronoun} {verb} {claim}.", "{aside}"),
    *("I am unsure whether {pronoun} {verb} {claim}.", "yes if it is night, no if it is day.", "{reason}."),
    *("it is hard to say whether {subject} {verb} {claim}.", "perhaps {pronoun} {verb}.", "who knows."),
    *("sure! Here is what I see.", "certainly! The image shows a street.", "of course! Let me look.", "no comment."),
    *(
        "some would say yes, others no.",
        "the claim that the street is long is true.",
        "the question is whether {subject} {verb} {claim}.",
    ),
]


def _put(phrase: str, topic: Topic, **more: str) -> str:
    parts = topic._asdict() | more
    for name, text in parts.items():
        phrase = phrase.replace("{" + name + "}", text)
    return phrase


def _sentence(lead: str, rest: str) -> str:
    """With a capital letter first, as a model writes."""
    text = lead + rest
    return text[:1].upper() + text[1:]


def clear_replies(topic: Topic) -> Iterator[tuple[str, str]]:
    """Replies that are clear to a person, and their answers."""
    for answer, words in WORDS.items():
        plain = words[0]
        yield from ((word + end, answer) for word, end in product(words, ["", ".", "!", "\n"]))
        for lead, form in product(LEADS, SAYING):
            yield _sentence(lead, form.replace("{}", plain)), answer
        for lead, form in product(LEADS, FIXED[answer] + STATED[answer]):
            yield _sentence(lead, _put(form, topic)), answer
        for form in OPENED:
            yield _put(form, topic).replace("{}", words[1]), answer
        for form in CONCLUDED:
            yield _sentence("", _put(form, topic).replace("{}", plain)), answer
        for form, reason in product(FIXED[answer], [", because {reason}.", ". {aside}"]):
            yield _sentence("", _put(form.rstrip(".") + reason, topic)), answer
        for form in STATED[answer]:
            yield _sentence("", _put(form.rstrip(".") + ", because {reason}.", topic)), answer
    yield from ((_put(form, topic), "yes") for form in AGREED)


def unclear_replies(topic: Topic) -> Iterator[str]:
    """Replies that answer neither yes nor no."""
    for lead, form in product(LEADS, UNCLEAR):
        yield _sentence(lead, _put(form, topic))


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.subject)
def test_of_clear_replies_95_in_100_are_read_and_none_wrongly(topic: Topic) -> None:
    found = [(reply, wanted, read(reply, "boolean", question=topic.question)) for reply, wanted in clear_replies(topic)]
    assert len(found) > 1500
    assert [one for one in found if one[2] not in (None, one[1])] == []
    unread = [reply for reply, _, got in found if got is None]
    assert len(unread) <= 0.05 * len(found), unread


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.subject)
def test_unclear_replies_stay_unread(topic: Topic) -> None:
    found = [(reply, read(reply, "boolean", question=topic.question)) for reply in unclear_replies(topic)]
    assert [one for one in found if one[1] is not None] == []


@pytest.mark.parametrize(
    ("reply", "wanted"),
    [
        ("I don't think so.", "no"),
        ("Considering the scene, I would say yes.", "yes"),
        ("Looking at the image, no.", "no"),
        ("Certainly, he would be soaked.", "yes"),
        ("Certainly, he would be dry.", None),  # it agrees to the opposite of what was asked
        ("I don't think so, yes.", None),
        ("N/A", None),
        ("Absolutely — without the umbrella the rain would hit him.", "yes"),
        ("Given the heavy rain, he'd definitely get wet.", "yes"),
        ("The claim is that he would be wet.", None),
        ("The sign says no parking.", None),
        ("I think the man would be dry.", None),
        ("Certainly not. He would be wet.", None),
    ],
)
def test_replies_that_were_unread_once_and_their_neighbours(reply: str, wanted: str | None) -> None:
    assert without_thoughts(reply) == reply
    assert read(reply, "boolean", question=TOPICS[0].question) == wanted
