"""An open-vocabulary detector, and SAM 2 for the outline (EDCT-Bench 2026; there the detector is Moondream 3).

Detectors: Grounding DINO (Liu et al. 2023) and OWLv2 (Minderer et al. 2023), as transformers has them. The segmenter:
SAM 2 (Ravi et al. 2024), asked for what is in the box; without one the box itself is the mask.

Inputs of several requests make a batch without padding: only those of equal shapes go together. What a model says of
one then depends on the others by rounding alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import PIL.Image

from cfeval.core.images import Mask, Pixels
from cfeval.inference.local import pretrained
from cfeval.inference.local.libraries import quiet

# The kinds of detector, and the score from which on the library takes a box for found.
DETECTORS = {"grounding-dino": 0.25, "mm-grounding-dino": 0.25, "owlv2": 0.1, "owlvit": 0.1}
# The kinds of segmenter; checkpoints of SAM 2 call themselves after its video model.
BOX_SEGMENTERS = ("sam2", "sam2_video")
# What is read of a longer text; Grounding DINO breaks on one of more than 256 tokens.
_LETTERS = 200
Box = tuple[float, float, float, float]


class Detector:
    """Finds boxes around what a text names."""

    def __init__(self, loaded: pretrained.Loaded, threshold: float, boxes: int) -> None:
        self.loaded, self.threshold, self.boxes = loaded, threshold, boxes

    def __call__(self, pixels: Pixels, text: str) -> list[tuple[float, Box]]:
        """Score and box (left, top, right, bottom, in pixels) of what is found in an image, (H, W, 3), surest first."""
        [matches] = self.many([(pixels, text)])
        return matches

    def many(self, requests: Sequence[tuple[Pixels, str]]) -> list[list[tuple[float, Box]]]:
        """The same for several images with a text each; nothing is padded, so that none changes another's boxes."""
        import torch

        processor, device = self.loaded.processor, self.loaded.device
        matches: list[list[tuple[float, Box]]] = [[] for _ in requests]
        with torch.inference_mode(), quiet("transformers"):
            inputs = [
                processor(
                    images=PIL.Image.fromarray(pixels),
                    text=[[(text.lower().replace(".", " ").strip()[:_LETTERS])]],
                    return_tensors="pt",
                    truncation=True,
                )
                for pixels, text in requests
            ]
            for places, together in stacked(inputs):
                outputs = self.loaded.model(**{name: tensor.to(device) for name, tensor in together.items()})
                results = processor.post_process_grounded_object_detection(
                    outputs, threshold=self.threshold, target_sizes=[requests[place][0].shape[:2] for place in places]
                )
                for place, result in zip(places, results, strict=True):
                    scored = zip(result["scores"].tolist(), map(tuple, result["boxes"].tolist()), strict=True)
                    matches[place] = sorted(scored, reverse=True)[: self.boxes]
        return matches


class BoxSegmenter:
    """SAM 2: the outline of what is in a box."""

    def __init__(self, loaded: pretrained.Loaded) -> None:
        self.loaded = loaded

    def __call__(self, pixels: Pixels, boxes: list[Box]) -> Mask:
        """All that is outlined in the boxes of an image, (H, W, 3): bool (H, W)."""
        import torch

        processor, device = self.loaded.processor, self.loaded.device
        with torch.inference_mode():
            input_boxes = [[list(box) for box in boxes]]
            inputs = processor(images=PIL.Image.fromarray(pixels), input_boxes=input_boxes, return_tensors="pt").to(
                device
            )
            outputs = self.loaded.model(**inputs, multimask_output=False)
            [masks] = processor.post_process_masks(outputs.pred_masks.cpu(), inputs["original_sizes"])
        return np.asarray(masks.bool().flatten(0, -3).any(0))


def filled(boxes: list[Box], shape: tuple[int, ...]) -> Mask:
    """The pixels of an image, (H, W, …), that a box touches: bool (H, W)."""
    mask = np.zeros(shape[:2], dtype=np.bool_)
    for left, top, right, bottom in boxes:
        rows = slice(max(0, int(np.floor(top))), max(0, int(np.ceil(bottom))))
        mask[rows, max(0, int(np.floor(left))) : max(0, int(np.ceil(right)))] = True
    return mask


def stacked(inputs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[list[int], dict[str, Any]]]:
    """The inputs of equal shapes as one, with their places among all; in the order of the first of each.

    Args:
        inputs: of each request the tensors that its processor made, the first axis that of the batch.
    """
    import torch

    groups: dict[tuple[Any, ...], list[int]] = {}
    for place, tensors in enumerate(inputs):
        shapes = tuple((name, *tensor.shape) for name, tensor in sorted(tensors.items()))
        groups.setdefault(shapes, []).append(place)
    for places in groups.values():
        yield places, {name: torch.cat([inputs[place][name] for place in places]) for name in inputs[places[0]]}
