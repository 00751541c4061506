"""What every classifier offers (DBVCE, Section 4, Table 1)."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from torch import Tensor, device


class Classifier(Protocol):
    """A classifier, frozen and in evaluation mode; gradients flow from its logits to the images.

    `classes` are the names of its classes, in the order of the logits. `robust` says that it was trained against
    perturbed images, so that its gradients may serve the cone. `timed` says that it was trained on noisy images and
    wants to know the timestep.
    """

    classes: tuple[str, ...]
    robust: bool
    timed: bool
    device: "device"

    def logits(self, images: "Tensor", timesteps: "Tensor | None" = None, prepared: bool = True) -> "Tensor":
        """The logits (N, classes), of the dtype of the images.

        Args:
            images: (N, 3, H, W), float32 or float64 in [−1, 1], not clamped where they leave it, on its device.
            timesteps: original diffusion timesteps (N,), for a `timed` classifier; None stands for 0.
            prepared: resize and normalise as it was trained and divide by its calibration temperature. False hands
                the images to the network as they are and leaves the temperature out, as the reference code of DBVCE
                does.
        """
        ...
