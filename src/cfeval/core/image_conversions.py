"""What every image goes through before a model sees it: upright, 8 bits a channel, sRGB, nothing transparent.

Rules, each said in `Image.conversions` where it changed anything:

- EXIF orientation is applied.
- An ICC profile is converted to sRGB (Pillow's ImageCms, perceptual); one that is sRGB already, by `SAME` levels, is
  not used. A profile that cannot be read, or is of another kind of colour than the pixels, is left aside.
- Grey of 16 bits, and of 32 where it has no larger value: white is the largest value of the smallest depth of `DEPTHS`
  that holds them all, since 12-bit sensors write 16-bit files. Float grey: white is 1, or 255 where a value is over 1.
  Any other is stretched from its smallest value to its largest.
- What is transparent lies on white.
"""

import io
import re
import warnings
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import PIL.Image
from PIL import ImageCms

# Pillow warns on the console of corrupt EXIF, malformed MPO files and large images; the callers here say what matters.
# Once for the process: files are opened in threads, and `warnings.catch_warnings` would change the filters of all.
LIBRARIES = r"(PIL|pillow_heif)\."
warnings.filterwarnings("ignore", module=LIBRARIES)

# The depths, in bits, of grey images with more than 8 bits a channel.
DEPTHS = (8, 10, 12, 14, 16)
# Levels of 255 by which a profile may differ from sRGB and still be taken for it.
SAME = 2
Floats = npt.NDArray[np.floating[Any]]
_ORIENTATION = 0x0112
_WHITE_IS_ZERO = 0x0106
_TRANSPOSES = {
    2: PIL.Image.Transpose.FLIP_LEFT_RIGHT,
    3: PIL.Image.Transpose.ROTATE_180,
    4: PIL.Image.Transpose.FLIP_TOP_BOTTOM,
    5: PIL.Image.Transpose.TRANSPOSE,
    6: PIL.Image.Transpose.ROTATE_270,
    7: PIL.Image.Transpose.TRANSVERSE,
    8: PIL.Image.Transpose.ROTATE_90,
}
_DEEP_CHANNELS = re.compile(r"\b(RGB|RGBA|RGBX|LA|CMYK);16")
_SRGB = ImageCms.createProfile("sRGB")
# The modes of pixels that a profile of each colour space describes, and the mode in which ImageCms takes them.
_SPACES = {"RGB": "RGB", "GRAY": "L", "CMYK": "CMYK"}


def as_rgb(image: PIL.Image.Image) -> tuple[PIL.Image.Image, tuple[str, ...]]:
    """An image as a model is to see it, and what was done to it, in a few words each.

    Args:
        image: as opened, not loaded yet.

    Raises:
        ValueError: grey values none of which is finite.
        OSError: and what else Pillow raises over a broken file.
    """
    layers, done = as_layers(image)
    if layers.mode == "RGB":
        return layers, done
    if layers.getchannel("A").getextrema()[0] == 255:
        return layers.convert("RGB"), done
    white = PIL.Image.new("RGBA", layers.size, "white")
    return PIL.Image.alpha_composite(white, layers).convert("RGB"), (*done, "transparency laid on white")


def as_layers(image: PIL.Image.Image) -> tuple[PIL.Image.Image, tuple[str, ...]]:
    """Like `as_rgb`, with transparency kept: RGB, or RGBA where the image has any."""
    turned = _orientation(image)
    deep = bool(_DEEP_CHANNELS.search(str(getattr(image, "tile", ""))))
    image.load()
    image, done = _upright(image, turned)
    if deep:
        done.append("16 bits a channel cut to 8")
    profile = image.info.get("icc_profile")
    if is_deep(image.mode):
        return _of_deep_grey(image, profile, done)
    return _of_usual(image, profile, done)


def is_deep(mode: str) -> bool:
    """Whether a mode of Pillow is grey with more than 8 bits a channel."""
    return mode.startswith(("I", "F"))


def _orientation(image: PIL.Image.Image) -> int:
    """The EXIF orientation that is still to be applied; 1 where there is none, or the EXIF data are corrupt."""
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except Exception:  # whatever the parser stumbles over: the pixels may be whole all the same
        return 1


def _upright(image: PIL.Image.Image, turned: int) -> tuple[PIL.Image.Image, list[str]]:
    """A loaded image upright; decoders of TIFF and HEIF have turned it themselves."""
    by_decoder = image.info.get("original_orientation")
    if isinstance(by_decoder, int) and by_decoder in _TRANSPOSES:
        return image, [f"EXIF orientation {by_decoder} applied, as HEIF does"]
    if turned not in _TRANSPOSES:
        return image, []
    done = [f"EXIF orientation {turned} applied"]
    left = _orientation(image)
    if left not in _TRANSPOSES:
        return image, done
    upright = image.transpose(_TRANSPOSES[left])
    upright.info = image.info
    return upright, done


def _of_usual(
    image: PIL.Image.Image, profile: bytes | None, done: list[str]
) -> tuple[PIL.Image.Image, tuple[str, ...]]:
    alpha = image.convert("RGBA").getchannel("A") if image.has_transparency_data else None
    colours = _colours(image)
    if profile:
        colours, steps = _in_srgb(colours, profile)
        done += steps
    if colours.mode == "LAB":
        colours = _transformed(colours, ImageCms.ImageCmsProfile(ImageCms.createProfile("LAB")))
        done.append("Lab converted to sRGB")
    elif colours.mode == "CMYK":
        done.append("CMYK converted without a profile")
    colours = colours.convert("RGB")
    if alpha is not None:
        colours.putalpha(alpha)
    return colours, tuple(done)


def _colours(image: PIL.Image.Image) -> PIL.Image.Image:
    """An image without its transparency, in a mode that profiles describe."""
    if image.mode in ("1", "L", "LA", "La"):
        return image.convert("LA").convert("L") if image.mode == "La" else image.convert("L")
    if image.mode in ("RGB", "CMYK", "LAB"):
        return image
    rgba = image.convert("RGBA") if image.has_transparency_data else image
    return rgba.convert("RGB")


def _in_srgb(image: PIL.Image.Image, profile: bytes) -> tuple[PIL.Image.Image, list[str]]:
    """An image in L, RGB or CMYK as its profile means it, and what to say of that."""
    space, name, differs = _about(profile)
    if not space:
        return image, ["an unreadable colour profile left aside"]
    mode = _SPACES.get(space, "")
    fitting = image.mode == mode or (image.mode, mode) == ("L", "RGB")
    if not fitting:
        return image, [f"colour profile '{name}' left aside: it is for {space}, the pixels are {image.mode}"]
    if not differs:
        return image, []
    try:
        return _transformed(image.convert(mode), _read(profile)), [f"colour profile '{name}' converted to sRGB"]
    except (ImageCms.PyCMSError, OSError, ValueError):
        return image, [f"colour profile '{name}' left aside: it cannot be converted"]


def _transformed(image: PIL.Image.Image, profile: ImageCms.ImageCmsProfile) -> PIL.Image.Image:
    # LittleCMS resamples all but RGB by a matrix to a coarse grid; in the dark, grey is off by 10 levels, Lab by 50.
    quick = image.mode == "RGB" and profile.profile.is_matrix_shaper
    flags = ImageCms.Flags.NONE if quick else ImageCms.Flags.NOOPTIMIZE
    made = ImageCms.profileToProfile(image, profile, _SRGB, outputMode="RGB", flags=flags)
    assert made is not None  # it is None for a conversion in place only
    return made


def _read(profile: bytes) -> ImageCms.ImageCmsProfile:
    return ImageCms.ImageCmsProfile(io.BytesIO(profile))


@lru_cache(maxsize=64)
def _about(profile: bytes) -> tuple[str, str, bool]:
    """A profile's colour space, its name, and whether it differs from sRGB; empty where it cannot be read."""
    try:
        core = _read(profile).profile
        space = core.xcolor_space.strip().upper()
        name = "".join(c for c in str(core.profile_description or "without a name") if c.isprintable())[:60].strip()
        return space, name, _differs(profile, _SPACES.get(space, ""))
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError, AttributeError):
        return "", "", False


def _differs(profile: bytes, mode: str) -> bool:
    """Whether a profile gives other pixels than sRGB, on a lattice of colours or on all greys."""
    if mode == "L":
        pixels = np.arange(256, dtype=np.uint8)[None]
    elif mode == "RGB":
        steps = np.linspace(0, 255, 18).astype(np.uint8)
        pixels = np.stack(np.meshgrid(steps, steps, steps), -1).reshape(1, -1, 3)
    else:
        return True
    image = PIL.Image.fromarray(pixels)
    try:
        made = np.asarray(_transformed(image, _read(profile))).astype(int)
    except (ImageCms.PyCMSError, OSError, ValueError):
        return True  # said where the image is converted
    return int(abs(made - np.asarray(image.convert("RGB"))).max()) > SAME


def _of_deep_grey(
    image: PIL.Image.Image, profile: bytes | None, done: list[str]
) -> tuple[PIL.Image.Image, tuple[str, ...]]:
    values: Floats = np.asarray(image).astype(np.float64 if image.mode == "I" else np.float32)
    clear = image.info.get("transparency")
    scaled, rule = _scaled(values, image.mode)
    done.append(rule)
    if image.format == "TIFF" and getattr(image, "tag_v2", {}).get(_WHITE_IS_ZERO) == 0:
        scaled = 1 - scaled
    if profile:
        scaled, more = _grey_in_srgb(scaled, profile)
        done += more
    grey = PIL.Image.fromarray((scaled * 255).round().astype(np.uint8)).convert("RGB")
    if isinstance(clear, int):
        grey.putalpha(PIL.Image.fromarray(np.where(values == clear, 0, 255).astype(np.uint8)))
    return grey, tuple(done)


def _scaled(values: Floats, mode: str) -> tuple[Floats, str]:
    """Grey values in [0, 1], and by which rule; a value that is not finite is black."""
    finite = np.isfinite(values)
    if not finite.any():
        raise ValueError("no grey value is a finite number")
    least, most = float(values[finite].min()), float(values[finite].max())
    whites = (1.0, 255.0) if mode == "F" else tuple(2.0**bits - 1 for bits in DEPTHS)
    white = next((white for white in whites if most <= white), None)
    low, high = (0.0, white) if white is not None and least >= 0 else (least, most)
    kind = "float" if mode == "F" else f"{32 if mode == 'I' else 16}-bit"
    rule = f"{kind} grey scaled: {low:g} is black, {high:g} is white"
    if not finite.all():
        rule += f", {int((~finite).sum())} values that are no numbers are black"
    span = high - low or 1.0
    return np.where(finite, (np.where(finite, values, low) - low) / span, 0.0), rule


def _grey_in_srgb(values: Floats, profile: bytes) -> tuple[Floats, list[str]]:
    """Grey values in [0, 1] as their profile means them.

    ImageCms takes 8 bits of grey only, so that its curve of 256 points is interpolated, in linear light: dark values of
    a linear profile lie far apart in sRGB.
    """
    ramp = PIL.Image.fromarray(np.arange(256, dtype=np.uint8)[None])
    curve, steps = _in_srgb(ramp, profile)
    if curve is ramp:
        return values, steps
    points = np.asarray(curve)[0, :, 1] / 255
    light = np.where(points <= 0.04045, points / 12.92, ((points + 0.055) / 1.055) ** 2.4)
    made = np.interp(values, np.linspace(0, 1, 256), light)
    return np.where(made <= 0.0031308, made * 12.92, 1.055 * made ** (1 / 2.4) - 0.055), steps
