"""Editors of the diffusers library on tiny checkpoints with random weights, every pipeline for itself."""

import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import get_ident
from typing import Any

import numpy as np
import PIL.Image
import pytest

from cfeval.core import registry
from cfeval.core.errors import ParamsError, PluginError
from cfeval.core.images import Image
from cfeval.core.records import Status
from cfeval.edct.interfaces import EditReply, EditRequest
from cfeval.edct.plugins import diffusers_editor, diffusers_speed
from cfeval.edct.plugins.diffusers_editor import finish, mask_at, paint_size, to_pixels
from cfeval.edct.plugins.diffusers_pipelines import KINDS
from tests.answers import answers
from tests.slow import fast_only, slow
from tests.tiny.editors import RECIPES, checkpoint, safety_checker

AREA = 64 * 64
IMAGE = Image.from_pixels(np.random.default_rng(0).integers(0, 255, (64, 48, 3), dtype=np.uint8))
MASKED = ["Flux2KleinInpaintPipeline", "FluxKontextInpaintPipeline", "StableDiffusionInpaintPipeline"]
GUIDED = {"guidance": 2.0, "true_cfg": 2.0, "image_guidance": 1.0}
NEGATIVE = [name for name, kind in KINDS.items() if kind.negative(GUIDED)]
BATCHES = [name for name, kind in KINDS.items() if kind.batches]
OTHER: dict[str, float] = {
    "steps": 2,
    "guidance": 3.5,
    "image_guidance": 1.1,
    "true_cfg": 3.0,
    "strength": 0.5,
    "edit_threshold": 0.2,
}
"""Of every setting a value that no pipeline has by itself; sizes apart, which differ by pipeline."""


def area(pipeline: str) -> int:
    """Pixels to paint: FLUX.2 refuses sides under 64."""
    return 4 * AREA if pipeline in ("Flux2Pipeline", "Flux2KleinPipeline") else AREA


def other(pipeline: str) -> dict[str, float]:
    """Of every setting of a pipeline another value."""
    sizes = {"min_pixels": area(pipeline) // 2, "max_pixels": area(pipeline) // 2}
    return {name: value for name, value in {**OTHER, **sizes}.items() if name in KINDS[pipeline].settings}


@pytest.fixture(autouse=True, scope="module")
def _small_conditioning() -> Iterator[None]:
    """Qwen's and LongCat's pipelines take a megapixel whatever comes in, which takes minutes on a processor."""
    from diffusers.pipelines.longcat_image import pipeline_longcat_image_edit as longcat
    from diffusers.pipelines.qwenimage import pipeline_qwenimage_edit as edit
    from diffusers.pipelines.qwenimage import pipeline_qwenimage_edit_plus as plus
    from diffusers.pipelines.qwenimage21 import pipeline_qwenimage21 as second

    sized, around, multiples = edit.calculate_dimensions, longcat.calculate_dimensions, second.calculate_dimensions
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edit, "calculate_dimensions", lambda area, ratio: sized(AREA, ratio))
        patch.setattr(plus, "CONDITION_IMAGE_SIZE", AREA)
        patch.setattr(plus, "VAE_IMAGE_SIZE", AREA)
        patch.setattr(longcat, "calculate_dimensions", lambda area, ratio: around(AREA // 2, ratio))
        patch.setattr(second, "calculate_dimensions", lambda area, ratio: multiples(AREA, ratio))
        yield


def spec(pipeline: str, /, **options: Any) -> dict[str, Any]:
    own = {"masks": "whole"} if pipeline in MASKED else {}
    small: dict[str, Any] = {"device": "cpu", "steps": 2}
    if "max_pixels" in KINDS[pipeline].settings:
        small["max_pixels"] = area(pipeline)
    return {"plugin": "diffusers", "model": str(checkpoint(pipeline)), **small, **own, **options}


_load, _LOADED = diffusers_editor.load, dict[str, Any]()


def _loaded_once(*arguments: Any) -> Any:
    *place, speed, lora = arguments
    key = repr((place, diffusers_speed.details(speed, lora)))
    if key not in _LOADED:
        _LOADED[key] = _load(*arguments)
    return _LOADED[key]


def built(pipeline: str, /, **options: Any) -> Any:
    """An editor, on a pipeline that the tests share: none changes it, and each edit follows from its request alone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diffusers_editor, "load", _loaded_once)
        return afresh(pipeline, **options)


def afresh(pipeline: str, /, **options: Any) -> Any:
    """An editor that loads its checkpoint itself."""
    return registry.build("editors", spec(pipeline, **options))


def request(seed: int = 1, **changes: Any) -> EditRequest:
    said: dict[str, Any] = {"positive": "change the red bus to blue", "negative": "red bus", "concept": "bus"}
    return EditRequest(**{"item": "i", "image": IMAGE, "seed": seed, **said, **changes})


def edited(editor: Any, *requests: EditRequest) -> list[EditReply]:
    replies: list[EditReply] = answers(editor.edit, requests or [request()])
    assert [reply.status for reply in replies] == [Status.OK] * len(replies)
    return replies


def hashes(replies: list[EditReply]) -> list[str]:
    return [reply.image.sha256 for reply in replies if reply.image]


@pytest.fixture
def masks(tmp_path: Path) -> Path:
    """A folder with a mask for the item `i`: its middle."""
    folder = tmp_path / "masks"
    folder.mkdir()
    PIL.Image.fromarray(middle().astype(np.uint8) * 255).save(folder / "i.png")
    return folder


def middle() -> Any:
    mask = np.zeros((64, 48), dtype=np.bool_)
    mask[20:45, 11:30] = True
    return mask


def test_every_pipeline_has_a_tiny_checkpoint() -> None:
    assert set(RECIPES) == set(KINDS)


@pytest.mark.parametrize("pipeline", fast_only(KINDS, "StableDiffusionImg2ImgPipeline"))
class TestEveryPipeline:
    @pytest.mark.slow
    def test_an_edit_comes_out_at_the_original_size_and_says_how_it_was_made(self, pipeline: str) -> None:
        reply = edited(built(pipeline))[0]
        assert reply.image is not None
        assert reply.image.pixels.shape == IMAGE.pixels.shape
        assert reply.image.sha256 != IMAGE.sha256
        said = {"pipeline": pipeline, "model": pipeline, "dtype": "float32", "seed": "1", "size": "48 × 64"}
        assert said.items() <= reply.details.items()
        width, height = (int(side) for side in reply.details["painted_size"].split(" × "))
        assert width * height <= area(pipeline)
        assert (width % KINDS[pipeline].grid, height % KINDS[pipeline].grid) == (0, 0)
        assert set(KINDS[pipeline].settings) <= set(reply.details)

    def test_the_same_seed_gives_the_same_bytes_also_after_loading_again(self, pipeline: str) -> None:
        import torch

        editor = built(pipeline)
        first, second = edited(editor, request(1)), edited(editor, request(2))
        torch.manual_seed(99)  # what else draws random numbers changes nothing
        assert edited(editor, request(1)) == first == edited(afresh(pipeline), request(1))
        assert hashes(first) != hashes(second)

    @pytest.mark.slow
    def test_a_batch_equals_one_at_a_time(self, pipeline: str) -> None:
        editor = built(pipeline)
        requests = [request(1), request(2, image=Image.from_pixels(IMAGE.pixels[:32])), request(3, negative="")]
        assert edited(editor, *requests) == [edited(editor, each)[0] for each in requests[::-1]][::-1]

    @pytest.mark.slow
    def test_prompt_and_image_have_an_effect(self, pipeline: str, masks: Path) -> None:
        """Looked at where a masked pipeline may paint, since elsewhere its image is the original."""
        editor = built(pipeline, **({"masks": str(masks)} if pipeline in MASKED else {}))
        mirrored = Image.from_pixels(np.ascontiguousarray(IMAGE.pixels[::-1]))
        asked = request(), request(positive="keep the circle"), request(image=mirrored)
        inside = [reply.image.pixels[middle()] for reply in edited(editor, *asked) if reply.image]
        assert (inside[0] != inside[1]).any()
        assert (inside[0] != inside[2]).any()

    @pytest.mark.slow
    def test_every_setting_has_an_effect(self, pipeline: str) -> None:
        before = edited(built(pipeline, steps=3))[0]
        for name, value in other(pipeline).items():
            after = edited(built(pipeline, **{"steps": 3, name: value}))[0]
            if name == "min_pixels":  # the image is too large for it to matter
                continue
            assert after.image != before.image, f"{name} changes nothing"
            assert float(after.details[name]) == value

    def test_a_setting_that_it_has_not_is_refused(self, pipeline: str) -> None:
        for name in {*OTHER, "min_pixels", "max_pixels"} - set(KINDS[pipeline].settings):
            with pytest.raises(
                ParamsError, match=f"^{pipeline} cannot use '{name}'; remove it; it can be set: .*steps"
            ):
                built(pipeline, **{name: OTHER.get(name, AREA)})


@pytest.mark.parametrize("pipeline", fast_only(NEGATIVE, "StableDiffusionImg2ImgPipeline"))
def test_a_negative_part_is_read_apart_where_guidance_reads_it(pipeline: str) -> None:
    guided = {"true_cfg": 2.0} if "true_cfg" in KINDS[pipeline].settings else {}
    editor = built(pipeline, **guided)
    one, another = edited(editor, request(negative="red bus"), request(negative="the circle of the color blue"))
    assert one.details["prompt"] == another.details["prompt"] == request().positive
    assert (one.details["negative_prompt"], one.details["negative_part"]) == ("red bus", "sent apart")
    assert hashes([one]) != hashes([another])


@pytest.mark.parametrize(
    ("pipeline", "unguided"),
    [
        ("FluxKontextPipeline", {}),
        slow("Flux2KleinPipeline", {}),
        slow("Flux2KleinInpaintPipeline", {}),
        slow("Flux2Pipeline", {}),
        slow("LongCatImageEditPipeline", {"guidance": 1.0}),
        slow("QwenImage21Pipeline", {"true_cfg": 1.0}),
        slow("FluxKontextInpaintPipeline", {"true_cfg": 1.0}),
        slow("QwenImageEditPipeline", {"true_cfg": 1.0}),
        slow("QwenImageEditPlusPipeline", {"true_cfg": 1.0}),
        slow("StableDiffusionInstructPix2PixPipeline", {"image_guidance": 0.9}),
        slow("StableDiffusionInpaintPipeline", {"guidance": 1.0}),
        ("StableDiffusionImg2ImgPipeline", {"guidance": 1.0}),
    ],
)
def test_where_no_guidance_reads_a_negative_prompt_it_is_folded_into_the_prompt(
    pipeline: str, unguided: dict[str, float]
) -> None:
    one, another = edited(built(pipeline, **unguided), request(), request(negative="the color of the circle"))
    assert one.details["prompt"] == "change the red bus to blue. Nothing of this must remain: red bus."
    assert (one.details["negative_prompt"], one.details["negative_part"]) == ("", "folded into the prompt")
    assert hashes([one]) != hashes([another])


@pytest.mark.slow
def test_a_text_too_long_for_the_model_is_said_to_be_cut() -> None:
    for pipeline in ("StableDiffusionImg2ImgPipeline", "LEditsPPPipelineStableDiffusion"):
        reply = edited(built(pipeline), request(positive="change the red bus " * 20))[0]
        assert reply.details["prompt_cut"].startswith("reads 77 of ")
        assert "negative_prompt_cut" not in reply.details


def test_while_a_pipeline_paints_no_other_thread_uses_its_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between calls it keeps whether it truncates: the painter would read a text of any length, or fail at it."""
    editor = afresh("StableDiffusionImg2ImgPipeline")
    kind = type(editor.pipe.tokenizer)
    tokenize, threads = kind.__call__, Counter[int]()

    def watched(tokenizer: Any, *texts: Any, **options: Any) -> Any:
        threads[get_ident()] += 1
        return tokenize(tokenizer, *texts, **options)

    monkeypatch.setattr(kind, "__call__", watched)
    edited(editor, *(request(seed) for seed in range(3)))
    assert list(threads) == [get_ident()]


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", fast_only(MASKED, "StableDiffusionInpaintPipeline"))
def test_outside_the_mask_every_pixel_stays(pipeline: str, masks: Path) -> None:
    reply = edited(built(pipeline, masks=str(masks)))[0]
    assert reply.image is not None
    changed = (reply.image.pixels != IMAGE.pixels).any(axis=2)
    assert not changed[~middle()].any()
    assert changed[middle()].mean() > 0.9
    assert (reply.details["mask"], reply.details["mask_share"]) == ("own", f"{middle().mean():.4f}")
    assert edited(built(pipeline))[0].image != reply.image


@pytest.mark.parametrize("pipeline", fast_only(MASKED, "StableDiffusionInpaintPipeline"))
def test_the_pipeline_itself_is_told_the_mask(pipeline: str, masks: Path) -> None:
    """What is painted inside a small mask differs from what is painted there when everything may change."""
    inside = edited(built(pipeline, masks=str(masks)))[0].image
    anywhere = edited(built(pipeline))[0].image
    assert inside is not None
    assert anywhere is not None
    assert (inside.pixels[middle()] != anywhere.pixels[middle()]).any()


def test_an_item_without_a_mask_is_a_status_and_the_others_are_edited(masks: Path) -> None:
    editor = built("StableDiffusionInpaintPipeline", masks=str(masks))
    without, with_one = answers(editor.edit, [request(item="j"), request()])
    assert (without.status, without.image) == (Status.EDIT_INVALID, None)
    assert without.reason == "no mask j-1.png or j.png in the mask folder"
    assert with_one.status == Status.OK


def test_an_inpainting_editor_that_is_to_change_nothing_gives_the_image_back(masks: Path) -> None:
    editor = built("StableDiffusionInpaintPipeline", masks=str(masks))
    [reply] = edited(editor, request(item="j", concept="nothing", nothing=True))
    assert reply.image is not None
    assert (reply.image.pixels == IMAGE.pixels).all()


def test_a_pipeline_that_needs_a_mask_says_so_and_one_that_cannot_use_it_too() -> None:
    with pytest.raises(ParamsError, match="paints inside a mask; set 'masks'"):
        built("StableDiffusionInpaintPipeline", masks="")
    with pytest.raises(ParamsError, match="FluxKontextPipeline cannot use a mask"):
        built("FluxKontextPipeline", masks="whole")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pipeline": "FluxKontextPipelin"}, "option 'pipeline' .* did you mean 'FluxKontextPipeline'"),
        ({"device": "gpu"}, "option 'device'"),
        ({"dtype": "int8"}, "option 'dtype'"),
        ({"offload": "disk"}, "option 'offload'"),
        ({"strength": 0.0}, "option 'strength'"),
        ({"strength": 0.3}, "no step is left of steps 2 at strength 0.3"),
        ({"min_pixels": 9000}, "min_pixels 9000 is over max_pixels 4096"),
        ({"guidence": 3}, "unknown option 'guidence'.*did you mean 'guidance'"),
        ({"masks": "whole", "mask_model": "a/b"}, "option 'mask_model' .* a second source of masks"),
        ({"mask_dilation": 3}, "option 'mask_dilation' .* none is given"),
    ],
)
def test_a_bad_option_is_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ParamsError, match=message) as caught:
        built("StableDiffusionImg2ImgPipeline", **options)
    assert "\n" not in str(caught.value)


def test_limits_of_the_size_move_each_other_where_only_one_is_given() -> None:
    small = edited(built("StableDiffusionImg2ImgPipeline", max_pixels=AREA // 4))[0]
    assert small.details["painted_size"] == "24 × 32"
    assert small.details["min_pixels"] == str(AREA // 4)


@pytest.mark.slow
def test_one_checkpoint_serves_another_pipeline_that_can_use_its_parts(tmp_path: Path) -> None:
    folder = copied("StableDiffusionImg2ImgPipeline", tmp_path)
    rename(folder, "StableDiffusionPipeline")
    with pytest.raises(
        PluginError, match="a checkpoint of 'StableDiffusionPipeline', which is no editor here; set 'pip"
    ):
        built("StableDiffusionImg2ImgPipeline", model=str(folder))
    named = built("StableDiffusionImg2ImgPipeline", model=str(folder), pipeline="StableDiffusionImg2ImgPipeline")
    assert hashes(edited(named)) == hashes(edited(built("StableDiffusionImg2ImgPipeline")))


def copied(pipeline: str, folder: Path) -> Path:
    return Path(shutil.copytree(checkpoint(pipeline), folder / "checkpoint"))


def rename(folder: Path, pipeline: str) -> None:
    index = json.loads((folder / "model_index.json").read_text())
    (folder / "model_index.json").write_text(json.dumps({**index, "_class_name": pipeline}))


def cut_off(folder: Path) -> None:
    weights = next((folder / "unet").glob("*.safetensors"))
    weights.write_bytes(weights.read_bytes()[:-1000])


def lose_a_shard(folder: Path) -> None:
    weights = next((folder / "unet").glob("*.safetensors"))
    shards = {"a": weights.name, "b": "shard-2.safetensors"}
    (folder / "unet" / "x.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))


def other_weights(folder: Path) -> None:
    """Weights of another shape than the configuration says."""
    config = folder / "unet" / "config.json"
    config.write_text(config.read_text().replace('"cross_attention_dim": 32', '"cross_attention_dim": 48'))


BREAKAGES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "an empty folder": (
        lambda f: (shutil.rmtree(f), f.mkdir()),
        "model 'checkpoint' is incomplete: model_index.json is missing",
    ),
    "a broken index": (lambda f: (f / "model_index.json").write_text("{"), "model_index.json is not JSON"),
    "a part lost": (lambda f: shutil.rmtree(f / "vae"), "is incomplete: vae is missing; copy or download it again"),
    "weights lost": (
        lambda f: next((f / "unet").glob("*.safetensors")).unlink(),
        r"unet: the weights \(\*.safetensors\) are missing",
    ),
    "weights cut off": (cut_off, r"unet: .*\.safetensors is cut short"),
    "a shard lost": (lose_a_shard, r"unet: shard-2\.safetensors is missing, which the index names"),
    "other weights": (other_weights, "model 'checkpoint' cannot be loaded as StableDiffusionImg2ImgPipeline"),
    "not there": (lambda f: shutil.rmtree(f), "no such folder here"),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_broken_folder_is_one_line_for_the_run_and_for_the_doctor(breakage: str, tmp_path: Path) -> None:
    folder = copied("StableDiffusionImg2ImgPipeline", tmp_path)
    break_it, message = BREAKAGES[breakage]
    break_it(folder)
    broken = spec("StableDiffusionImg2ImgPipeline", model=str(folder))
    with pytest.raises(PluginError, match=message) as caught:
        registry.build("editors", broken)
    assert "\n" not in str(caught.value)
    if breakage != "other weights":  # which only loading shows
        assert [f.text for f in registry.diagnose("editors", broken) if not f.fine] == [str(caught.value)]


def test_the_doctor_finds_a_sound_checkpoint_fine() -> None:
    findings = list(registry.diagnose("editors", spec("StableDiffusionInpaintPipeline")))
    assert all(finding.fine for finding in findings)
    told = "; ".join(finding.text for finding in findings)
    said = (
        "computes on cpu",
        "is complete",
        "GiB of memory",
        "painted by StableDiffusionInpaintPipeline",
        "whole image",
    )
    assert [part for part in said if part not in told] == []


def test_the_doctor_names_an_option_that_the_pipeline_refuses() -> None:
    findings = registry.diagnose("editors", spec("StableDiffusionImg2ImgPipeline", true_cfg=2.0))
    assert next(f.text for f in findings if not f.fine).startswith(
        "StableDiffusionImg2ImgPipeline cannot use 'true_cfg'"
    )


def test_results_depend_on_the_checkpoint_and_the_masks(masks: Path) -> None:
    named = registry.dependencies("editors", spec("StableDiffusionInpaintPipeline", masks=str(masks)))
    folder = checkpoint("StableDiffusionInpaintPipeline")
    assert all(Path(file).is_file() for file in named)
    assert {str(folder / "model_index.json"), str(masks / "i.png")} <= set(named)
    assert any(file.endswith("unet/diffusion_pytorch_model.safetensors") for file in named)


def test_a_gpu_is_held_unless_the_processor_is_asked_for() -> None:
    assert registry.resources("editors", spec("FluxKontextPipeline")).gpu == 0
    assert registry.resources("editors", spec("FluxKontextPipeline", device="auto")).gpu == 1


def test_offload_without_a_gpu_and_where_it_cannot_work_is_refused() -> None:
    with pytest.raises(PluginError, match="offload 'model' needs a GPU"):
        built("StableDiffusionImg2ImgPipeline", offload="model")
    with pytest.raises(ParamsError, match="LEditsPPPipelineStableDiffusion cannot use offload 'model'"):
        built("LEditsPPPipelineStableDiffusion", offload="model")


@pytest.mark.slow
@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried")]
)
def test_running_out_of_memory_says_what_to_set(error: Exception) -> None:
    editor = afresh("StableDiffusionImg2ImgPipeline")

    def overflow(*arguments: Any, **named: Any) -> None:
        raise error

    editor.pipe.unet.forward = overflow
    with pytest.raises(PluginError, match="out of memory while painting 56 × 72 pixels for item 'i'; set dtype: bf"):
        answers(editor.edit, [request()])


@pytest.mark.slow
def test_a_full_gpu_while_loading_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    import diffusers
    import torch

    def overflow(self: Any, device: str) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")

    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(diffusers.StableDiffusionImg2ImgPipeline, "to", overflow)
    with pytest.raises(PluginError, match=r"out of memory while loading .*; set offload: model, a smaller max_pixels"):
        afresh("StableDiffusionImg2ImgPipeline", device="cuda")


@pytest.mark.slow
@pytest.mark.parametrize("flags", [True, False])
def test_an_image_that_the_safety_checker_blackened_is_moderated(flags: bool) -> None:
    editor = afresh("StableDiffusionImg2ImgPipeline")
    for name, part in safety_checker(flags).items():
        setattr(editor.pipe, name, part)
    reply = answers(editor.edit, [request()])[0]
    assert reply.status == (Status.MODERATED if flags else Status.OK)
    assert (reply.image is None) == flags
    assert ("safety checker" in reply.reason) == flags


def test_an_image_of_no_numbers_is_no_image() -> None:
    editor = afresh("StableDiffusionImg2ImgPipeline")
    editor.pipe.vae.decoder.conv_out.bias.data.fill_(float("nan"))
    reply = answers(editor.edit, [request()])[0]
    assert (reply.status, reply.image) == (Status.NO_IMAGE, None)
    assert "dtype" in reply.reason


@pytest.mark.parametrize("size", [(640, 480), (500, 375), (64, 64), (333, 1999), (4000, 10), (7, 5)])
@pytest.mark.parametrize("grid", [8, 16, 32])
@pytest.mark.parametrize(("least", "most"), [(1, 512 * 512), (1024 * 1024, 1024 * 1024), (256 * 256, 512 * 512)])
def test_an_image_is_painted_on_the_grid_within_the_limits_and_near_its_shape(
    size: tuple[int, int], grid: int, least: int, most: int
) -> None:
    width, height = paint_size(size, least, most, grid)
    assert (width % grid, height % grid) == (0, 0)
    wanted = min(max(size[0] * size[1], least), most)
    scale = (wanted / (size[0] * size[1])) ** 0.5
    assert abs(width - size[0] * scale) <= grid
    assert abs(height - size[1] * scale) <= grid
    if min(size) * scale > grid:
        assert width * height <= max(most, grid * grid)


@pytest.mark.parametrize("size", [(1024, 1024), (512, 512), (1344, 768)])
def test_a_size_that_the_model_paints_at_is_kept(size: tuple[int, int]) -> None:
    assert paint_size(size, 1, 2**21, 32) == size


def test_a_thin_mask_is_not_lost_at_a_smaller_size() -> None:
    mask = np.zeros((64, 64), dtype=np.bool_)
    mask[:, 33] = True
    smaller = np.asarray(mask_at(mask, (16, 16)))
    assert set(np.unique(smaller)) == {0, 255}
    assert (smaller[:, 8] == 255).all()


def test_a_painting_of_another_size_comes_back_in_the_original_one() -> None:
    painted = np.full((32, 24, 3), 128, dtype=np.uint8)
    finished = finish(painted, IMAGE.pixels, None)
    assert finished.shape == IMAGE.pixels.shape
    assert (finished == 128).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_what_is_painted_becomes_bytes_as_numpy_rounds_them(dtype: str) -> None:
    import torch

    levels = torch.linspace(-0.01, 1.01, 4 * 3 * 64 * 64, dtype=torch.float64).to(getattr(torch, dtype))
    images = levels.reshape(4, 3, 64, 64)
    images[2, 1, 5, 5] = float("nan")
    pixels, finite = to_pixels(images)
    expected = (images.permute(0, 2, 3, 1).float().numpy().clip(0, 1) * 255).round()
    assert finite == [True, True, False, True]
    for place in (0, 1, 3):
        assert (pixels[place] == expected[place].astype(np.uint8)).all()


def test_what_has_an_opacity_is_laid_on_white() -> None:
    import torch

    black = torch.zeros(1, 4, 2, 2)
    black[:, 3] = torch.tensor([[0.0, 1.0], [0.5, 0.25]])
    pixels, finite = to_pixels(black)
    assert (finite, pixels.shape) == ([True], (1, 2, 2, 3))
    assert pixels[0, ..., 0].tolist() == [[255, 0], [128, 191]]


@pytest.mark.slow
def test_masks_are_found_while_others_are_painted_and_change_no_image(masks: Path) -> None:
    """The second request is sketched before the first is painted to its end."""
    pipeline = next(name for name in MASKED if KINDS[name].transformer)
    editor, plain = (built(pipeline, masks=str(masks)) for _ in range(2))
    events: list[str] = []
    find, paint = editor.mask, editor.kind.paint

    def masked(wanted: EditRequest) -> Any:
        events.append(f"mask {wanted.seed}")
        return find(wanted)

    def painted(*arguments: Any) -> Any:
        events.append("paint")
        until = time.monotonic() + 20
        while "mask 3" not in events and time.monotonic() < until:
            time.sleep(0.01)
        return paint(*arguments)

    editor.mask, editor.kind = masked, replace(editor.kind, paint=painted)
    requests = [request(1), request(2), request(3)]
    assert hashes(edited(editor, *requests)) == hashes(edited(plain, *requests))
    assert sorted(events) == ["mask 1", "mask 2", "mask 3", "paint", "paint", "paint"]
    assert events.index("mask 3") < [at for at, event in enumerate(events) if event == "paint"][1]
