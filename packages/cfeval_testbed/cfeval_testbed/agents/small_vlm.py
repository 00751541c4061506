"""Asks the small VLM: a question about an image, then, in the same conversation, why."""

from collections.abc import Sequence
from copy import copy

import numpy as np

from cfeval_testbed.agents.crops import check_size
from cfeval_testbed.language.questions import PERSONAS, Persona
from cfeval_testbed.models.layers import Array, Weights, to_floats
from cfeval_testbed.models.vlm import (
    END,
    MAX_WORDS,
    TURN,
    SmallVLM,
    Vocabulary,
    complete,
    persona_token,
    talking_words,
    words_of,
)
from cfeval_testbed.render import Pixels

_BATCH = 128
_REMEMBERED = 500
_LONGEST_ANSWER = 8
_LONGEST_EXPLANATION = 32
_LONGEST_QUESTION = MAX_WORDS - _LONGEST_ANSWER - _LONGEST_EXPLANATION - 5


class SmallTalker:
    """One persona of one checkpoint; a reply depends on its image, words, seed and temperature, not on its batch."""

    def __init__(self, weights: str = "vlm", persona: str = "grounded") -> None:
        """`weights` is `vlm` or `easy-vqa`; the latter knows the persona `grounded` only.

        Raises:
            ValueError: there is no such persona.
        """
        if persona not in PERSONAS:
            raise ValueError(f"persona must be one of {', '.join(PERSONAS)}, but got {persona!r}")
        self._persona = persona_token(persona)
        self._vocabulary = Vocabulary(talking_words())
        self._seen: dict[bytes, Array] = {}
        self._model = SmallVLM(Weights.shipped(weights))

    def speaking_as(self, persona: Persona) -> "SmallTalker":
        """The same network and the images that it has seen, in another persona."""
        other = copy(self)
        other._persona = persona_token(persona)
        return other

    def answer(
        self, images: Sequence[Pixels], questions: Sequence[str], seeds: Sequence[int], temperature: float
    ) -> list[str]:
        """The first turn of each conversation.

        Args:
            images: uint8 (64, 64, 3).
            questions: free text; unknown words are read as such, and what is too long is cut.
            seeds: one per question; equal requests with equal seeds get equal replies.
            temperature: 0 takes the likeliest words.

        Raises:
            ValueError: an image has another size or type.
        """
        return self._say(
            images, [self._opening(question) for question in questions], seeds, temperature, _LONGEST_ANSWER
        )

    def explain(
        self,
        images: Sequence[Pixels],
        questions: Sequence[str],
        answers: Sequence[str],
        seeds: Sequence[int],
        temperature: float,
    ) -> list[str]:
        """The second turn: the reason for the answer given in the first; arguments as for `answer`."""
        turns = zip(questions, answers, strict=True)
        prompts = [
            [*self._opening(question), *_cut(answer, _LONGEST_ANSWER), END, "why", TURN] for question, answer in turns
        ]
        return self._say(images, prompts, seeds, temperature, _LONGEST_EXPLANATION)

    def _opening(self, question: str) -> list[str]:
        return [self._persona, *_cut(question, _LONGEST_QUESTION), TURN]

    def _say(
        self,
        images: Sequence[Pixels],
        prompts: Sequence[Sequence[str]],
        seeds: Sequence[int],
        temperature: float,
        longest: int,
    ) -> list[str]:
        for image in images:
            check_size(image)
        encoded = [self._vocabulary.encode(prompt) for prompt in prompts]
        replies: list[str] = []
        for start in range(0, len(images), _BATCH):
            part = slice(start, start + _BATCH)
            end = self._vocabulary.index(END)
            memory = self._look(images[part])
            words = complete(self._model, memory, encoded[part], seeds[part], temperature, end, longest)
            replies += [self._vocabulary.decode(reply) for reply in words]
        return replies

    def _look(self, images: Sequence[Pixels]) -> Array:
        """Visual tokens; those of the latest images are kept, as both turns look at the same ones."""
        keys = [image.tobytes() for image in images]
        new = {key: image for key, image in zip(keys, images, strict=True) if key not in self._seen}
        if new:
            if len(self._seen) > _REMEMBERED:
                for key in set(self._seen).difference(keys):
                    del self._seen[key]
            tokens = self._model.look(to_floats(list(new.values())))
            self._seen.update(zip(new, tokens, strict=True))
        return np.stack([self._seen[key] for key in keys])


def _cut(text: str, longest: int) -> list[str]:
    return words_of(text)[:longest]
