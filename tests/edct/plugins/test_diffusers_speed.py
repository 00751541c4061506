"""Edits made cheaper: batches, kept steps and small weights, on tiny random checkpoints."""

from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError, PluginError
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.edct.plugins import diffusers_editor, diffusers_pipelines, diffusers_speed
from cfeval.edct.plugins.diffusers_pipelines import KINDS, MODELS, fitting
from cfeval.edct.plugins.diffusers_speed import SpeedOptions
from cfeval.inference.local import devices, libraries
from tests.answers import answers
from tests.edct.plugins.test_diffusers_editor import (  # noqa: F401
    BATCHES,
    IMAGE,
    _small_conditioning,
    afresh,
    built,
    edited,
    hashes,
    middle,
    request,
    spec,
)
from tests.slow import fast_only
from tests.tiny.editors import checkpoint

SMALL = "Flux2KleinPipeline"
KEEPS = "QwenImageEditPipeline"
IMAGES = [IMAGE, *(Image.from_pixels(np.rot90(IMAGE.pixels, 2).copy()) for _ in range(1))]


def asked() -> list[Any]:
    """Three requests of one size, of which no part is the same."""
    said = ("keep the circle", "change the color of the bus")
    return [request(1), *(request(2 + n, image=IMAGES[n % 2], positive=text) for n, text in enumerate(said))]


@pytest.mark.parametrize("pipeline", fast_only(BATCHES, SMALL))
class TestBatches:
    @pytest.mark.slow
    def test_an_image_depends_neither_on_its_company_nor_on_its_place_and_is_that_painted_alone_but_for_rounding(
        self, pipeline: str
    ) -> None:
        """At most two of 256 levels in float32, in few pixels; another prompt, image or seed is far more."""
        editor = built(pipeline, batch=3)
        one, two, three = asked()
        together = edited(editor, one, two, three)
        named = hashes(together)
        assert len(set(named)) == 3
        assert hashes(edited(editor, one)) == named[:1]
        assert hashes(edited(editor, three, one, two)) == [named[2], *named[:2]]
        for alone, other in zip(edited(built(pipeline), one, two, three), together, strict=True):
            assert alone.image is not None
            assert other.image is not None
            far = np.abs(alone.image.pixels.astype(int) - other.image.pixels)
            assert far.max() <= 2
            assert (far > 0).mean() < 0.05
            assert other.details == {**alone.details, "batch": "3"}

    @pytest.mark.slow
    def test_images_of_several_sizes_go_in_batches_of_their_own(self, pipeline: str) -> None:
        editor = built(pipeline, batch=2)
        wide = request(5, image=Image.from_pixels(np.ascontiguousarray(IMAGE.pixels.swapaxes(0, 1))))
        mixed = edited(editor, request(1), wide, request(2))
        assert hashes(mixed) == [hashes(edited(editor, each))[0] for each in (request(1), wide, request(2))]


@pytest.mark.slow
def test_a_pipeline_that_paints_one_at_a_time_refuses_a_batch() -> None:
    for pipeline in set(KINDS) - set(BATCHES):
        with pytest.raises(ParamsError, match=f"{pipeline} paints one image at a time; remove 'batch'"):
            built(pipeline, batch=2)


@pytest.mark.slow
def test_an_image_that_flux_2_cannot_take_is_a_status_and_the_others_are_edited() -> None:
    flat = Image.from_pixels(np.zeros((40, 400, 3), dtype=np.uint8))
    refused, fine = answers(built(SMALL, batch=2).edit, [request(image=flat), request(2)])
    assert (refused.status, refused.image) == (Status.EDIT_INVALID, None)
    assert refused.reason.startswith("it would be painted at ")
    assert fine.status == Status.OK
    long = answers(built(SMALL, max_pixels=512 * 512).edit, [request(image=flat)])[0]
    assert "the longer may be 8 times the shorter at most" in long.reason


@pytest.mark.slow
def test_kept_steps_change_the_image_the_same_way_each_time() -> None:
    plain = edited(built(KEEPS, steps=6))
    editor = afresh(KEEPS, steps=6, step_cache=0.9)
    kept = edited(editor)
    assert hashes(kept) != hashes(plain)
    assert kept[0].details["step_cache"] == "0.9"
    edited(editor, request(7))
    assert edited(editor) == kept


@pytest.mark.slow
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
    assert reply.image is not None
    assert plain.image is not None
    assert reply.image != plain.image
    assert np.abs(reply.image.pixels.astype(int) - plain.image.pixels).mean() < 12
    assert edited(small)[0] == reply


@pytest.mark.parametrize(
    ("pipeline", "options", "message"),
    [
        ("FluxKontextPipeline", {"step_cache": 0.1}, "FluxKontextPipeline cannot use 'step_cache'"),
        ("StableDiffusionImg2ImgPipeline", {"float8": True}, "has no transformer, which float8 is for"),
        (SMALL, {"float8": True, "offload": "model"}, "does not go with float8"),
        (SMALL, {"quantization": "torchao_int8", "offload": "model"}, "does not go with quantization 'torchao_int8'"),
        (SMALL, {"quantization": "torchao_int8", "float8": True}, "float8 does not go with quantization"),
        (SMALL, {"quantization": "torchao_int8", "lora": "a/b"}, "a fused lora; set lora_fused: false"),
        (SMALL, {"float8": True, "lora": "a/b", "lora_fused": False}, "leave lora_fused out"),
        (SMALL, {"torch_compile": True, "float8": True}, "use quantization: torchao_float8 instead"),
        (SMALL, {"torch_compile": True, "offload": "sequential"}, "set offload: model or none"),
        (KEEPS, {"torch_compile": True, "step_cache": 0.1}, "step_cache, which decides while it paints"),
        ("StableDiffusionImg2ImgPipeline", {"attention": "native"}, "no transformer, which attention is for"),
        ("StableDiffusionImg2ImgPipeline", {"torch_compile": True}, "no transformer, which torch_compile is for"),
        ("LongCatImageEditPipeline", {"lora": "a/b"}, "cannot use a 'lora'"),
        (SMALL, {"lora_scale": 0.5}, "is about an adapter, and no 'lora' is given"),
        (SMALL, {"lora": "a/b", "lora_file": "weights.bin"}, "option 'lora_file'"),
        (SMALL, {"attention": "fast"}, "option 'attention'"),
        (SMALL, {"scheduler": {"shifd": 3}}, "FlowMatchEulerDiscreteScheduler has no setting 'shifd'; did you mean 's"),
    ],
)
def test_what_cannot_be_made_cheaper_so_is_refused_before_anything_loads(
    pipeline: str, options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diffusers_editor, "load", lambda *_: pytest.fail("something was loaded"))
    with pytest.raises(ParamsError, match=message) as caught:
        afresh(pipeline, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantization": "torchao_int8"}, "needs the package 'torchao'; install it, or set quantization: none"),
        ({"attention": "sage"}, "attention: sage needs the package 'sageattention'; install it, or set attention: "),
        ({"lora": "a/b"}, "lora needs the package 'peft'; install it, or set lora: ''"),
    ],
)
def test_a_package_that_is_not_there_is_one_line(
    options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libraries, "find_spec", lambda name: None)
    with pytest.raises(PluginError, match=message):
        afresh(SMALL, **options)
    assert [f.fine for f in registry.diagnose("editors", spec(SMALL, **options)) if message in f.text] == [False]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"quantization": "bitsandbytes_4bit"}, "'bitsandbytes_4bit' needs a CUDA GPU.*set quantization: torchao_int8"),
        ({"quantization": "torchao_float8_dynamic"}, "needs a CUDA GPU"),
        ({"attention": "_native_cudnn"}, "attention '_native_cudnn' needs a CUDA GPU.*set attention: auto"),
    ],
)
def test_what_takes_a_gpu_is_refused_without_one(
    options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(libraries, "find_spec", lambda name: True)
    with pytest.raises(PluginError, match=message):
        afresh(SMALL, **options)


@pytest.mark.slow
def test_another_attention_paints_the_same_but_for_rounding() -> None:
    from diffusers.models.attention_dispatch import AttentionBackendName, _AttentionBackendRegistry

    try:
        [reply] = edited(afresh(SMALL, attention="_native_math"))
    finally:
        _AttentionBackendRegistry.set_active_backend(AttentionBackendName.NATIVE)
    [plain] = edited(built(SMALL))
    assert reply.image is not None
    assert plain.image is not None
    assert reply.details == {**plain.details, "attention": "_native_math"}
    assert np.abs(reply.image.pixels.astype(int) - plain.image.pixels).max() <= 1


@pytest.mark.slow
def test_a_changed_scheduler_changes_the_image() -> None:
    [shifted], [plain] = edited(afresh(SMALL, scheduler={"shift": 3.0})), edited(built(SMALL))
    assert shifted.image != plain.image
    assert shifted.details == {**plain.details, "scheduler": '{"shift": 3.0}'}


@pytest.mark.slow
def test_compiled_blocks_paint_the_same_but_for_rounding(monkeypatch: pytest.MonkeyPatch) -> None:
    from torch._inductor import config

    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")  # a pool of processes that import torch takes longer
    monkeypatch.setattr(config.cpp, "vec_isa_ok", False)  # to find the vector units takes longer than all blocks
    [compiled], [plain] = edited(afresh(SMALL, torch_compile=True)), edited(built(SMALL))
    assert compiled.image is not None
    assert plain.image is not None
    assert np.abs(compiled.image.pixels.astype(int) - plain.image.pixels).max() <= 2
    assert compiled.details == {**plain.details, "torch_compile": "True"}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pipeline", "sets"), [(KEEPS, {"step_cache": diffusers_speed.FAST_CACHE}), (SMALL, {"torch_compile": True})]
)
def test_the_preset_fast_paints_what_its_settings_paint(
    pipeline: str, sets: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")
    assert edited(afresh(pipeline, speed="fast")) == edited(afresh(pipeline, **sets))


@pytest.mark.parametrize(
    ("pipeline", "options", "float8", "sets"),
    [
        (KEEPS, {}, True, {"step_cache": "0.05", "quantization": "torchao_float8_dynamic"}),
        (KEEPS, {"step_cache": 0.2, "quantization": "torchao_int8"}, True, None),
        (KEEPS, {"torch_compile": True}, False, None),
        (SMALL, {}, True, {"torch_compile": "True", "quantization": "torchao_float8_dynamic"}),
        (SMALL, {}, False, {"torch_compile": "True"}),
        (SMALL, {"torch_compile": False}, False, {}),
        (SMALL, {"float8": True}, True, {"float8": "True"}),
        (SMALL, {"offload": "sequential"}, True, {}),
        (SMALL, {"offload": "model"}, True, {"torch_compile": "True"}),
        ("StableDiffusionImg2ImgPipeline", {}, True, {}),
    ],
)
def test_the_preset_fast_sets_what_pipeline_and_device_bear_and_leaves_what_is_set(
    pipeline: str, options: dict[str, Any], float8: bool, sets: dict[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That a GPU multiplies eight-bit floats is claimed here; no GPU was at hand."""
    monkeypatch.setattr(diffusers_speed, "multiplies_float8", lambda device: float8)
    offload = options.pop("offload", "none")
    given = SpeedOptions.model_validate(options)
    faster = diffusers_speed.preset(given.model_copy(update={"speed": "fast"}), KINDS[pipeline], "cuda", offload)
    kept = diffusers_speed.details(given)
    assert diffusers_speed.details(faster) == (kept if sets is None else sets)
    diffusers_speed.check_speed(pipeline, KINDS[pipeline], faster, offload)


@pytest.mark.slow
def test_the_gate_lets_no_image_pass_that_a_fast_editor_spoils(tmp_path: Path) -> None:
    """A network of random weights changes all of an image, so that nothing of it passes, whatever it skips."""
    (tmp_path / "masks").mkdir()
    PIL.Image.fromarray(middle().astype(np.uint8) * 255).save(tmp_path / "masks/i.png")
    verifier = {"plugin": "localised", "mask": {"plugin": "folder", "folder": str(tmp_path / "masks")}}
    gate = {"plugin": "gated", "editor": spec(KEEPS, speed="fast"), "verifier": verifier}
    [reply] = answers(registry.build("editors", gate).edit, [request()])
    assert (reply.status, reply.image) == (Status.EDIT_INVALID, None)
    assert reply.reason.startswith("not verified: ")
    assert [attempt.details["step_cache"] for attempt in reply.attempts] == ["0.05", "0.05"]


def test_doctor_and_estimate_say_what_fast_is_to_be_checked_by() -> None:
    verifier = {"plugin": "semantic", "model": {"plugin": "mock"}}
    for speed, said in (("fast", ["speed fast changes images: put the editor behind plugin gated"]), ("plain", [])):
        gate = {"plugin": "gated", "editor": spec(SMALL, speed=speed), "verifier": verifier}
        lines = registry.advice("editors", gate)
        assert [line.partition(";")[0] for line in lines] == said
    told = "; ".join(f.text for f in registry.diagnose("editors", spec(SMALL, speed="fast")))
    assert "painted by Flux2KleinPipeline; speed fast: torch_compile True" in told


def test_small_weights_count_as_small() -> None:
    folder = checkpoint(SMALL)
    whole, eight, four = (
        diffusers_editor.size(folder, "bfloat16", SpeedOptions.model_validate({"quantization": name}))
        for name in ("none", "torchao_int8", "bitsandbytes_4bit")
    )
    assert whole - eight == 2 * (eight - four) > 0


class TestAdapterFiles:
    def test_results_depend_on_its_file(self, tmp_path: Path) -> None:
        (tmp_path / "few-steps.safetensors").write_bytes(b"")
        for named in (tmp_path, tmp_path / "few-steps.safetensors"):
            files = registry.dependencies("editors", spec(SMALL, lora=str(named)))
            assert str(tmp_path / "few-steps.safetensors") in files
        assert not any("few" in file for file in registry.dependencies("editors", spec(SMALL)))

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"lora": "own/name"}, "which file of 'own/name' on the hub\\? set lora_file"),
            ({"lora": "{folder}/none.safetensors"}, "no file none.safetensors in "),
            ({"lora": "{folder}"}, "set lora_file to one of: cut.safetensors, other.safetensors"),
            ({"lora": "{folder}", "lora_file": "cut.safetensors"}, "cut.safetensors is cut short"),
        ],
    )
    def test_one_that_is_not_there_or_not_whole_is_one_line(
        self, options: dict[str, str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "cut.safetensors").write_bytes(b"\x08")
        (tmp_path / "other.safetensors").write_bytes(b"")
        monkeypatch.setattr(libraries, "find_spec", lambda name: True)
        named = {name: value.format(folder=tmp_path) for name, value in options.items()}
        with pytest.raises(PluginError, match=message) as caught:
            afresh(SMALL, **named)
        assert "\n" not in str(caught.value)


def test_what_a_pipeline_can_take_is_what_diffusers_offers() -> None:
    import diffusers

    for name, kind in KINDS.items():
        pipeline = getattr(diffusers, name)
        if name != "LEditsPPPipelineStableDiffusion":
            assert kind.lora == hasattr(pipeline, "load_lora_weights"), name
        assert kind.transformer == ("transformer" in pipeline.model_cpu_offload_seq), name


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
    assert all(len(row) == 9 for row in diffusers_pipelines.table())
    assert fitting(0) == []
    assert fitting(1e12) == list(MODELS)
