"""Edits made cheaper: batches, kept steps and small weights, on tiny random checkpoints."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError
from cfeval.core.images import Picture
from cfeval.core.records import Status
from cfeval.edct.plugins import diffusers_models
from cfeval.edct.plugins.diffusers_models import MODELS, fitting
from cfeval.edct.plugins.diffusers_pipelines import KINDS
from cfeval.inference.local import devices
from tests.answers import answers
from tests.edct.plugins.test_diffusers_editor import (  # noqa: F401
    BATCHES,
    PICTURE,
    _small_conditioning,
    afresh,
    built,
    edited,
    hashes,
    request,
    spec,
)
from tests.slow import fast_only

SMALL = "Flux2KleinPipeline"
KEEPS = "QwenImageEditPipeline"
PICTURES = [PICTURE, *(Picture.from_pixels(np.rot90(PICTURE.pixels, 2).copy()) for _ in range(1))]


def asked() -> list[Any]:
    """Three requests of one size, of which no part is the same."""
    said = ("keep the circle", "change the color of the bus")
    return [request(1), *(request(2 + n, picture=PICTURES[n % 2], positive=text) for n, text in enumerate(said))]


@pytest.mark.parametrize("pipeline", fast_only(BATCHES, SMALL))
class TestBatches:
    def test_a_picture_does_not_depend_on_its_company_or_its_place(self, pipeline: str) -> None:
        editor = built(pipeline, batch=3)
        one, two, three = asked()
        together = hashes(edited(editor, one, two, three))
        assert len(set(together)) == 3
        assert hashes(edited(editor, one)) == together[:1]
        assert hashes(edited(editor, three, one, two)) == [together[2], *together[:2]]

    @pytest.mark.slow
    def test_a_batch_paints_what_is_painted_alone_but_for_rounding(self, pipeline: str) -> None:
        """At most two of 256 levels in float32, in few pixels; another prompt, picture or seed is far more."""
        alone, together = edited(built(pipeline), *asked()), edited(built(pipeline, batch=3), *asked())
        for one, other in zip(alone, together, strict=True):
            assert one.picture is not None
            assert other.picture is not None
            far = np.abs(one.picture.pixels.astype(int) - other.picture.pixels)
            assert far.max() <= 2
            assert (far > 0).mean() < 0.05
            assert other.details == {**one.details, "batch": "3"}

    @pytest.mark.slow
    def test_pictures_of_several_sizes_go_in_batches_of_their_own(self, pipeline: str) -> None:
        editor = built(pipeline, batch=2)
        wide = request(5, picture=Picture.from_pixels(np.ascontiguousarray(PICTURE.pixels.swapaxes(0, 1))))
        mixed = edited(editor, request(1), wide, request(2))
        assert hashes(mixed) == [hashes(edited(editor, each))[0] for each in (request(1), wide, request(2))]


def test_a_pipeline_that_paints_one_at_a_time_refuses_a_batch() -> None:
    for pipeline in set(KINDS) - set(BATCHES):
        with pytest.raises(ParamsError, match=f"{pipeline} paints one picture at a time; remove 'batch'"):
            built(pipeline, batch=2)


@pytest.mark.slow
def test_a_picture_that_flux_2_cannot_take_is_a_status_and_the_others_are_edited() -> None:
    flat = Picture.from_pixels(np.zeros((40, 400, 3), dtype=np.uint8))
    refused, fine = answers(built(SMALL, batch=2).edit, [request(picture=flat), request(2)])
    assert (refused.status, refused.picture) == (Status.EDIT_INVALID, None)
    assert refused.reason.startswith("it would be painted at ")
    assert fine.status == Status.OK
    long = answers(built(SMALL, max_pixels=512 * 512).edit, [request(picture=flat)])[0]
    assert "the longer may be 8 times the shorter at most" in long.reason


@pytest.mark.slow
def test_kept_steps_change_the_picture_the_same_way_each_time() -> None:
    plain = edited(built(KEEPS, steps=6))
    editor = afresh(KEEPS, steps=6, step_cache=0.9)
    kept = edited(editor)
    assert hashes(kept) != hashes(plain)
    assert kept[0].details["step_cache"] == "0.9"
    edited(editor, request(7))
    assert edited(editor) == kept


def test_kept_steps_skip_the_network() -> None:
    editor = afresh(KEEPS, steps=6, true_cfg=1.0, step_cache=0.9)
    calls: list[int] = []
    block = editor.pipe.transformer.transformer_blocks[-1].attn
    block.register_forward_hook(lambda *_: calls.append(1))
    edited(editor)
    assert 1 <= len(calls) < 6


@pytest.mark.slow
def test_weights_of_eight_bits_take_a_quarter_and_paint_nearly_the_same(tmp_path: Path) -> None:
    import torch

    plain, small = edited(built(SMALL))[0], afresh(SMALL, float8=True)
    weights = small.pipe.transformer.single_transformer_blocks[0].attn.to_out.weight
    assert weights.dtype == torch.float8_e4m3fn
    reply = edited(small)[0]
    assert reply.picture is not None
    assert plain.picture is not None
    assert reply.picture != plain.picture
    assert np.abs(reply.picture.pixels.astype(int) - plain.picture.pixels).mean() < 12
    assert edited(small)[0] == reply


@pytest.mark.parametrize(
    ("pipeline", "options", "message"),
    [
        ("FluxKontextPipeline", {"step_cache": 0.1}, "FluxKontextPipeline cannot use 'step_cache'"),
        ("StableDiffusionImg2ImgPipeline", {"float8": True}, "has no transformer, which float8 is for"),
        (SMALL, {"float8": True, "offload": "model"}, "does not go with float8"),
    ],
)
def test_what_cannot_be_made_cheaper_so_is_refused(pipeline: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParamsError, match=message):
        built(pipeline, **options)


def test_a_schedule_of_the_checkpoint_is_the_only_one() -> None:
    editor = afresh("QwenImage21Pipeline")
    editor.pipe.register_to_config(sample_sigmas=[1.0, 0.6, 0.2])
    with pytest.raises(ParamsError, match="a schedule of its own, of 3 steps; set steps: 3"):
        KINDS["QwenImage21Pipeline"].prepare(editor.pipe, {"steps": 2})
    KINDS["QwenImage21Pipeline"].prepare(editor.pipe, {"steps": 3})


def test_the_doctor_names_the_editors_that_fit_the_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(devices, "chosen", lambda device: "cuda")
    for gib, fit, too_large in ((24, "FLUX.2-klein-4B", "Qwen-Image-Edit"), (141, "Qwen-Image-Edit", "nothing")):
        monkeypatch.setattr(devices, "memory", lambda place, gib=gib: gib * 2**30)
        told = "; ".join(f.text for f in registry.diagnose("editors", spec(SMALL, device="cuda")))
        assert f"published editors that fit the {gib} GiB of cuda: " in told
        assert fit in told
        assert too_large not in told


def test_every_published_editor_is_one_that_can_be_used() -> None:
    """All are of pipelines that are known here; the one to begin with is free to use."""
    assert {name for model in MODELS for name in model.pipelines} <= set(KINDS)
    assert MODELS[0].licence == "Apache-2.0"
    assert all(len(row) == 9 for row in diffusers_models.table())
    assert fitting(0) == []
    assert fitting(1e12) == list(MODELS)
