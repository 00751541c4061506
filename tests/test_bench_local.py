"""The benchmark of local models, at a size that a test can run."""

from pathlib import Path

import pytest
from bench import checkpoints, local
from bench.sizes import QWEN_TINY


@pytest.mark.slow
def test_replies_are_the_same_whatever_the_batch(tmp_path: Path) -> None:
    path = checkpoints.chat(QWEN_TINY, tmp_path)
    table = local.measured(path, QWEN_TINY, (1, 3), items=4, tokens=6)
    assert [(row[0], row[1], row[-1]) for row in table.rows] == [
        ("one turn", "1", "0 of 4"),
        ("one turn", "3", "0 of 4"),
        ("two turns", "1", "0 of 4"),
        ("two turns", "3", "0 of 4"),
    ]


def test_what_the_small_model_says_can_be_read(tmp_path: Path) -> None:
    """Else all replies were alike, and no difference could show."""
    from cfeval.core import registry

    path = checkpoints.chat(QWEN_TINY, tmp_path)
    spec = {"plugin": "transformers", "model": str(path), "device": "cpu", "max_tokens": 8}
    images = [local._image(number, 56) for number in range(3)]
    replies = local._hold(registry.build("chat", spec), images, 1)
    assert all(len(text) > 3 for (text,) in replies)
