from pathlib import Path
from typing import Any, get_args

import pytest
import yaml
from pydantic import ValidationError

from cfeval.vce.method import MODES, PRESETS, Compute, Method, Mode, Parts, Preset

EVERY = [(preset, None) for preset in PRESETS] + [("dbvce", mode) for mode in MODES]


@pytest.mark.parametrize(("preset", "mode"), EVERY)
def test_resolved_settings_read_back_as_the_same_method(preset: Any, mode: Any) -> None:
    method = Method(preset=preset, mode=mode)
    alone = {"attack": {"attack_iterations", "attack_step"}, "inversion": {"starts", "coupling"}}
    alone |= {"bridge": {"bridge_steps"}, "prompts": {"prompt_steps", "prompt_rate", "prompt_scale"}}
    others = set().union(*(names for guidance, names in alone.items() if guidance != method.guidance))
    assert set(method.resolved()) == set(Method.model_fields) - others
    assert Method(**method.resolved()) == method


def test_names_of_presets_and_modes_are_those_of_the_tables() -> None:
    assert set(get_args(Preset)) == set(PRESETS)
    assert set(get_args(Mode)) == set(MODES)


def test_a_method_is_its_preset_but_for_what_is_said() -> None:
    method = Method(preset="dvce", angle=45.0)
    assert (method.angle, method.norm, method.output, method.augmentations) == (45, "noise", "x0", 16)


def test_the_modes_of_dbvce_differ_where_paper_and_code_do() -> None:
    paper, reference = Method(preset="dbvce"), Method(preset="dbvce", mode="reference")
    assert paper.mode == "paper"
    different = {name for name in Parts.model_fields if getattr(paper, name) != getattr(reference, name)}
    assert different == {"prepared", "classifier_time", "in_cone"}


@pytest.mark.parametrize(
    ("preset", "steps"),
    [
        *(("unguided", 100), ("dbvce", 100), ("dime", 60), ("fastdime", 60), ("maskdime", 60)),
        *(("stabilized-guidance", 100), ("region-constrained", 120), ("time", 15), ("rcsb", 100), ("dig-in", 20)),
    ],
)
def test_the_presets_denoise_as_many_steps_as_their_papers(preset: Any, steps: int) -> None:
    assert Method(preset=preset).steps == steps


@pytest.mark.parametrize(("respacing", "steps"), [("200", 200), ("10,20,30", 60), ("ddim25", 25)])
def test_kept_steps_are_those_of_the_respacing(respacing: str, steps: int) -> None:
    assert Parts(respacing=respacing).kept_steps == steps


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ({"preset": "dbvec"}, "Input should be 'unguided'"),
        ({"preset": "dbvce", "angel": 3}, "Extra inputs are not permitted"),
        ({"preset": "dbvce", "mode": "code"}, "'paper' or 'reference'"),
        ({"preset": "dime", "mode": "paper"}, "mode 'paper' is of preset dbvce alone"),
        ({"preset": "dbvce", "mode": "reference", "guidance": "noisy"}, "mode 'reference' has no guidance 'noisy'"),
        ({"preset": "unguided", "scales": [1.0]}, "'scales' has no effect unless guidance is"),
        ({"preset": "dbvce", "projection": "none", "angle": 45}, "'angle' has no effect unless projection is"),
        ({"preset": "dbvce", "projection": "none", "cone_at": "x0"}, "'cone_at' has no effect unless projection is"),
        ({"preset": "dbvce", "guidance": "noisy", "cone_at": "x0"}, "set guidance: x0"),
        ({"preset": "dvce", "norm": "none"}, "keeps a direction only"),
        ({"preset": "dbvce", "distance": "none", "lp": 2}, "'lp' has no effect unless distance is"),
        ({"preset": "dime", "start": 1.0}, "noise beyond the last step"),
        ({"preset": "dime", "guidance": "x0"}, "perceptual_weight acts on the clean estimate"),
        ({"preset": "maskdime", "clean": "nested"}, "clean must be 'one-step'"),
        ({"preset": "fastdime", "mask_dilation": 4}, "must be odd"),
        ({"preset": "dbvce", "perceptual_weight": 3}, "'perceptual_weight' has no effect unless guidance is 'clean'"),
        ({"preset": "dbvce", "decay": 0.5}, "'decay' has no effect unless stabilization is 'ema' or 'adam'"),
        ({"preset": "dbvce", "region_share": 0.5}, "'region_share' has no effect unless mask is 'attribution'"),
        ({"preset": "unguided", "stabilization": "ema"}, "'stabilization' has no effect unless guidance is"),
        ({"preset": "region-constrained", "mask": "given"}, "name their folder in region_folder"),
        ({"preset": "black-box", "norm": "none"}, "gives a direction and no gradient"),
        ({"preset": "black-box", "mask": "attribution"}, "gives a direction and no gradient"),
        ({"preset": "black-box", "projection": "cone"}, "'projection' has no effect unless guidance is"),
        ({"preset": "dbvce", "particles": 8}, "'particles' has no effect unless guidance is 'black-box'"),
        ({"preset": "dbvce", "respacing": "ten"}, "should match pattern"),
        ({"preset": "dbvce", "scales": []}, "at least 1 item"),
        ({"preset": "dbvce", "angle": 90}, "less than 90"),
        ({}, "Field required"),
    ],
)
def test_what_is_unknown_or_contradicts_itself_is_an_error(said: dict[str, Any], line: str) -> None:
    with pytest.raises(ValidationError) as error:
        Method.model_validate(said)
    assert any(line in fault["msg"] for fault in error.value.errors()), error.value.errors()


DOCS = Path(__file__).parents[2] / "docs" / "concepts" / "vce-methods.md"
PUBLISHED: dict[str, tuple[Any, ...]] = {
    "start": (0.5, 0.5, 0.5, 0.5, 0.3, 0.3, 0.3, None, 0.6, None, 0.2, 0.342, 0.3, 0.6, 1.0),
    "guidance": (
        "none",
        "noisy",
        "x0",
        "x0",
        "clean",
        "clean",
        "clean",
        "x0",
        "x0",
        "black-box",
        "attack",
        "empty",
        "inversion",
        "bridge",
        "prompts",
    ),
    "loss": (
        None,
        None,
        None,
        None,
        "logit",
        "logit",
        "logit",
        "logit",
        "log-probability",
        None,
        "log-probability",
        "log-probability",
        None,
        "log-probability",
        "log-probability",
    ),
    "norm": (
        None,
        "none",
        "noise",
        "mean",
        "none",
        "none",
        "none",
        "none",
        None,
        None,
        "none",
        "implicit",
        "none",
        "first",
        "none",
    ),
    "scales": (
        None,
        (10,),
        (0.1,),
        (0.1,),
        (8, 10, 15),
        (8, 10, 15),
        (64, 80, 120),
        (1,),
        None,
        None,
        (1,),
        (6,),
        (4, 4, 4, 4),
        (1.5,),
        (1,),
    ),
    "augmentations": (None, 1, 16, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
    "stabilization": (
        None,
        "none",
        "none",
        "none",
        "none",
        "none",
        "none",
        "ema",
        "adam",
        "none",
        "none",
        "none",
        "none",
        "adam",
        "none",
    ),
    "decay": (None, None, None, None, None, None, None, 0.9, 0.9, None, None, None, None, 0.9, None),
    "distance": (
        "none",
        "none",
        "denoiser",
        "x0",
        "noisy",
        "noisy",
        "noisy",
        "none",
        "none",
        "x0",
        "image",
        "denoiser",
        "none",
        "none",
        "none",
    ),
    "lp_weight": (None, None, 0.15, 0.15, 0.05, 0.05, 0.4, None, None, None, 0.001, 0.75, None, None, None),
    "perceptual_weight": (None, None, None, None, 30, 30, 240, None, None, None, None, None, None, None, None),
    "mask": (
        None,
        "none",
        "none",
        "none",
        "none",
        "difference",
        "gradient",
        "none",
        "attribution",
        "none",
        "difference",
        "none",
        "none",
        "attribution",
        "none",
    ),
    "region_share": (None, None, None, None, None, None, None, None, 0.3, None, None, None, None, 0.3, None),
    "region_cell": (None, None, None, None, None, None, None, None, 16, None, None, None, None, 16, None),
    "output": (
        "sample",
        "sample",
        "x0",
        "sample",
        "sample",
        "sample",
        "sample",
        "sample",
        "sample",
        "sample",
        "sample",
        "sample",
        "sample",
        "sample",
        "sample",
    ),
    "respacing": (
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        "25",
        "ddim500",
        "ddim50",
        None,
        "ddim20",
    ),
    "attack_iterations": (None, None, None, None, None, None, None, None, None, None, 50, None, None, None, None),
    "attack_step": (None, None, None, None, None, None, None, None, None, None, 1 / 255, None, None, None, None),
    "mask_dilation": (None, None, None, None, None, 5, 5, None, None, None, 15, None, None, None, None),
    "mask_threshold": (None, None, None, None, None, 0.15, None, None, None, None, 0.15, None, None, None, None),
    "angle": (None, None, 30, 30, None, None, None, None, None, None, None, 40, None, None, None),
    "starts": (
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        None,
        (0.3, 0.4, 0.5, 0.7),
        None,
        None,
    ),
    "coupling": (None, None, None, None, None, None, None, None, None, None, None, None, 0.93, None, None),
    "bridge_steps": (None, None, None, None, None, None, None, None, None, None, None, None, None, 100, None),
    "prompt_steps": (None, None, None, None, None, None, None, None, None, None, None, None, None, None, 20),
    "prompt_rate": (None, None, None, None, None, None, None, None, None, None, None, None, None, None, 0.01),
    "prompt_scale": (None, None, None, None, None, None, None, None, None, None, None, None, None, None, 3.0),
}
"""Of papers and their code, in the order of the presets; None: it has no effect there."""


@pytest.mark.parametrize("setting", PUBLISHED)
def test_the_presets_are_those_of_papers_and_code(setting: str) -> None:
    for preset, published in zip(get_args(Preset), PUBLISHED[setting], strict=True):
        assert published in (None, getattr(Method(preset=preset), setting)), preset


def test_the_methods_in_the_docs_can_be_used() -> None:
    block = DOCS.read_text().split("```text\n")[1].split("```")[0]
    methods = {name: Method(**said) for name, said in yaml.safe_load(block)["methods"].items()}
    assert methods["dvce-wide"].scales == (0.1, 0.2)
    assert len(methods) == 6


def test_every_setting_has_a_description() -> None:
    for section in (Method, Compute):
        assert all(field.description for field in section.model_fields.values())
