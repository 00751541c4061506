"""What a model sees of an image: every mode, format, orientation and profile against arithmetic of our own.

An image is a grid of flat blocks, none of whose eight orientations looks like another. Its stored values are turned
and converted by `tests.profiles` and numpy; the program reads the file. Blocks are compared in their middles, within
what the format loses.
"""

import io
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import PIL.Image
import pillow_heif
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st
from PIL import ImageCms

from cfeval.core import image_conversions
from cfeval.core.errors import InputError
from cfeval.core.images import Image, check_image, import_encoded, import_image, import_layers, load
from cfeval.core.jsonl import record_line
from cfeval.core.records import ImageRef
from cfeval.datasets.sample import RawSample, Sample, file_samples
from cfeval.inference.remote.images import decode
from tests import profiles as icc

pillow_heif.register_heif_opener()

BLOCK = 16
COLOURS = np.array(
    [[[220, 30, 30], [30, 200, 60], [40, 60, 210]], [[250, 240, 200], [15, 12, 9], [128, 128, 128]]], np.uint8
)
GREYS = np.array([[8, 64, 130], [200, 250, 30]], np.uint8)
BITS = np.array([[0, 255, 255], [0, 0, 255]], np.uint8)
ALPHA = np.array([[255, 128, 0], [255, 255, 64]], np.uint8)
INKS = np.array(
    [[[0, 0, 0, 0], [255, 0, 0, 0], [0, 255, 0, 0]], [[0, 0, 255, 0], [0, 0, 0, 255], [255, 255, 0, 0]]], np.uint8
)
LAB = np.array([[[255, 0, 0], [128, 60, 30], [180, -50, 40]], [[90, 20, -60], [20, 0, 0], [130, -20, -20]]])
DEEP = np.array([[300, 9000, 20000], [40000, 65535, 2000]])
FLOATS = np.array([[0.002, 0.1, 0.25], [0.5, 1.0, 0.9]])


class Kind(NamedTuple):
    """A mode: the image of its blocks' values, those values as colours in [0, 1], and their alpha."""

    make: Callable[[], PIL.Image.Image]
    values: Any
    alpha: Any = None


def blocks(values: Any, dtype: Any = np.uint8) -> PIL.Image.Image:
    whole = np.asarray(values).repeat(BLOCK, 0).repeat(BLOCK, 1).astype(dtype)
    return PIL.Image.fromarray(whole)


def inks() -> PIL.Image.Image:
    planes = [blocks(INKS[..., at]) for at in range(4)]
    return PIL.Image.merge("CMYK", planes)


def lab() -> PIL.Image.Image:
    whole = (LAB % 256).astype(np.uint8).repeat(BLOCK, 0).repeat(BLOCK, 1)
    return PIL.Image.frombytes("LAB", (whole.shape[1], whole.shape[0]), whole.tobytes())


def with_alpha(image: PIL.Image.Image) -> PIL.Image.Image:
    image.putalpha(blocks(ALPHA))
    return image


def paletted() -> PIL.Image.Image:
    image = PIL.Image.fromarray(np.arange(6, dtype=np.uint8).reshape(2, 3).repeat(BLOCK, 0).repeat(BLOCK, 1))
    image.putpalette(COLOURS.reshape(-1).tolist() + [0] * (768 - 18))
    return image


KINDS = {
    "1": Kind(lambda: blocks(BITS).convert("1"), BITS / 255),
    "L": Kind(lambda: blocks(GREYS), GREYS / 255),
    "LA": Kind(lambda: with_alpha(blocks(GREYS)), GREYS / 255, ALPHA / 255),
    "P": Kind(paletted, COLOURS / 255),
    "RGB": Kind(lambda: blocks(COLOURS), COLOURS / 255),
    "RGBA": Kind(lambda: with_alpha(blocks(COLOURS)), COLOURS / 255, ALPHA / 255),
    "CMYK": Kind(inks, INKS / 255),
    "LAB": Kind(lab, LAB),
    "I;16": Kind(lambda: blocks(DEEP, np.uint16), DEEP / 65535),
    "I": Kind(lambda: blocks(DEEP, np.int32), DEEP / 65535),
    "F": Kind(lambda: blocks(FLOATS, np.float32), FLOATS),
}
MODES = {
    "PNG": ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"),
    "TIFF": ("1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "LAB", "I;16", "I", "F"),
    "JPEG": ("L", "RGB", "CMYK"),
    "MPO": ("RGB",),
    "WEBP": ("RGB", "RGBA"),
    "AVIF": ("RGB", "RGBA"),
    "HEIF": ("L", "RGB", "RGBA"),
    "JPEG2000": ("L", "RGB", "RGBA"),
    "BMP": ("1", "L", "P", "RGB"),
    "GIF": ("P",),
}
HOW: dict[str, dict[str, Any]] = {
    "JPEG": {"quality": 100, "subsampling": 0},
    "MPO": {"quality": 100, "subsampling": 0},
    "WEBP": {"lossless": True, "exact": True},
    "AVIF": {"quality": 100, "subsampling": "4:4:4"},
    "HEIF": {"quality": -1, "chroma": 444, "matrix_coefficients": 0},
}
LOST = {"JPEG": 4, "MPO": 4, "AVIF": 4, "HEIF": 4}
ORIENTED = ("PNG", "TIFF", "JPEG", "MPO", "WEBP", "AVIF", "HEIF")
# The value at which a stored row and column is seen, by EXIF 2.32, 4.6.4 A, tag 274.
SEEN: dict[int, Callable[[Any], Any]] = {
    1: lambda grid: grid,
    2: lambda grid: grid[:, ::-1],
    3: lambda grid: grid[::-1, ::-1],
    4: lambda grid: grid[::-1],
    5: lambda grid: grid.swapaxes(0, 1),
    6: lambda grid: grid[::-1].swapaxes(0, 1),
    7: lambda grid: grid[::-1, ::-1].swapaxes(0, 1),
    8: lambda grid: grid.swapaxes(0, 1)[::-1],
}
RGB_PROFILES: dict[str, tuple[bytes, Callable[[Any], Any]]] = {
    "Display P3": (
        icc.matrix_profile("Display P3", icc.P3, icc.srgb_curve()),
        lambda values: icc.of_matrix(values, icc.P3, None),
    ),
    "Adobe RGB (1998)": (
        icc.matrix_profile("Adobe RGB (1998)", icc.ADOBE, icc.gamma_curve(2.19921875)),
        lambda values: icc.of_matrix(values, icc.ADOBE, 2.19921875),
    ),
    "Linear": (
        icc.matrix_profile("Linear", icc.SRGB, icc.gamma_curve(1)),
        lambda values: icc.of_matrix(values, icc.SRGB, 1),
    ),
}
GREY_PROFILES: dict[str, tuple[bytes, Callable[[Any], Any]]] = {
    "Linear grey": (icc.grey_profile("Linear grey", 1), icc.encoded),
    "Grey gamma 1.8": (icc.grey_profile("Grey gamma 1.8", 1.8), lambda values: icc.encoded(values**1.8)),
}
INK_PROFILE = (
    icc.ink_profile("Coated"),
    lambda values: icc.of_lab(np.apply_along_axis(icc.ink_lab, -1, np.asarray(values, float))),
)


def profiles_of(kind: str, mode: str) -> dict[str, tuple[bytes, Callable[[Any], Any]]]:
    if kind in ("BMP", "GIF", "JPEG2000") or mode == "LAB":
        return {}
    if mode == "CMYK":
        return {"Coated": INK_PROFILE}
    return GREY_PROFILES if mode in ("1", "L", "LA", "I;16", "I", "F") and kind != "HEIF" else RGB_PROFILES


def cases() -> Iterator[Any]:
    for kind, modes in MODES.items():
        for mode in modes:
            for name in ("", *profiles_of(kind, mode)):
                yield pytest.param(kind, mode, name, id=f"{kind}-{mode}-{name or 'plain'}")


def file_of(kind: str, mode: str, orientation: int, profile: bytes) -> bytes:
    options = dict(HOW.get(kind, {}))
    if profile:
        options["icc_profile"] = profile
    if orientation > 1:
        exif = PIL.Image.Exif()
        exif[0x0112] = orientation
        options["exif"] = exif.tobytes() if kind != "TIFF" else exif
    image = KINDS[mode].make()
    if kind == "MPO":
        options |= {"save_all": True, "append_images": [blocks(GREYS).convert("RGB")]}
    buffer = io.BytesIO()
    image.save(buffer, format=kind, **options)
    return buffer.getvalue()


def seen(mode: str, convert: Callable[[Any], Any] | None, orientation: int) -> Any:
    """The colours that are right, (rows, columns, 3) in levels."""
    kind = KINDS[mode]
    values = np.asarray(kind.values, float)
    if mode == "LAB":
        colours = icc.of_lab(values * [100 / 255, 1, 1])
    elif mode == "CMYK" and convert is None:
        colours = (1 - values[..., :3]) * (1 - values[..., 3:])
    else:
        grey = values.ndim == 2
        if grey and convert is not None and convert not in [at for _, at in GREY_PROFILES.values()]:
            values = np.stack([values] * 3, -1)
        colours = convert(values) if convert else values
        colours = np.stack([colours] * 3, -1) if colours.ndim == 2 else colours
    if kind.alpha is not None:
        alpha = np.asarray(kind.alpha)[..., None]
        colours = colours * alpha + 1 - alpha
    return 255 * SEEN[orientation](colours)


def middles(pixels: Any) -> Any:
    return pixels[BLOCK // 2 :: BLOCK, BLOCK // 2 :: BLOCK].astype(float)


@pytest.mark.parametrize(("kind", "mode", "name"), list(cases()))
def test_an_image_is_what_arithmetic_says(tmp_path: Path, kind: str, mode: str, name: str) -> None:
    profile, convert = profiles_of(kind, mode).get(name, (b"", None))
    for orientation in SEEN if kind in ORIENTED else (1,):
        content = file_of(kind, mode, orientation, profile)
        path = tmp_path / f"{orientation}.bin"
        path.write_bytes(content)
        image = import_image(path)
        right = seen(mode, convert, orientation)
        lost = LOST.get(kind, 0) * (2 if name else 1)
        assert middles(image.pixels).shape == right.shape
        assert abs(middles(image.pixels) - right).max() <= lost + 2, orientation
        check_image(path)

        by_reply = decode(content)
        assert isinstance(by_reply, Image)
        assert (by_reply.png, by_reply.conversions) == (image.png, image.conversions)
        assert import_encoded(content, "x").png == image.png

        told = "; ".join(image.conversions)
        assert (f"EXIF orientation {orientation} applied" in told) == (orientation > 1)
        assert (f"'{name}' converted to sRGB" in told) == bool(name)
        assert ("first of 2 images taken" in told) == (kind == "MPO")
        assert ("grey scaled" in told) == (mode in ("I;16", "I", "F"))
        assert ("transparency laid on white" in told) == (KINDS[mode].alpha is not None)
        if (orientation, name) == (1, "") and mode in ("1", "L", "P", "RGB") and kind != "MPO":
            assert image.conversions == ()


def grey(values: Any, dtype: Any) -> bytes:
    buffer = io.BytesIO()
    PIL.Image.fromarray(np.asarray(values, dtype)[None]).save(buffer, format="TIFF")
    return buffer.getvalue()


@given(st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=40))
def test_16_bit_grey_is_scaled_by_the_depth_that_holds_it(values: list[int]) -> None:
    white = next(2**bits - 1 for bits in (8, 10, 12, 14, 16) if max(values) < 2**bits)
    image = import_encoded(grey(values, np.uint16), "x")
    assert abs(image.pixels[0, :, 0] - np.array(values) * 255 / white).max() <= 0.51
    assert image.conversions == (f"16-bit grey scaled: 0 is black, {white} is white",)


@given(st.lists(st.floats(-1e6, 1e6, width=32), min_size=1, max_size=40))
def test_float_grey_is_scaled_by_its_range(values: list[float]) -> None:
    low, high = min(values), max(values)
    if low >= 0 and high <= 255:
        low, high = 0, 1 if high <= 1 else 255
    right = (np.array(values) - low) / ((high - low) or 1) * 255
    image = import_encoded(grey(values, np.float32), "x")
    assert abs(image.pixels[0, :, 0] - right).max() <= 0.6
    assert "float grey scaled" in image.conversions[0]


@given(st.lists(st.integers(-(2**31), 2**31 - 1), min_size=2, max_size=40, unique=True))
def test_32_bit_grey_over_16_bits_is_stretched(values: list[int]) -> None:
    low, high = min(values), max(values)
    if low >= 0 and high < 2**16:
        return
    right = (np.array(values, float) - low) / (high - low) * 255
    image = import_encoded(grey(values, np.int32), "x")
    assert abs(image.pixels[0, :, 0] - right).max() <= 0.51


def test_values_that_are_no_numbers_are_black_and_said(tmp_path: Path) -> None:
    image = import_encoded(grey([0, np.nan, np.inf, 1], np.float32), "x")
    assert image.pixels[0, :, 0].tolist() == [0, 0, 0, 255]
    assert "2 values that are no numbers are black" in image.conversions[0]
    (tmp_path / "x.tif").write_bytes(grey([np.nan] * 3, np.float32))
    for look in (import_image, check_image):
        with pytest.raises(InputError, match=r"x\.tif: .*no grey value is a finite number"):
            look(tmp_path / "x.tif")


def saved(image: PIL.Image.Image, kind: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format=kind, **options)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "profile",
    [
        ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes(),
        icc.matrix_profile("a", icc.SRGB, icc.srgb_curve()),
    ],
)
def test_an_image_in_srgb_keeps_its_pixels(profile: bytes) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    image = import_encoded(saved(PIL.Image.fromarray(pixels), "PNG", icc_profile=profile), "x")
    assert (image.pixels == pixels).all()
    assert image.conversions == ()


@pytest.mark.parametrize(
    ("profile", "mode", "said"),
    [
        (b"no profile", "RGB", "an unreadable colour profile left aside"),
        (icc.ink_profile("Coated"), "RGB", "'Coated' left aside: it is for CMYK, the pixels are RGB"),
        (icc.grey_profile("Dots", 1), "RGB", "'Dots' left aside: it is for GRAY, the pixels are RGB"),
        (icc.profile("RGB", "Bare", {}), "RGB", "'Bare' left aside: it cannot be converted"),
        (
            icc.matrix_profile("P3", icc.P3, icc.srgb_curve()),
            "CMYK",
            "'P3' left aside: it is for RGB, the pixels are CMYK",
        ),
    ],
)
def test_a_profile_that_does_not_fit_is_left_aside_and_said(profile: bytes, mode: str, said: str) -> None:
    source = KINDS[mode].make()
    image = import_encoded(saved(source, "TIFF", icc_profile=profile), "x")
    assert said in image.conversions[0]
    assert (image.pixels == import_encoded(saved(source, "TIFF"), "x").pixels).all()


def test_the_first_page_and_the_primary_image_are_taken() -> None:
    first, second = blocks(COLOURS), blocks(COLOURS[::-1])
    for kind in ("TIFF", "HEIF"):
        content = saved(first, kind, save_all=True, append_images=[second, second], **HOW.get(kind, {}))
        image = import_encoded(content, "x")
        assert abs(middles(image.pixels) - COLOURS).max() <= 4
        assert image.conversions == ("first of 3 images taken",)


@pytest.mark.parametrize("kind", ["GIF", "WEBP", "PNG", "AVIF"])
def test_an_animation_is_refused_as_a_sample_and_its_first_image_taken_of_an_editor(kind: str) -> None:
    frames = [blocks(COLOURS), blocks(COLOURS[::-1])]
    content = saved(frames[0], kind, save_all=True, append_images=frames[1:])
    with pytest.raises(InputError, match="an animation of 2 frames"):
        import_encoded(content, "x")
    made = decode(content)
    assert isinstance(made, Image)
    assert "first of 2 images taken" in made.conversions


@given(st.binary(max_size=200))
def test_corrupt_exif_neither_loses_an_image_nor_reaches_the_console(exif: bytes) -> None:
    content = saved(blocks(COLOURS), "JPEG", exif=b"Exif\0\0II*\0" + exif)
    with warnings.catch_warnings(record=True) as told:
        warnings.resetwarnings()
        warnings.filterwarnings("ignore", module=image_conversions.LIBRARIES)
        assert import_encoded(content, "x").pixels.size
    assert told == []


def test_what_was_done_is_in_the_record_and_comes_back_with_the_image(tmp_path: Path) -> None:
    turned = import_encoded(file_of("JPEG", "RGB", 6, RGB_PROFILES["Display P3"][0]), "x")
    plain = import_encoded(file_of("PNG", "RGB", 1, b""), "x")
    raws = [RawSample("a", turned, "What?"), RawSample("b", plain, "What?")]
    file_samples(tmp_path / "own.jsonl", raws)
    first, second = (tmp_path / "own.jsonl").read_text().splitlines()
    assert '"EXIF orientation 6 applied", "colour profile \'Display P3\' converted to sRGB"' in first
    assert "conversions" not in second
    record = Sample.model_validate_json(first)
    assert load(tmp_path / "own", record.image).conversions == turned.conversions
    assert record_line(ImageRef(path="x.png", sha256="0" * 64)) == f'{{"path": "x.png", "sha256": "{"0" * 64}"}}\n'


def test_a_mask_is_turned_like_its_image() -> None:
    layers = import_layers(file_of("PNG", "RGBA", 6, b""), "x")
    assert (middles(layers)[..., 3] == SEEN[6](ALPHA)).all()


def test_deep_grey_whose_zero_is_white_is_turned_over() -> None:
    buffer = io.BytesIO()
    tifffile.imwrite(buffer, DEEP.astype(np.uint16), photometric="miniswhite")
    pixels = import_encoded(buffer.getvalue(), "x").pixels[..., 0]
    assert abs(pixels - (255 - DEEP / 257)).max() <= 1
