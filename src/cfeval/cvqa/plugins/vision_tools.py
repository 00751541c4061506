"""Vision operations on photographs, each by a model: those of ViperGPT (Surís et al. 2023) and VisProg (Gupta 2023).

find: an open-vocabulary detector (Grounding DINO, OWL-ViT, OWLv2), boxes that overlap more than they should left out;
ask and tell: chat models; match: CLIP or SigLIP; depth: DPT (MiDaS), Depth Anything or GLPN; inside: SAM 2. Every model
is optional: an operation without its model fails and says which option to set.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from math import isfinite
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt
import PIL.Image
from pydantic import Field, field_validator, model_validator

from cfeval.core.images import Pixels
from cfeval.core.registry import Diagnostic, Resources
from cfeval.cvqa.plugins.vision_tool_models import Talk, TellingPlugin, whole
from cfeval.cvqa.programs.turns import waiting
from cfeval.cvqa.programs.vision import Box, Found, View, Vision, VisionError
from cfeval.inference.batching import Batcher, answered
from cfeval.inference.local import devices, pretrained
from cfeval.inference.local.detector import BOX_SEGMENTERS, DETECTORS, BoxSegmenter, Detector, stacked
from cfeval.inference.local.devices import DEVICE, memory_errors
from cfeval.inference.local.hub import Checkpoint
from cfeval.inference.local.libraries import quiet

T = TypeVar("T")
# The kinds of image-text matcher.
MATCHERS = ("clip", "siglip")
# The kinds of depth estimator.
DEPTHS = ("dpt", "depth_anything", "glpn")
# Those that say distances; the others say, unless their configuration calls them metric, how near something is.
METRIC = ("glpn",)
# Depth maps that are kept: programs of several questions are under way at the same time.
MAPS = 16
# A part of an image, and how what is looked for in it is called.
_Sought = tuple[Pixels, str]
# A part of an image, and what it is matched with.
_Texts = tuple[Pixels, tuple[str, ...]]
Role = Literal["detector", "matcher", "depth", "sam"]
KINDS: dict[Role, tuple[str, ...]] = {
    "detector": tuple(DETECTORS),
    "matcher": MATCHERS,
    "depth": DEPTHS,
    "sam": BOX_SEGMENTERS,
}
# The classes of transformers by which a model and what makes its inputs are loaded.
LOADERS: dict[Role, tuple[str, str]] = {
    "detector": ("AutoModelForZeroShotObjectDetection", "AutoProcessor"),
    "matcher": ("AutoModel", "AutoProcessor"),
    "depth": ("AutoModelForDepthEstimation", "AutoImageProcessor"),
    "sam": ("Sam2Model", "Sam2Processor"),
}


class Plugin(TellingPlugin):
    """Which models; each a folder with a checkpoint or a name on the Hugging Face hub, empty for none."""

    vqa: dict[str, Any] | None = None
    """The chat model that `ask` puts its question to, with the part of the image: its plugin and options."""
    detector: str = ""
    detector_revision: str = ""
    matcher: str = ""
    matcher_revision: str = ""
    depth: str = ""
    depth_revision: str = ""
    sam: str = ""
    sam_revision: str = ""
    device: str = Field("auto", pattern=DEVICE)
    """auto (a GPU where there is one), cpu, mps, cuda, or one GPU, such as cuda:1."""
    phrase: str = "{name}"
    """How a name is put to the detector; VisProg says `a photo of {name}`."""
    threshold: float | None = Field(None, gt=0, lt=1)
    """Score from which on a box is found; none: what the library takes for the kind of detector. ViperGPT has 0.5 for
    GLIP, VisProg 0.1 for OWL-ViT."""
    overlap: float = Field(0.5, ge=0, le=1)
    """Of two boxes that share more than this of their union, the less sure one is left out (VisProg)."""
    boxes: int = Field(100, ge=1)
    """How many boxes of one name are found at most."""
    batch: int = Field(8, ge=1)
    """How many parts of images detector and matcher are shown at a time, at most: those that programs of several
    questions wait for. Where programs also call hosted models, one."""

    @field_validator("phrase")
    @classmethod
    def _names(cls, phrase: str) -> str:
        if "{name}" not in phrase:
            raise ValueError("must hold {name}, where the name of what is looked for goes")
        return phrase

    @model_validator(mode="after")
    def _of_models(self) -> "Plugin":
        for role in KINDS:
            if getattr(self, f"{role}_revision") and not getattr(self, role):
                raise ValueError(f"'{role}_revision' is the revision of a model, and no '{role}' is given")
        return self

    def chats(self) -> dict[str, dict[str, Any]]:
        """Those that answer questions about a part, and texts."""
        return ({"vqa": self.vqa} if self.vqa is not None else {}) | super().chats()

    def resources(self) -> Resources:
        """A GPU where a model computes here, unless the processor is asked for."""
        return Resources(gpu=1 if self.checkpoints() and self.device != "cpu" else 0)

    def dependencies(self) -> tuple[str, ...]:
        """The checkpoints' files, where they are folders, and the templates."""
        own = [str(path) for checkpoint in self.checkpoints().values() for path in checkpoint.files()]
        return (*own, *super().dependencies())

    def diagnose(self) -> Iterator[Diagnostic]:
        """Whether device, checkpoints and templates are there and fit, and which operations there will be none of."""
        for role, checkpoint in self.checkpoints().items():
            yield from pretrained.diagnose_checkpoint(checkpoint, KINDS[role], self.device)
        yield from super().diagnose()
        roles = (*KINDS, "vqa", "llm")
        if absent := [role for role in roles if not getattr(self, role)]:
            yield Diagnostic(True, f"programs that need {', '.join(absent)} fail: no such model is named")

    def build(self) -> Vision:
        """The operations, their models loaded.

        Raises:
            PluginError: checkpoints, device or memory do not suffice.
        """
        return Models(self)

    def checkpoints(self) -> dict[Role, Checkpoint]:
        """The checkpoints of the models that compute here."""
        named = {role: (getattr(self, role), getattr(self, f"{role}_revision")) for role in KINDS}
        return {role: pretrained.checkpoint_of(*name) for role, name in named.items() if name[0]}


class Models:
    """The operations; see the module."""

    def __init__(self, options: Plugin) -> None:
        self.options = options
        self._talk = Talk(options, "transformers")
        self._kinds: dict[Role, str] = {}
        self._loaded: dict[Role, pretrained.Loaded] = {}
        for role, checkpoint in options.checkpoints().items():
            device = devices.chosen(self.options.device)
            with memory_errors(f"loading model '{checkpoint.model}'", pretrained.SMALLER):
                self._kinds[role] = pretrained.check_kind(checkpoint, KINDS[role])
                loader, reader = LOADERS[role]
                self._loaded[role] = pretrained.load(checkpoint, loader, device, reader)
        self._found: Batcher[_Sought, list[tuple[float, Box]]] = Batcher(self._find, exact=False)
        self._matched: Batcher[_Texts, list[float]] = Batcher(self._match, exact=False)
        self._maps: dict[str, npt.NDArray[np.float32]] = {}

    def find(self, view: View, name: str) -> list[Found]:
        """See `Vision.find`. Only the part is shown to the detector; boxes are cut at its borders."""
        self._model("detector", "detector")
        left, top, right, bottom = whole(view)
        pixels = np.ascontiguousarray(view.image.pixels[top:bottom, left:right])
        phrase = self.options.phrase.replace("{name}", name)
        with waiting():
            places = answered(self._found.answer, (pixels, phrase))
        moved = [(score, (x + left, y + top, u + left, v + top)) for score, (x, y, u, v) in places]
        cut = [(score, _cut(box, (left, top, right, bottom))) for score, box in moved]
        kept = distinct(
            [(score, box) for score, box in cut if box[0] < box[2] and box[1] < box[3]], self.options.overlap
        )
        return [Found(box, min(1.0, max(0.0, score))) for score, box in kept]

    def ask(self, view: View, question: str) -> str:
        """See `Vision.ask`."""
        return self._talk.ask(view, question)

    def match(self, view: View, texts: Sequence[str]) -> list[float]:
        """See `Vision.match`: the softmax over the texts of the model's scores."""
        self._model("matcher", "image-text matcher")
        if not texts:
            raise VisionError("there are no texts to match")
        left, top, right, bottom = whole(view)
        with waiting():
            return answered(self._matched.answer, (view.image.pixels[top:bottom, left:right], tuple(texts)))

    def depth(self, view: View) -> float:
        """Median depth of the part in the map of the whole image; larger is farther.

        Metres where the model is metric; otherwise minus what it says of nearness, which has no unit: only its order
        means something.
        """
        left, top, right, bottom = whole(view)
        depth = float(np.median(self._depths(view)[top:bottom, left:right]))
        if not isfinite(depth):
            raise VisionError("the depth model gave no number")
        return depth

    def inside(self, inner: View, outer: View) -> bool:
        """See `Vision.inside`: most pixels of one box are in what SAM 2 outlines in the other."""
        segmenter = BoxSegmenter(self._model("sam", "outlines"))
        left, top, right, bottom = whole(inner)
        mask = segmenter(outer.image.pixels, [tuple(map(float, whole(outer)))])  # type: ignore[list-item]
        return bool(mask[top:bottom, left:right].mean() > 0.5)

    def tell(self, question: str, long: bool) -> str:
        """See `Vision.tell`."""
        return self._talk.tell(question, long)

    def _model(self, role: Role, what: str) -> pretrained.Loaded:
        if role not in self._loaded:
            allowed = " or ".join(KINDS[role])
            raise VisionError(
                f"vision 'transformers' offers no {what}; set its option '{role}' to a checkpoint of {allowed}"
            )
        return self._loaded[role]

    def _find(self, searches: Sequence[_Sought]) -> list[list[tuple[float, Box]]]:
        threshold = self.options.threshold or DETECTORS[self._kinds["detector"]]
        detector = Detector(self._loaded["detector"], threshold, self.options.boxes)
        return [places for some in batched(searches, self.options.batch) for places in detector.many(some)]

    def _match(self, matchings: Sequence[_Texts]) -> list[list[float]]:
        return [shares for some in batched(matchings, self.options.batch) for shares in self._shares(some)]

    def _shares(self, matchings: Sequence[_Texts]) -> list[list[float]]:
        import torch

        loaded = self._loaded["matcher"]
        # SigLIP was trained on texts of one length.
        padding: Any = "max_length" if self._kinds["matcher"] == "siglip" else True
        shares: list[list[float]] = [[] for _ in matchings]
        with torch.inference_mode(), quiet("transformers"):
            inputs = [
                loaded.processor(
                    text=list(texts),
                    images=PIL.Image.fromarray(pixels),
                    return_tensors="pt",
                    padding=padding,
                    truncation=True,
                )
                for pixels, texts in matchings
            ]
            for places, together in stacked(inputs):
                moved = {name: tensor.to(loaded.device) for name, tensor in together.items()}
                logits = loaded.model(**moved).logits_per_image  # (parts, texts of all parts)
                for row, place in enumerate(places):
                    count = len(matchings[place][1])
                    own = logits[row, row * count : (row + 1) * count]
                    shares[place] = [float(share) for share in own.double().softmax(dim=-1).cpu()]
        return shares

    def _depths(self, view: View) -> npt.NDArray[np.float32]:
        """The map of the whole image, (H, W), larger is farther; that of the last images is kept."""
        loaded = self._model("depth", "depth")
        depths = self._maps.pop(view.image.sha256, None)
        if depths is None:
            import torch

            with torch.inference_mode(), quiet("transformers"):
                inputs = loaded.processor(images=PIL.Image.fromarray(view.image.pixels), return_tensors="pt").to(
                    loaded.device
                )
                outputs = loaded.model(**inputs)
                [estimate] = loaded.processor.post_process_depth_estimation(
                    outputs, target_sizes=[view.image.pixels.shape[:2]]
                )
            depth = np.asarray(estimate["predicted_depth"].float().cpu(), dtype=np.float32)
            metric = (
                self._kinds["depth"] in METRIC or loaded.model.config.to_dict().get("depth_estimation_type") == "metric"
            )
            depths = depth if metric else -depth
        self._maps[view.image.sha256] = depths
        if len(self._maps) > MAPS:
            del self._maps[next(iter(self._maps))]
        return depths


def batched(items: Sequence[T], size: int) -> Iterator[list[T]]:
    """Some after each other, so many at a time."""
    left = iter(items)
    while some := list(islice(left, size)):
        yield some


def distinct(places: Sequence[tuple[float, Box]], overlap: float) -> list[tuple[float, Box]]:
    """Boxes with their scores, the surest first, without those that overlap a surer one by more than `overlap`."""
    kept: list[tuple[float, Box]] = []
    for score, box in sorted(places, key=lambda place: -place[0]):
        if all(box_overlap(box, other) <= overlap for _, other in kept):
            kept.append((score, box))
    return kept


def box_overlap(first: Box, second: Box) -> float:
    """Intersection over union of two boxes that are not empty."""
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    both = max(0.0, width) * max(0.0, height)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (first, second)]
    return both / (sum(areas) - both)


def _cut(box: Box, part: tuple[int, int, int, int]) -> Box:
    left, top, right, bottom = part
    return max(box[0], left), max(box[1], top), min(box[2], right), min(box[3], bottom)
