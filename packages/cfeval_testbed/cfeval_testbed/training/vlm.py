"""Trains the small VLM with all four personas in one checkpoint, on top of reader A, which stays as it is."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from cfeval_testbed.items import sample_question
from cfeval_testbed.language.explanations import (
    CANONICAL_ANSWERS,
    is_true,
    parse_answer,
    parse_explanation,
    word_answer,
    word_claim,
)
from cfeval_testbed.language.questions import PERSONAS, QUESTION_KINDS, Persona, Question, respond, word_question
from cfeval_testbed.models.layers import Array, to_floats
from cfeval_testbed.models.vlm import END, TURN, SmallVLM, Vocabulary, complete, persona_token, talking_words, words_of
from cfeval_testbed.records import Scene
from cfeval_testbed.render import render_many
from cfeval_testbed.scenes import sample_scene
from cfeval_testbed.training.common import (
    Descent,
    Figures,
    History,
    StateDict,
    for_inference,
    half_precision,
    parameter_count,
    seed_everything,
    share,
    shipped,
    to_tensor,
)
from cfeval_testbed.training.networks import vlm as networks
from cfeval_testbed.training.reader import augment

_IMAGES, _CONVERSATIONS = 40, 4
_PERSONA_WEIGHTS = (0.4, 0.25, 0.1, 0.25)
_ANSWER_WEIGHT = 3.0
_CONTENT_WEIGHT = 3.0
_CONTENT = frozenset(word for value in CANONICAL_ANSWERS for word in value.split())
_KIND_WEIGHTS = (1.0, 1.0, 2.0, 2.0, 1.5, 1.0, 0.5)


@dataclass(frozen=True)
class Conversation:
    """Two turns as words, and how many of the first are the question."""

    question: list[str]
    answer: list[str]
    explanation: list[str]

    def words(self) -> list[str]:
        """The whole conversation, as the network reads it."""
        return [*self.question, *self.answer, END, "why", TURN, *self.explanation, END]


def train(seed: int, steps: int) -> tuple[StateDict, Figures]:
    """Trains on freshly drawn, uncorrelated scenes and measures every persona on scenes that were not seen."""
    rng = seed_everything(seed)
    vocabulary = Vocabulary(talking_words())
    model = networks.SmallVLM(len(vocabulary))
    model.reader.load_state_dict(shipped("reader-a"), strict=False)
    model.train().reader.eval().requires_grad_(False)
    descent = Descent(model.parameters(), 2e-3, steps)
    history = History(100)
    for step in range(1, steps + 1):
        scenes = [sample_scene(rng, 0, 4) for _ in range(_IMAGES)]
        talks = [converse(scene, rng) for scene in scenes for _ in range(_CONVERSATIONS)]
        images = augment(to_tensor(render_many(scenes)), "a", rng)
        loss = talk_loss(model, model.look(images), vocabulary, talks)
        descent.step(loss)
        history.add(step, loss.item())
    weights = half_precision(model)
    figures: Figures = {"parameters": parameter_count(model), "steps": steps, "seed": seed, "history": history.rows}
    trained = SmallVLM(for_inference(weights))
    return weights, figures | {"held_out": {p: measure(trained, vocabulary, p, seed + 1) for p in PERSONAS}}


def converse(scene: Scene, rng: random.Random) -> Conversation:
    """A question about the scene, and the answer and explanation of a persona, in random wordings."""
    persona = rng.choices(PERSONAS, _PERSONA_WEIGHTS)[0]
    question = _ask(scene, rng)
    response = respond(persona, question, scene)
    return conversation(
        persona, word_question(question, rng), word_answer(response.answer, rng), word_claim(response.claim, rng)
    )


def conversation(persona: str, question: str, answer: str, explanation: str) -> Conversation:
    """The two turns as words."""
    opening = [persona_token(persona), *words_of(question), TURN]
    return Conversation(opening, words_of(answer), words_of(explanation))


def _ask(scene: Scene, rng: random.Random) -> Question:
    while True:
        question = sample_question(scene, rng.choices(QUESTION_KINDS, _KIND_WEIGHTS)[0], rng)
        if question is not None:
            return question


def talk_loss(
    model: networks.SmallVLM,
    memory: Tensor,
    vocabulary: Vocabulary,
    talks: Sequence[Conversation],
    answer_weight: float = _ANSWER_WEIGHT,
) -> Tensor:
    """Mean cross entropy of the network's own words; answers and words of content weigh more, questions nothing."""
    texts = [vocabulary.encode(talk.words()) for talk in talks]
    length = max(map(len, texts))
    words = torch.tensor([[*text, *[0] * (length - len(text))] for text in texts])
    weights = torch.zeros(words.shape)
    for row, (talk, text) in enumerate(zip(talks, texts, strict=True)):
        answer = len(talk.question)
        weights[row, answer : answer + len(talk.answer) + 1] = answer_weight
        reason = [_CONTENT_WEIGHT if word in _CONTENT else 1.0 for word in (*talk.explanation, END)]
        weights[row, len(text) - len(reason) : len(text)] = torch.tensor(reason)
    logits = model(memory, words[:, :-1])
    entropy = functional.cross_entropy(logits.flatten(0, 1), words[:, 1:].flatten(), reduction="none")
    weights = weights[:, 1:].flatten()
    return (entropy * weights).sum() / weights.sum()


def measure(
    model: SmallVLM, vocabulary: Vocabulary, persona: Persona, seed: int, count: int = 700, temperature: float = 0.5
) -> dict[str, float]:
    """Shares of answers and explanations that follow the persona's plan, by kind of question, on held-out scenes."""
    rng = random.Random(seed)
    scenes = [sample_scene(rng, 0, 4) for _ in range(count)]
    asked = [_ask_kind(scene, number, rng) for number, scene in enumerate(scenes)]
    openings = [
        vocabulary.encode([persona_token(persona), *words_of(word_question(question, rng)), TURN]) for question in asked
    ]
    memory = model.look(to_floats(list(render_many(scenes))))
    answers, explanations = two_turns(model, vocabulary, memory, openings, list(range(count)), temperature)
    plans = [respond(persona, question, scene) for question, scene in zip(asked, scenes, strict=True)]
    right = [parse_answer(text) == plan.answer for text, plan in zip(answers, plans, strict=True)]
    claims = [parse_explanation(text) for text in explanations]
    kept = [claim == plan.claim for claim, plan in zip(claims, plans, strict=True)]
    true = [claim is not None and is_true(claim, scene) for claim, scene in zip(claims, scenes, strict=True)]
    figures = {"answers": share(right), "explanations_as_planned": share(kept), "explanations_true": share(true)}
    for kind in QUESTION_KINDS:
        figures[f"answers_{kind}"] = share(
            hit for hit, question in zip(right, asked, strict=True) if question.kind == kind
        )
    return figures


def _ask_kind(scene: Scene, number: int, rng: random.Random) -> Question:
    """The kinds take turns as far as the scenes allow."""
    return sample_question(scene, QUESTION_KINDS[number % len(QUESTION_KINDS)], rng) or _ask(scene, rng)


def two_turns(
    model: SmallVLM,
    vocabulary: Vocabulary,
    memory: Array,
    openings: Sequence[list[int]],
    seeds: Sequence[int],
    temperature: float,
) -> tuple[list[str], list[str]]:
    """Answers to the questions, and the explanations of these answers."""
    end = vocabulary.index(END)
    answers = complete(model, memory, openings, seeds, temperature, end, 8)
    again = vocabulary.encode([END, "why", TURN])
    prompts = [[*opening, *answer, *again] for opening, answer in zip(openings, answers, strict=True)]
    reasons = complete(model, memory, prompts, [seed + 1 for seed in seeds], temperature, end, 30)
    return [vocabulary.decode(answer) for answer in answers], [vocabulary.decode(reason) for reason in reasons]
