"""Sampling a word: inversion of the cumulative distribution."""

import math
import random
from collections import Counter

from cfeval.world.networks.speech import choose


def test_temperature_zero_takes_the_first_of_the_likeliest() -> None:
    assert choose([0.0, 3.0, 3.0], random.Random(0), 0) == 1


def test_words_come_as_often_as_their_probability_says() -> None:
    logits = [math.log(0.7), math.log(0.2), math.log(0.1)]
    stream = random.Random(1)
    counts = Counter(choose(logits, stream, 1.0) for _ in range(4000))
    assert abs(counts[0] / 4000 - 0.7) < 0.03
    assert abs(counts[2] / 4000 - 0.1) < 0.02


def test_a_low_temperature_sharpens_the_choice() -> None:
    stream = random.Random(2)
    assert {choose([1.0, 0.0], stream, 0.05) for _ in range(200)} == {0}
