"""What a pipeline is set to: what was given, checked against what it can use, and its own values for the rest."""

from collections.abc import Mapping

from cfeval.backends.diffusion_pipelines.kind import Settings
from cfeval.backends.diffusion_pipelines.kinds import KINDS
from cfeval.errors import ParamsError


def settings_for(pipeline: str, given: Mapping[str, float], masked: bool, offload: str) -> Settings:
    """All settings of a pipeline.

    Args:
        pipeline: a name from `KINDS`.
        given: the settings that the user gave.
        masked: whether the user named a source of masks.
        offload: where its parts wait.

    Raises:
        ParamsError: one that this pipeline cannot use, or values that do not fit each other.
    """
    kind = KINDS[pipeline]
    for name in given:
        if name not in kind.settings:
            raise ParamsError(
                f"{pipeline} cannot use '{name}'; remove it; it can be set: {', '.join(sorted(kind.settings))}"
            )
    if masked and not kind.mask:
        raise ParamsError(f"{pipeline} cannot use a mask; remove 'masks' and 'mask_model'")
    if kind.mask and not masked:
        raise ParamsError(f"{pipeline} paints inside a mask; set 'masks' (a folder, or whole) or 'mask_model'")
    if offload != "none" and not kind.offload:
        raise ParamsError(f"{pipeline} cannot use offload '{offload}'; set offload: none")
    settings = {**kind.settings, **given}
    _check_steps(pipeline, settings)
    return {**settings, **_limits(settings, given)}


def _check_steps(pipeline: str, settings: Settings) -> None:
    steps, strength = settings["steps"], settings.get("strength", 1.0)
    if int(steps * strength) < 1:
        raise ParamsError(f"{pipeline}: no step is left of steps {steps:g} at strength {strength:g}; raise one of them")


def _limits(settings: Settings, given: Mapping[str, float]) -> Settings:
    """The limits of the painted size: one that is given moves the pipeline's own other one along."""
    least, most = settings["min_pixels"], settings["max_pixels"]
    if least > most and "min_pixels" in given and "max_pixels" in given:
        raise ParamsError(f"min_pixels {least:g} is over max_pixels {most:g}; swap or remove one of them")
    if "max_pixels" in given:
        return {"min_pixels": min(least, most), "max_pixels": most}
    return {"min_pixels": least, "max_pixels": max(least, most)}
