"""LEDITS++ on Stable Diffusion: invert the image, then guide it towards the positive and away from the negative part.

Variables: edit guidance s_e → `guidance`; masking quantile λ → `edit_threshold`; skipped share of the steps → 1 −
`strength` (LEDITS++, Section 3). Randomness enters in the inversion only.
"""

from typing import Any

from cfeval.backends.diffusion_pipelines.kind import Canvas, Kind, Settings
from cfeval.backends.diffusion_pipelines.stable_diffusion import TRAINED


def _always(settings: Settings) -> bool:
    del settings
    return True


def _prepare(pipe: Any) -> None:
    """The inversion is defined for this one sampler; checkpoints come with all kinds."""
    import diffusers

    sampler: Any = diffusers.DPMSolverMultistepScheduler
    pipe.scheduler = sampler.from_config(pipe.scheduler.config, algorithm_type="sde-dpmsolver++", solver_order=2)


def _paint(pipe: Any, canvas: Canvas, settings: Settings) -> Any:
    width, height = canvas.image.size
    pipe.invert(
        image=canvas.image,
        source_prompt="",
        num_inversion_steps=int(settings["steps"]),
        skip=1 - settings["strength"],
        generator=canvas.generator,
        width=width,
        height=height,
    )
    away = [canvas.negative_prompt] if canvas.negative_prompt else []
    directions = [canvas.prompt, *away]
    return pipe(
        editing_prompt=directions,
        reverse_editing_direction=[False, *[True for _ in away]],
        edit_guidance_scale=[settings["guidance"] for _ in directions],
        edit_threshold=[settings["edit_threshold"] for _ in directions],
        output_type="np",
    )


LEDITS = Kind(
    {"steps": 30, "guidance": 5.0, "edit_threshold": 0.9, "strength": 0.85, **TRAINED},
    grid=32,
    paint=_paint,
    negative=_always,
    offload=False,  # it makes its noise on the device where its parts wait, not where they compute
    prepare=_prepare,
)
