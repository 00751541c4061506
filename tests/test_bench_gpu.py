"""The benchmark of a GPU, run on a processor with networks that are tiny and otherwise the same."""

from pathlib import Path

import pytest
import torch
from bench import checkpoints, gpu, meter
from bench.checkpoints import FLUX_TINY, QWEN_TINY
from bench.gpu import Place
from bench.meter import Peak

from cfeval.core import registry
from tests.tiny import vlms

PLACE = Place("cpu", torch.float32, Peak(flops=1e9, bandwidth=1e9))
TERA = 1e12


@pytest.fixture(scope="module")
def edits() -> list[dict[str, list[str]]]:
    return [{row[0]: list(row) for row in table.rows} for table in gpu.edit_tables(FLUX_TINY, PLACE, (1, 2))]


@pytest.fixture(scope="module")
def chats() -> list[dict[str, list[str]]]:
    return [{row[0]: list(row) for row in table.rows} for table in gpu.chat_tables(QWEN_TINY, PLACE, (1, 2), tokens=4)]


def flux_step(places: int, words: int) -> int:
    """Operations of one step of `FLUX_TINY`'s transformer, by hand: a product of weights and x costs 2 a weight."""
    width, joint, tokens = 32, 32, places + words
    attention = 4 * tokens**2 * width  # queries by keys, and their shares by values
    layers = 24 * width**2 * tokens  # queries, keys, values, output: 4; two layers of four times the width: 8
    shifts = {"double": 2 * 2 * 6 * width**2, "single": 2 * 3 * width**2}
    blocks = 1 * (layers + attention + shifts["double"]) + 2 * (layers + attention + shifts["single"])
    ends = 2 * places * 4 * width + 2 * words * joint * width + 2 * places * width * 4
    times = 2 * 2 * (256 * width + width**2) + 2 * (32 * width + width**2)
    return blocks + ends + times + 2 * width * 2 * width


@pytest.mark.slow
def test_the_operations_of_a_step_are_those_counted_by_hand(edits: list[dict[str, list[str]]]) -> None:
    places = 2 * (64 // 4) ** 2  # what is painted and what is seen, 2 × 2 latents of 2 × 2 pixels a place
    assert float(edits[0]["transformer"][4]) == pytest.approx(2 * flux_step(places, 512) / TERA, rel=0.01)


def test_an_edit_is_told_part_by_part(edits: list[dict[str, list[str]]]) -> None:
    calls = {name: row[1] for name, row in edits[0].items()}
    once = {"CLIP": "1", "T5": "1", "VAE, encoding": "1", "VAE, decoding": "1"}
    assert calls == {**once, "transformer": str(FLUX_TINY.steps), "host": "", "whole": ""}
    assert sum(float(row[3].rstrip("%")) for row in edits[0].values() if row[3]) == pytest.approx(100, abs=0.5)


def test_a_step_for_two_pictures_is_twice_the_work(edits: list[dict[str, list[str]]]) -> None:
    assert float(edits[1]["2"][2]) == pytest.approx(float(edits[1]["1"][2]), rel=0.01)


@pytest.mark.slow
def test_a_reply_is_read_once_and_written_token_by_token(chats: list[dict[str, list[str]]]) -> None:
    assert set(chats[0]) == {"1", "2"}
    assert {name: row[1] for name, row in chats[1].items() if row[1]} == {"vision": "1", "reading": "1", "writing": "3"}


def test_the_bytes_of_a_token_are_the_weights_and_what_was_kept_of_all_before(tmp_path: Path) -> None:
    path = checkpoints.qwen(QWEN_TINY, tmp_path)
    chat = registry.build("chat", {"plugin": "transformers", "model": str(path), "device": "cpu"})
    requests = [gpu._request(number, 56) for number in range(2)]
    found = gpu._chat_bytes(chat, requests, tokens=3)
    prompt = chat._conversations.encode(requests)["input_ids"].shape[1]
    text = 2 * (64 * 64 + 64 + 2 * (64 * 32 + 32) + 64 * 64 + 3 * 64 * 96 + 2 * 64)  # two layers, norms included
    weights = 4 * (text + 64 * checkpoints.VOCABULARY)
    kept = 2 * 2 * 2 * 16 * 4  # keys and values, layers, heads, width, bytes
    assert found["reading"] == weights
    assert found["writing"] == 2 * weights + 2 * kept * (2 * prompt + 3)


def test_the_large_models_have_the_published_number_of_weights() -> None:
    """8.29 billion (Qwen2.5-VL-7B), 11.9 billion (FLUX.1) and 4.76 billion (the encoder of T5 v1.1 XXL)."""
    from diffusers import FluxTransformer2DModel
    from transformers import T5Config, T5EncoderModel

    own = vlms.qwen2_5_vl()[0].config.to_dict()
    with torch.device("meta"):
        networks = [checkpoints.qwen_network(checkpoints.QWEN_7B, own)]
        networks.append(FluxTransformer2DModel(**checkpoints.FLUX_KONTEXT.transformer))
        networks.append(T5EncoderModel(T5Config(**checkpoints.FLUX_KONTEXT.words)))
    billions = [sum(weight.numel() for weight in network.parameters()) / 1e9 for network in networks]
    assert billions == pytest.approx([8.292, 11.901, 4.762], abs=0.001)


def test_a_floor_is_the_larger_of_operations_and_bytes() -> None:
    peak = Peak(flops=100.0, bandwidth=10.0)
    assert (peak.floor(200, 5), peak.floor(50, 30)) == (2.0, 3.0)


def test_a_machine_reaches_something_in_products_and_copies() -> None:
    found = meter.peak("cpu", torch.float32, side=32, size=4096)
    assert found.flops > 0
    assert found.bandwidth > 0


def test_a_part_inside_another_is_not_counted_twice() -> None:
    class Nested:
        def outer(self) -> torch.Tensor:
            return self.inner() @ torch.ones(2, 2)

        def inner(self) -> torch.Tensor:
            return torch.ones(4, 2) @ torch.ones(2, 2)

    nested = Nested()
    probes = [meter.Probe(nested, "outer", "outer"), meter.Probe(nested, "inner", "inner")]
    parts = meter.watched(probes, "cpu", lambda: nested.outer(), count=True)
    assert {name: part.flops for name, part in parts.items()} == {"host": 0, "outer": 32, "inner": 32}
