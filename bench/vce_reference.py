"""The reference's own sampling loops, from the user's checkouts of DBVCE_eval and DiME, for `bench.vce_cost` to time.

Loops, networks and schedules are theirs, imported. DBVCE's guidance is written inside its main function, where nothing
can import it; `_Guidance` restates it, its costs unchanged: a graph of the UNet at every step, and one pass back
through it for each classifier.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from cfeval.core.errors import InputError
from cfeval.vce.models.unet_architecture import Architecture

Weights = dict[str, Tensor]


def find(folder: Path, module: str) -> None:
    """Make a checkout importable.

    Raises:
        InputError: it is none.
    """
    if not (folder / module.replace(".", "/")).with_suffix(".py").is_file():
        raise InputError(f"{folder}: no checkout that holds {module.replace('.', '/')}.py; give its root")
    sys.path.insert(0, str(folder))


def dbvce(
    weights: Weights, model: Architecture, explained: nn.Module, robust: nn.Module | None, x0: bool, steps: int
) -> Any:
    """What makes counterfactuals (N, 3, H, W) of images and targets, as DBVCE_eval does."""
    there = import_module("guided_diffusion.script_util")
    unet, diffusion = _made(there, weights, model)
    guidance = _Guidance(explained, robust, x0)

    def run(images: Tensor, targets: Tensor) -> Tensor:
        made: Tensor = diffusion.p_sample_loop(
            lambda x, t, **_: unet(x, t),
            images.shape,
            clip_denoised=False,
            model_kwargs={"y": targets},
            cond_fn=guidance,
            device="cpu",
            skip_timesteps=100 - steps,
            init_image_data=images,
        )
        return made

    return run


def dime(weights: Weights, model: Architecture, explained: nn.Module, depth: int) -> Any:
    """The same for DiME, without its perceptual term: `depth` steps, each with a loop of its own to the end."""
    there, sampling = import_module("core.script_util"), import_module("core.sample_utils")
    unet, diffusion = _made(there, weights, model)
    loop = sampling.get_DiME_iterative_sampling(use_sampling=True)

    def run(images: Tensor, targets: Tensor) -> Tensor:
        noised = diffusion.q_sample(images, torch.full((len(images),), depth))
        told = {"y": targets, "s": 8, "use_logits": True, "classifier": explained}
        made: Tensor = loop(
            diffusion,
            unet,
            images.shape,
            depth,
            images,
            None,
            z_t=noised,
            clip_denoised=True,
            device="cpu",
            class_grad_fn=sampling.clean_multiclass_cond_fn,
            class_grad_kwargs=told,
            dist_grad_fn=sampling.dist_cond_fn,
            dist_grad_kargs={"l1_loss": 0.05, "l2_loss": 0, "l_perc": None},
        )[0]
        return made

    return run


def _made(there: Any, weights: Weights, model: Architecture) -> tuple[Any, Any]:
    unet = there.create_model(
        model.image_size,
        model.num_channels,
        model.num_res_blocks,
        channel_mult=",".join(str(int(factor)) for factor in model.channel_mult),
        learn_sigma=True,
        attention_resolutions=",".join(map(str, model.attention)),
        num_heads=model.num_heads,
        use_scale_shift_norm=True,
        resblock_updown=True,
    )
    unet.load_state_dict(weights)
    return unet.eval(), there.create_gaussian_diffusion(steps=1000, learn_sigma=True, timestep_respacing="100")


class _Guidance:
    """DBVCE's direction: one gradient for each classifier, the cone, unit length, and the distance term."""

    def __init__(self, explained: nn.Module, robust: nn.Module | None, x0: bool) -> None:
        self.explained, self.robust, self.x0 = explained, robust, x0

    def __call__(self, x: Tensor, t: Tensor, pred_xstart: Tensor, init_image_data: Tensor, y: Tensor) -> Tensor:
        del t
        at = x if self.x0 else pred_xstart
        with torch.enable_grad():
            found = self._gradient(self.explained, pred_xstart, at, y)
            if self.robust is not None:
                found = _cone(self._gradient(self.robust, pred_xstart, at, y), found)
        distance = (pred_xstart - init_image_data).detach().sign()
        return 0.1 * _unit(found) - 0.15 * _unit(distance)

    def _gradient(self, network: nn.Module, image: Tensor, at: Tensor, y: Tensor) -> Tensor:
        chosen = network(image).log_softmax(1)[torch.arange(len(y)), y]
        return torch.autograd.grad(chosen.mean(), at, retain_graph=True)[0]


def _unit(value: Tensor) -> Tensor:
    return value / value.flatten(1).norm(dim=1).view(-1, 1, 1, 1).clamp(min=1e-22)


def _cone(robust: Tensor, explained: Tensor) -> Tensor:
    axis = _unit(explained)
    across = _unit(robust - (robust * axis).sum((1, 2, 3), keepdim=True) * axis)
    return axis + torch.tan(torch.tensor(30.0).deg2rad()) * across
