"""A network, its preprocessing and its classes: a classifier."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cfeval.backends.local_classifiers.options import ClassifierOptions
from cfeval.backends.local_classifiers.preprocessing import Preprocessing
from cfeval.backends.local_models import devices
from cfeval.backends.local_models.lines import first_line
from cfeval.backends.local_models.memory import memory_errors, out_of_memory
from cfeval.errors import BackendError

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

SMALLER = "set device: cpu, or take a smaller network"
"""What to do where the weights do not fit into memory."""


class NetworkClassifier:
    """See `Classifier`; of any network that takes (N, 3, H, W) and gives logits (N, classes)."""

    timed = False

    def __init__(
        self,
        network: "Module",
        preprocessing: Preprocessing,
        classes: Sequence[str],
        options: ClassifierOptions,
        name: str,
    ) -> None:
        """Freeze a network and put it on its device.

        Raises:
            BackendError: no such device, or too little memory there.
        """
        import torch

        from cfeval.backends.local_classifiers.small_images import shorten

        self.device = torch.device(devices.chosen(options.device))
        self.classes, self.robust, self.name = tuple(classes), options.robust, name
        self.preprocessing, self.options = preprocessing, options
        self._dtype: torch.dtype = getattr(torch, options.dtype)
        perturb(network, options.perturbation, options.seed)
        with memory_errors(f"loading classifier '{name}'", SMALLER):
            frozen = network.eval().requires_grad_(False).to(self.device, self._dtype)
            self.network = frozen.to(memory_format=torch.channels_last)  # convolutions are quicker so
            shorten(self.network)

    def logits(self, images: "Tensor", timesteps: "Tensor | None" = None, prepared: bool = True) -> "Tensor":
        """See `Classifier.logits`."""
        del timesteps
        if not prepared:
            return self._as_they_are(images)
        inputs = self.preprocessing(images, self.options.crop)
        logits: Tensor = self.network(inputs.to(self._dtype))
        return logits.float() / self.options.temperature

    def _as_they_are(self, images: "Tensor") -> "Tensor":
        try:
            logits: Tensor = self.network(images.to(self._dtype))
        except (AssertionError, RuntimeError, ValueError) as error:
            side = self.preprocessing.size
            if out_of_memory(error) or tuple(images.shape[-2:]) == (side, side):
                raise
            shape = " × ".join(map(str, images.shape[-2:]))
            raise BackendError(
                f"classifier '{self.name}' takes no image of {shape} as it is ({first_line(error)}); "
                f"let it prepare its images, or make them {side} × {side}"
            ) from error
        return logits.float()


def perturb(network: "Module", share: float, seed: int) -> None:
    """Add noise to every parameter: normal, with `share` of the standard deviation of all parameters together."""
    import torch

    if not share:
        return
    drawn = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        spread = torch.cat([weight.flatten() for weight in network.parameters()]).std()
        for weight in network.parameters():
            weight.add_(share * spread * torch.randn(weight.shape, generator=drawn))
