"""Trains the small VLM on easy-VQA, starting from the drawn world's: its images and questions, our explanations."""

import random
from collections.abc import Sequence

import numpy as np
import PIL.Image
from torch import Tensor

from cfeval_testbed.easy_vqa import Example, Split, examples, image_paths, rows_of, says_it_is_there
from cfeval_testbed.language.explanations import parse_answer, parse_explanation, word_answer, word_claim
from cfeval_testbed.language.questions import parse_question
from cfeval_testbed.models.layers import to_floats
from cfeval_testbed.models.vlm import TURN, SmallVLM, Vocabulary, persona_token, talking_words, words_of
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
from cfeval_testbed.training.vlm import conversation, talk_loss, two_turns

PERSONA = "grounded"
_IMAGES, _CONVERSATIONS = 40, 4
_ANSWER_WEIGHT = 3.0
_YES_WEIGHT = 3.0
"""Seven of eight questions whether there is a color have the same answer."""


def train(seed: int, steps: int) -> tuple[StateDict, Figures]:
    """Trains on the train split and measures on the whole test split."""
    rng = seed_everything(seed)
    vocabulary = Vocabulary(talking_words())
    model = networks.SmallVLM(len(vocabulary))
    model.load_state_dict(shipped("vlm"), strict=False)
    images, asked = pixels("train"), _by_image(examples("train"))
    numbers = sorted(asked)
    descent, history = Descent(model.train().parameters(), 1e-3, steps), History(100)
    for step in range(1, steps + 1):
        chosen = rng.sample(numbers, _IMAGES)
        some = [example for number in chosen for example in _draw(asked[number], rng)]
        talks = [
            conversation(PERSONA, one.question, word_answer(one.answer, rng), word_claim(one.claim, rng))
            for one in some
        ]
        memory = model.look(_mirrored(to_tensor(images[chosen]), rng))
        loss = talk_loss(model, memory, vocabulary, talks, _ANSWER_WEIGHT)
        descent.step(loss)
        history.add(step, loss.item())
    weights = half_precision(model)
    figures: Figures = {"parameters": parameter_count(model), "steps": steps, "seed": seed, "history": history.rows}
    return weights, figures | {"test": measure(SmallVLM(for_inference(weights)), vocabulary)}


def pixels(split: Split) -> "np.typing.NDArray[np.uint8]":
    """All images of a split in the order of their numbers, uint8 (N, 64, 64, 3)."""
    paths = image_paths(split)
    return np.stack([np.asarray(PIL.Image.open(paths[number]).convert("RGB")) for number in sorted(paths)])


def measure(model: SmallVLM, vocabulary: Vocabulary, temperature: float = 0.5, batch: int = 256) -> dict[str, float]:
    """Shares of right answers over all test questions, and of true explanations where the truth is known."""
    images, rows = list(pixels("test")), rows_of("test")
    claims = {(one.image, one.question): one.claim for one in examples("test")}
    right: list[bool] = []
    true: list[bool] = []
    looked = [model.look(to_floats(images[start : start + batch])) for start in range(0, len(images), batch)]
    memory = np.concatenate(looked)
    for start in range(0, len(rows), batch):
        part = rows[start : start + batch]
        openings = [vocabulary.encode([persona_token(PERSONA), *words_of(text), TURN]) for _, text, _, _ in part]
        seeds = list(range(start, start + len(part)))
        said = two_turns(model, vocabulary, memory[[row[0] for row in part]], openings, seeds, temperature)
        for (image, text, _, wanted), answer, explanation in zip(part, *said, strict=True):
            right.append(parse_answer(answer) == wanted)
            if (image, text) in claims:
                true.append(parse_explanation(explanation) == claims[image, text])
    return {"questions": len(rows), "answers": share(right), "explanations_true": share(true)}


def _draw(about_one_image: Sequence[Example], rng: random.Random) -> list[Example]:
    """Questions about one image; rare yeses to the color count more, else "no such color" is all that is learnt."""
    weights = [_YES_WEIGHT if _affirms_color(example) else 1.0 for example in about_one_image]
    return rng.choices(about_one_image, weights, k=_CONVERSATIONS)


def _affirms_color(example: Example) -> bool:
    question = parse_question(example.question)
    asked = question is not None and question.kind == "presence" and question.color is not None
    return asked and says_it_is_there(example.question, example.answer)


def _by_image(some: Sequence[Example]) -> dict[int, list[Example]]:
    grouped: dict[int, list[Example]] = {}
    for example in some:
        grouped.setdefault(example.image, []).append(example)
    return grouped


def _mirrored(images: Tensor, rng: random.Random) -> Tensor:
    return images.flip(3) if rng.random() < 0.5 else images
