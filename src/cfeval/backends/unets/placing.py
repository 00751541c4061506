"""Where a denoiser of this machine computes, and in which numbers."""

from typing import Any

from cfeval.backends.local_models.devices import Dtype

SMALLER = "set dtype: float16, device: cpu, or take a larger machine"
"""What to do where the weights do not fit."""


def dtype_on(device: str, wanted: Dtype) -> Dtype:
    """The type of a denoiser's numbers; auto is float16 on a GPU, as published, and float32 elsewhere."""
    if wanted != "auto":
        return wanted
    return "float16" if device.startswith("cuda") else "float32"


def placed(unet: Any, device: str, wanted: Dtype) -> Any:
    """A network on its device, in the type of its numbers; in bfloat16 on a processor, in the layout that is quick."""
    import torch

    from cfeval.backends.unets.norm import quicken

    dtype = dtype_on(device, wanted)
    # The module's own `to`: that of diffusers warns about every type
    there = torch.nn.Module.to(unet, device, getattr(torch, dtype))
    return quicken(there) if (device, dtype) == ("cpu", "bfloat16") else there
