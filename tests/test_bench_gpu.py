"""The benchmark of a GPU, run on a processor with networks that are tiny and otherwise the same."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import yaml
from bench import checkpoints, floors, gpu, meter, sizes, vce_cost, vce_valid
from bench.gpu import Place
from bench.meter import Peak
from bench.sizes import KLEIN_TINY, KONTEXT_TINY, QWEN3_TINY, QWEN_EDIT_TINY, QWEN_TINY, ChatSize, EditorSize
from bench.table import Found, Table

from cfeval.core import registry
from tests.edct.plugins.test_diffusers_editor import _small_conditioning  # noqa: F401
from tests.slow import fast_only

PLACE = Place("cpu", torch.float32, Peak(flops=1e9, bandwidth=1e9))
TERA = 1e12


@pytest.fixture(scope="module")
def edits() -> list[dict[str, list[str]]]:
    return [{row[0]: list(row) for row in table.rows} for table in gpu.edit_tables(KONTEXT_TINY, PLACE, (1, 2))]


@pytest.fixture(scope="module")
def chats() -> list[dict[str, list[str]]]:
    return [{row[0]: list(row) for row in table.rows} for table in gpu.chat_tables(QWEN_TINY, PLACE, (1, 2), tokens=4)]


def flux_step(places: int, words: int) -> int:
    """Operations of one step of the tiny FLUX.1's transformer, by hand: a product of weights and x costs 2 a weight."""
    width, joint, tokens = 32, 32, places + words
    attention = 4 * tokens**2 * width  # queries by keys, and their shares by values
    layers = 24 * width**2 * tokens  # queries, keys, values, output: 4; two layers of four times the width: 8
    shifts = {"double": 2 * 2 * 6 * width**2, "single": 2 * 3 * width**2}
    blocks = 1 * (layers + attention + shifts["double"]) + 1 * (layers + attention + shifts["single"])
    ends = 2 * places * 4 * width + 2 * words * joint * width + 2 * places * width * 4
    times = 2 * 2 * (256 * width + width**2) + 2 * (32 * width + width**2)
    return blocks + ends + times + 2 * width * 2 * width


@pytest.mark.slow
def test_the_operations_of_a_step_are_those_counted_by_hand(edits: list[dict[str, list[str]]]) -> None:
    places = 2 * (64 // 4) ** 2  # what is painted and what is seen, 2 × 2 latents of 2 × 2 pixels a place
    assert float(edits[0]["transformer"][4]) == pytest.approx(2 * flux_step(places, 512) / TERA, rel=0.01)


@pytest.mark.slow
def test_an_edit_is_told_part_by_part(edits: list[dict[str, list[str]]]) -> None:
    calls = {name: row[1] for name, row in edits[0].items()}
    once = {"CLIP": "1", "T5": "1", "VAE, encoding": "1", "VAE, decoding": "1"}
    assert calls == {**once, "transformer": str(KONTEXT_TINY.steps), "host": "", "whole": ""}
    assert sum(float(row[3].rstrip("%")) for row in edits[0].values() if row[3]) == pytest.approx(100, abs=0.5)


@pytest.mark.slow
def test_steps_that_are_not_run_count_as_those_that_are() -> None:
    [parts] = gpu.edit_tables(replace(KONTEXT_TINY, steps=6, timed=2), PLACE, (1, 2))
    rows = {row[0]: row for row in parts.rows}
    assert rows["transformer"][1] == "6"
    assert float(rows["transformer"][4]) == pytest.approx(6 * flux_step(2 * (64 // 4) ** 2, 512) / TERA, rel=0.01)
    assert float(rows["whole"][2]) >= float(rows["transformer"][2])
    assert "2 steps were run" in parts.notes[1]


def test_attention_whose_heads_share_keys_is_counted() -> None:
    queries, keys = torch.randn(2, 8, 16, 32), torch.randn(2, 2, 24, 32)
    with meter.counting() as counter:
        torch.nn.functional.scaled_dot_product_attention(queries, keys, keys, enable_gqa=True)
    assert counter.get_total_flops() == 2 * (2 * 2 * 8 * 16 * 24 * 32)


@pytest.mark.slow
def test_two_images_at_once_are_twice_the_work(edits: list[dict[str, list[str]]]) -> None:
    assert set(edits[1]) == {"1", "2"}
    assert float(edits[1]["2"][2]) <= float(edits[1]["1"][2])  # weights are read once for both
    assert float(edits[1]["2"][2]) == pytest.approx(float(edits[1]["1"][2]), rel=0.1)


@pytest.mark.slow
def test_a_step_counted_without_numbers_is_the_step_that_is_run(edits: list[dict[str, list[str]]]) -> None:
    flops, moved = floors.step(KONTEXT_TINY)
    assert KONTEXT_TINY.steps * flops / TERA == pytest.approx(float(edits[0]["transformer"][4]), rel=0.005)
    assert KONTEXT_TINY.steps * moved * 2 / 1e9 == pytest.approx(float(edits[0]["transformer"][5]), rel=0.005)


@pytest.mark.slow
@pytest.mark.parametrize("size", [KLEIN_TINY, QWEN_EDIT_TINY], ids=lambda size: size.name)
def test_every_editor_is_told_part_by_part(size: EditorSize) -> None:
    parts, *swept = ({row[0]: row for row in table.rows} for table in gpu.edit_tables(size, PLACE, (1, 2)))
    assert set(parts) == {*size.readers.values(), "VAE, encoding", "VAE, decoding", "transformer", "host", "whole"}
    assert parts["transformer"][1] == str(size.steps * size.calls)
    assert [set(rows) for rows in swept] == ([{"1", "2"}] if size is KLEIN_TINY else [])


@pytest.mark.slow
def test_every_chat_model_is_told_part_by_part() -> None:
    speeds, parts = gpu.chat_tables(QWEN3_TINY, PLACE, (1,), tokens=3)
    assert [row[0] for row in speeds.rows] == ["1"]
    assert [row[:2] for row in parts.rows][:3] == [["vision", "1"], ["reading", "1"], ["writing", "2"]]


@pytest.mark.slow
def test_a_counterfactual_is_told_beside_its_floor() -> None:
    (table,) = vce_cost.gpu_tables(PLACE.peak, (1,), "cpu", vce_cost.SMALL)
    ((batch, seconds, floor, times, *_),) = table.rows
    assert batch == "1"
    assert float(times) == pytest.approx(float(seconds) / float(floor), rel=0.1, abs=0.06)


@pytest.mark.slow
def test_methods_are_compared_by_the_seconds_of_a_valid_counterfactual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vce_valid, "PLOT", tmp_path / "plot.svg")
    monkeypatch.setattr(vce_valid, "IMAGES", 2)
    monkeypatch.setattr(vce_valid, "EXPLAINED", ("standard",))
    monkeypatch.setattr(vce_valid, "PLAIN", ("base", "maskdime", "neither"))
    monkeypatch.setattr(vce_valid, "BFLOAT16", ("base",))
    (table,) = vce_valid.tables()
    found = {name: cells for name, *cells in table.rows}
    assert list(found) == ["base", "base, bfloat16", "maskdime", "neither"]
    for name, cells in found.items():
        valid, seen, distance, each = map(float, cells[:4])
        assert distance > 2
        for share, text in ((valid, cells[4]), (seen, cells[5])):
            assert each == pytest.approx(float(text) * share, abs=0.001) if share else text == "none is"
        assert min(valid, seen) >= 0.5 or name == "neither"
    assert float(found["base, bfloat16"][2]) == pytest.approx(float(found["base"][2]), rel=0.05)
    drawn = (tmp_path / "plot.svg").read_text()
    assert all(name in drawn for name in ("base", "maskdime", "neither", "OTA: by the oracles"))
    assert "bfloat16" not in drawn


def test_every_method_of_the_study_has_its_seconds_of_a_valid_counterfactual() -> None:
    methods = yaml.safe_load(vce_valid.PARAMS.read_text())["vce"]["methods"]
    assert set(vce_valid.PLAIN) == set(methods) - {"rejection", "unguided"}


def test_without_a_gpu_the_floors_are_told_and_what_was_found_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr("bench.table.FOUND", tmp_path)
    monkeypatch.setattr(floors, "tables", lambda: [Table("Floors", (), ())])
    assert [table.title for table in gpu.tables()] == ["Not measured", "Floors"]
    assert "torch finds no CUDA GPU here" in capsys.readouterr().err
    Found("a GPU", [Table("Edits", (), ())], "2026-11-28").save("gpu")
    with pytest.raises(SystemExit) as ended:
        gpu.tables()
    assert ended.value.code == 0


@pytest.mark.slow
def test_a_reply_is_read_once_and_written_token_by_token(chats: list[dict[str, list[str]]]) -> None:
    assert set(chats[0]) == {"1", "2"}
    assert {name: row[1] for name, row in chats[1].items() if row[1]} == {"vision": "1", "reading": "1", "writing": "3"}


def test_the_bytes_of_a_token_are_the_weights_and_what_was_kept_of_all_before(tmp_path: Path) -> None:
    path = checkpoints.chat(QWEN_TINY, tmp_path)
    chat = registry.build("chat", {"plugin": "transformers", "model": str(path), "device": "cpu"})
    requests = [gpu._request(number, 56) for number in range(2)]
    found = gpu._chat_bytes(chat, requests, tokens=3)
    prompt = chat._conversations.encode(requests)["input_ids"].shape[1]
    text = 2 * (64 * 64 + 64 + 2 * (64 * 32 + 32) + 64 * 64 + 3 * 64 * 96 + 2 * 64)  # two layers, norms included
    weights = 4 * (text + 64 * sizes.VOCABULARY)
    kept = 2 * 2 * 2 * 16 * 4  # keys and values, layers, heads, width, bytes
    assert found["reading"] == weights
    assert found["writing"] == 2 * weights + 2 * kept * (2 * prompt + 3)


PUBLISHED = {
    "FLUX.2-Klein-4B": {"transformer": 3.876, "text_encoder": 4.022},
    "FLUX.1-Kontext": {"transformer": 11.901, "text_encoder_2": 4.762},
    "Qwen-Image-Edit": {"transformer": 20.430, "text_encoder": 8.292},
    "Qwen2.5-VL-7B": 8.292,
    "Qwen3-VL-8B": 8.767,
}
"""Billions of weights that the published files hold."""


@pytest.mark.parametrize("name", fast_only(PUBLISHED, "Qwen3-VL-8B"))
def test_the_large_models_have_the_published_number_of_weights(name: str) -> None:
    (size,) = (size for size in (*sizes.EDITORS, *sizes.CHATS) if size.name == name)

    def billions(network: torch.nn.Module) -> float:
        return round(sum(weight.numel() for weight in network.parameters()) / 1e9, 3)

    with torch.device("meta"):
        if isinstance(size, ChatSize):
            found: object = billions(checkpoints.chat_network(size))
        else:
            of = PUBLISHED[name]
            assert isinstance(of, dict)
            found = {name: billions(checkpoints.network(size, name)) for name in of}
    assert found == PUBLISHED[name]


@pytest.mark.slow
def test_a_faster_gpu_has_a_lower_floor_and_more_steps_a_higher_one() -> None:
    edits, tokens = floors.tables()
    for row in edits.rows:
        h200, _, a100, *_ = (float(cell) for cell in row[4:])
        assert h200 < a100
    least = {row[0]: float(row[4]) for row in edits.rows}
    assert least["FLUX.2-Klein-4B"] < least["FLUX.1-Kontext"] < least["Qwen-Image-Edit"]
    assert all(float(row[2]) > float(row[3]) for row in tokens.rows)


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
