"""A way of making counterfactuals: a named preset of the sampler's parts, and what differs from it.

`Parts` describes every part. A `Method` is a `Parts` whose values are those of its preset where nothing else is said,
so `method.angle` is the angle that runs, and `Method.resolved()` is all of them. What each preset is made of are the
figures of the papers and of their code (docs/concepts/vce-methods.md).

Sources: classifier guidance, Dhariwal & Nichol 2021; DVCE, Augustin et al. 2022; DBVCE, Vaeth et al. 2023; DiME,
Jeanneret et al. 2022; FastDiME, Weng et al. 2024; MaskDiME, Guo et al. 2026; stabilized guidance, Vaeth et al. 2025;
region-constrained counterfactuals, Sobieski et al. 2025 (RCSB); ACE, Jeanneret et al. 2023; LDCE, Farid et al. 2023;
TIME, Jeanneret et al. 2024; DiG-IN, Augustin et al. 2024.
The perceptual weights of DiME and its descendants are for the mean squared difference of VGG19 features.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from cfeval.core.config import Section, Share

Preset = Literal[
    "unguided",
    "classifier-guidance",
    "dvce",
    "dbvce",
    "dime",
    "fastdime",
    "maskdime",
    "stabilized-guidance",
    "region-constrained",
    "black-box",
    "ace",
    "ldce",
    "time",
    "rcsb",
    "dig-in",
]
Mode = Literal["paper", "reference"]
Respacing = Annotated[str, StringConstraints(pattern=r"^(ddim)?[1-9]\d*$|^[1-9]\d*(,[1-9]\d*)+$", max_length=100)]
Positive = Annotated[float, Field(gt=0)]
PositiveShare = Annotated[float, Field(gt=0, le=1)]
_DVCE = {
    "guidance": "x0",
    "norm": "noise",
    "scales": (0.1,),
    "projection": "cone",
    "angle": 30.0,
    "augmentations": 16,
    "distance": "denoiser",
    "lp_weight": 0.15,
    "output": "x0",
}
_DBVCE = {
    "guidance": "x0",
    "norm": "mean",
    "scales": (0.1,),
    "projection": "cone",
    "angle": 30.0,
    "distance": "x0",
    "lp_weight": 0.15,
}
_DIME = {
    "start": 0.3,
    "noise_ahead": 1,
    "clip_denoised": True,
    "guidance": "clean",
    "clean": "nested",
    "loss": "logit",
    "norm": "none",
    "scales": (8.0, 10.0, 15.0),
    "distance": "noisy",
    "lp_weight": 0.05,
    "perceptual_weight": 30.0,
}
_FASTDIME = {
    **_DIME,
    "clean": "one-step",
    "chain_rule": False,
    "mask": "difference",
    "mask_warmup": 0.5,
    "mask_threshold": 0.15,
    "mask_dilation": 5,
}
_MASKDIME = {
    **_DIME,
    "clean": "one-step",
    "stochastic": False,
    "scales": (64.0, 80.0, 120.0),
    "lp_weight": 0.4,
    "perceptual_weight": 240.0,
    "mask": "gradient",
    "mask_share": 0.05,
    "mask_inner": 0.5,
    "mask_dilation": 5,
}
_STABILIZED = {
    "guidance": "x0",
    "loss": "logit",
    "norm": "none",
    "scales": (1.0,),
    "stabilization": "ema",
    "decay": 0.9,
    "distance": "none",
}
_REGION = {
    "start": 0.6,
    "guidance": "x0",
    "norm": "mean",
    "scales": (0.1,),
    "stabilization": "adam",
    "decay": 0.9,
    "distance": "none",
    "mask": "attribution",
    "region_share": 0.3,
    "region_cell": 16,
}
_ACE = {
    "respacing": "25",
    "start": 0.2,
    "clip_denoised": True,
    "guidance": "attack",
    "norm": "none",
    "scales": (1.0,),
    "distance": "image",
    "lp_weight": 0.001,
    "mask": "difference",
    "mask_warmup": 0.0,
    "mask_threshold": 0.15,
    "mask_dilation": 15,
}
_LDCE = {
    "respacing": "ddim500",
    "start": 0.342,
    "noise_ahead": 1,
    "stochastic": False,
    "guidance": "empty",
    "norm": "implicit",
    "scales": (6.0,),
    "projection": "consensus",
    "angle": 40.0,
    "distance": "denoiser",
    "lp_weight": 0.75,
}
_TIME = {
    "respacing": "ddim50",
    "start": 0.3,
    "starts": (0.3, 0.4, 0.5, 0.7),
    "noise_ahead": 1,
    "stochastic": False,
    "guidance": "inversion",
    "norm": "none",
    "scales": (4.0, 4.0, 4.0, 4.0),
    "distance": "none",
}
_RCSB = {
    "start": 0.6,
    "stochastic": False,
    "guidance": "bridge",
    "norm": "first",
    "scales": (1.5,),
    "stabilization": "adam",
    "decay": 0.9,
    "distance": "none",
    "mask": "attribution",
    "region_share": 0.3,
    "region_cell": 16,
}
_DIG_IN = {
    "respacing": "ddim20",
    "start": 1.0,
    "stochastic": False,
    "guidance": "prompts",
    "norm": "none",
    "scales": (1.0,),
    "distance": "none",
}
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "unguided": {"guidance": "none", "distance": "none"},
    "classifier-guidance": {"guidance": "noisy", "norm": "none", "scales": (10.0,), "distance": "none"},
    "dvce": _DVCE,
    "dbvce": _DBVCE,
    "dime": _DIME,
    "fastdime": _FASTDIME,
    "maskdime": _MASKDIME,
    "stabilized-guidance": _STABILIZED,
    "region-constrained": _REGION,
    "black-box": {"guidance": "black-box", "norm": "mean", "scales": (0.1,), "distance": "x0", "lp_weight": 0.15},
    "ace": _ACE,
    "ldce": _LDCE,
    "time": _TIME,
    "rcsb": _RCSB,
    "dig-in": _DIG_IN,
}
"""By preset, the parts that differ from the defaults of `Parts`."""
MODES: Mapping[str, Mapping[str, Any]] = {
    "paper": {"prepared": True, "classifier_time": "clean", "in_cone": "robust"},
    "reference": {"prepared": False, "classifier_time": "step", "in_cone": "classifier"},
}
"""By mode of dbvce, where paper and code of the sampler part ways."""
# By guidance, the settings of it alone: `Method.resolved` lists them for no other.
_OWN = {
    "attack": {"attack_iterations", "attack_step"},
    "inversion": {"starts", "coupling"},
    "bridge": {"bridge_steps"},
    "prompts": {"prompt_steps", "prompt_rate", "prompt_scale"},
}
# Guidance by a gradient of the classifier at each step of the common loop.
_GRADED = ("noisy", "x0", "straight", "clean")
PATH_POINTS = 50
"""Points at which an attribution takes the gradient (captum's default, which RCSB keeps)."""
_NEEDS: dict[str, tuple[str, tuple[str, ...]]] = {
    **dict.fromkeys(
        ("scales", "prepared"),
        ("guidance", (*_GRADED, "black-box", "attack", "empty", "inversion", "bridge", "prompts")),
    ),
    "loss": ("guidance", (*_GRADED, "black-box", "attack", "empty", "bridge", "prompts")),
    "mask": ("guidance", (*_GRADED, "black-box", "attack", "empty", "bridge")),
    "respacing": ("guidance", (*_GRADED, "none", "black-box", "attack", "empty", "inversion", "prompts")),
    **dict.fromkeys(("prompt_steps", "prompt_rate", "prompt_scale"), ("guidance", ("prompts",))),
    "bridge_steps": ("guidance", ("bridge",)),
    **dict.fromkeys(("starts", "coupling"), ("guidance", ("inversion",))),
    "stabilization": ("guidance", (*_GRADED, "black-box", "bridge")),
    **dict.fromkeys(("attack_iterations", "attack_step"), ("guidance", ("attack",))),
    "augmentations": ("guidance", _GRADED),
    "projection": ("guidance", (*_GRADED, "empty")),
    **dict.fromkeys(("particles", "particle_spread"), ("guidance", ("black-box",))),
    "classifier_time": ("guidance", ("x0", "straight", "clean", "black-box")),
    "angle": ("projection", ("cone", "consensus")),
    **dict.fromkeys(("in_cone", "cone_at"), ("projection", ("cone",))),
    **dict.fromkeys(("lp", "lp_weight"), ("distance", ("x0", "denoiser", "noisy", "image"))),
    **dict.fromkeys(("perceptual_weight", "clean", "chain_rule"), ("guidance", ("clean",))),
    **dict.fromkeys(("mask_warmup", "mask_threshold"), ("mask", ("difference",))),
    **dict.fromkeys(("mask_share", "mask_inner"), ("mask", ("gradient",))),
    "mask_dilation": ("mask", ("difference", "gradient")),
    **dict.fromkeys(("region_share", "region_cell"), ("mask", ("attribution",))),
    "region_folder": ("mask", ("given",)),
    "decay": ("stabilization", ("ema", "adam")),
}
"""Which part each setting belongs to: without it, the setting would silently have no effect."""


class Parts(Section):
    """The parts of the guided sampler; fields that need another part to have an effect say which."""

    respacing: Respacing = Field("200", description="Steps kept of the training steps: `n`, `a,b,c` or `ddimN`.")
    start: float = Field(0.5, gt=0, le=1, description="Share of the kept steps that is noised and then denoised.")
    starts: tuple[PositiveShare, ...] = Field(
        (), description="A start for each of the scales, tried with it (TIME); empty: `start` for all."
    )
    noise_ahead: Literal[0, 1] = Field(
        0, description="Steps by which the noise of the start is ahead of the first denoised step (1: DiME's code)."
    )
    stochastic: bool = Field(True, description="Add noise at each step; off, a step goes to its mean.")
    clip_denoised: bool = Field(False, description="Clamp the predicted clean image to [-1, 1].")
    output: Literal["sample", "x0"] = Field("sample", description="Last sample, or the last predicted clean image.")
    guidance: Literal[
        "none", "noisy", "x0", "straight", "clean", "black-box", "attack", "empty", "inversion", "bridge", "prompts"
    ] = Field(
        "x0",
        description="What the classifier sees, and where its gradient is taken: nothing; the noisy image (Eq. 1); the "
        "predicted clean image, through the denoiser; the same, straight to it (DBVCE's code without x0-prediction); "
        "a clean estimate of its own (DiME); predicted clean images of particles, without any gradient; what is "
        "denoised of an attacked image, through all steps (ACE); the image predicted without a class (LDCE); nothing, "
        "for the image is inverted as its class and denoised as the target, by the denoiser's own classes (TIME); the "
        "predicted clean image, stretched to all levels, on a bridge from noise in a region (RCSB); the last predicted "
        "clean images, through all steps, to start and prompts of an inverted image (DiG-IN).",
    )
    prompt_steps: int = Field(20, ge=1, description="Steps of Adam on start and prompts.")
    prompt_rate: float = Field(0.01, gt=0, description="Its rate for prompts; a tenth of it for the start.")
    prompt_scale: float = Field(3.0, gt=1, description="Guidance of the denoiser by the prompt.")
    bridge_steps: int = Field(
        100, ge=1, description="Steps from the start of a bridge to its end; no `respacing` there."
    )
    coupling: float = Field(0.93, gt=0.5, le=1, description="Share that each of TIME's two images keeps of itself.")
    attack_iterations: int = Field(50, ge=1, description="Steps of an attack; ACE takes 100 on ImageNet.")
    attack_step: float = Field(1 / 255, gt=0, le=1, description="By how much each moves a pixel, of [0, 1].")
    particles: int = Field(32, ge=2, multiple_of=2, description="Images drawn around the noisy one for a black box.")
    particle_spread: float = Field(0.5, gt=0, le=2, description="How far they lie, as a share of the noise.")
    loss: Literal["log-probability", "logit"] = Field("log-probability", description="What of the target class rises.")
    scales: tuple[Positive, ...] = Field(
        (0.1,),
        min_length=1,
        description="Weights of the class term; each is tried in order on the images that are not in the target yet.",
    )
    norm: Literal["mean", "noise", "none", "implicit", "first"] = Field(
        "mean",
        description="Each term's L2 norm is set to that of the posterior mean (DBVCE), of the predicted noise (DVCE's "
        "code), of what a class changes in the predicted noise (LDCE), or left; or divided by that of the first step "
        "(RCSB).",
    )
    prepared: bool = Field(
        True, description="Let the classifier resize and normalise as it was trained; off: raw [-1, 1] images."
    )
    classifier_time: Literal["clean", "step"] = Field(
        "clean", description="Timestep told to a timed classifier that sees a clean image: 0, or that of the step."
    )
    augmentations: int = Field(
        1, ge=1, le=64, description="Copies of an image that the classifier sees, all but one moved (DVCE); 1: none."
    )
    stabilization: Literal["none", "ema", "adam"] = Field(
        "none",
        description="What of the classifier's gradients counts at a step: its own; their exponential mean over the "
        "steps; that mean divided by the root of the squares' (Adam).",
    )
    decay: float = Field(0.9, ge=0, lt=1, description="Share of the past in the exponential mean.")
    projection: Literal["none", "cone", "consensus"] = Field(
        "none",
        description="The robust classifier's gradient projected onto the cone around the classifier's (DVCE), or the "
        "classifier's gradient kept where a conditional denoiser agrees (LDCE).",
    )
    angle: float = Field(30.0, gt=0, lt=90, description="Degrees of the cone, or up to which LDCE's two agree.")
    in_cone: Literal["classifier", "robust"] = Field(
        "classifier", description="Gradient that counts where the robust one is inside the cone already."
    )
    cone_at: Literal["noisy", "x0"] = Field(
        "noisy",
        description="Where the two gradients meet: at the noisy image, each pulled back through the denoiser (papers); "
        "at the predicted clean one, so that one gradient is pulled back in place of two.",
    )
    distance: Literal["none", "x0", "denoiser", "noisy", "image"] = Field(
        "x0",
        description="Image whose Lp distance to the original falls: none; the predicted clean one; the same, through "
        "the denoiser; the noisy one (DiME); the attacked one (ACE), or that of optimised prompts (DiG-IN).",
    )
    lp: float = Field(1.0, ge=0.5, le=4, description="p of the Lp distance.")
    lp_weight: float = Field(0.15, gt=0, description="Weight of the distance term.")
    perceptual_weight: float = Field(0.0, ge=0, description="Weight of the perceptual term on the clean estimate.")
    clean: Literal["nested", "one-step"] = Field(
        "one-step", description="The clean estimate: denoised to the end in a loop of its own, or predicted at once."
    )
    chain_rule: bool = Field(True, description="Divide gradients on the clean estimate by the root of alpha bar.")
    mask: Literal["none", "difference", "gradient", "attribution", "given"] = Field(
        "none",
        description="Where the image may change: all over; where the estimate differs; where the gradient is; from the "
        "start, where the classifier's prediction comes from; where your own masks say.",
    )
    mask_warmup: Share = Field(0.5, description="Share of the steps before a difference mask sets in.")
    mask_threshold: Share = Field(0.15, description="Share of the largest difference from which a pixel may change.")
    mask_share: float = Field(0.05, gt=0, le=1, description="Share of pixels in the gradient mask.")
    mask_inner: float = Field(0.5, gt=0, le=1, description="Share of those in the inner mask of the clean estimate.")
    mask_dilation: int = Field(5, ge=1, le=99, description="Side, in pixels, by which a mask grows; odd.")
    region_share: float = Field(0.3, gt=0, le=1, description="Largest share of the image in a mask by attribution.")
    region_cell: int = Field(16, ge=1, description="Side, in pixels, of the cells that make up such a mask.")
    region_folder: str = Field(
        "", description="Folder of your own masks, `ID.png` for each source image; what is white may change."
    )

    @property
    def kept_steps(self) -> int:
        """How many steps the respacing keeps."""
        return sum(int(part) for part in self.respacing.removeprefix("ddim").split(","))

    @property
    def steps(self) -> int:
        """How many steps are denoised, with the first of the scales."""
        if self.guidance == "bridge":
            return self.bridge_steps
        return max(1, round((self.starts[0] if self.starts else self.start) * self.kept_steps))

    def steps_of(self, attempt: int) -> int:
        """How many steps are denoised with one of the scales."""
        return max(1, round(self.starts[attempt] * self.kept_steps)) if self.starts else self.steps

    @property
    def nested(self) -> bool:
        """Whether the clean estimate is denoised in a loop of its own."""
        return self.guidance == "clean" and self.clean == "nested"

    @property
    def one_pull_back(self) -> bool:
        """Whether class term and distance go through the denoiser as one gradient."""
        bare = self.norm == "none" and self.stabilization == "none"
        return bare and self.guidance == "x0" and self.distance == "denoiser"

    @property
    def denoiser_calls(self) -> int:
        """How often the denoiser is asked about an image with the first of the scales."""
        if self.guidance == "black-box":
            return self.steps * (1 + self.particles)
        if self.guidance == "attack":
            return self.steps * (1 + self.attack_iterations)
        if self.guidance == "empty":
            return 2 * self.steps
        if self.guidance == "prompts":  # inverted, fitted in ten steps at most, and denoised with a negative prompt
            return self.steps * (1 + 12 + 2 * (self.prompt_steps + 1))
        if self.guidance == "inversion":  # there and back, two images, each as source and as target
            return 8 * self.steps
        return self.steps * (self.steps + 1) // 2 if self.nested else self.steps

    def _attacks(self) -> bool:
        off = (self.norm, self.projection, self.stabilization) == ("none", "none", "none")
        plain = (self.augmentations, self.noise_ahead, self.output) == (1, 0, "sample")
        return off and plain and self.distance in ("image", "none") and self.mask in ("difference", "none")

    def _is_ldce(self) -> bool:
        off = (self.mask, self.stabilization, self.stochastic) == ("none", "none", False)
        plain = (self.augmentations, self.output, self.clip_denoised) == (1, "sample", False)
        return off and plain and self.distance in ("denoiser", "none") and self.projection in ("consensus", "none")

    def _is_time(self) -> bool:
        off = (self.norm, self.projection, self.stabilization, self.mask, self.distance) == ("none",) * 5
        plain = (self.augmentations, self.output, self.clip_denoised, self.stochastic) == (1, "sample", False, False)
        return off and plain

    def _is_dig_in(self) -> bool:
        off = (self.norm, self.projection, self.stabilization, self.mask) == ("none",) * 4
        plain = (self.augmentations, self.output, self.noise_ahead, self.stochastic) == (1, "sample", 0, False)
        return off and plain and self.distance in ("image", "none") and not self.clip_denoised

    def _is_bridge(self) -> bool:
        off = (self.projection, self.distance, self.stochastic, self.clip_denoised) == ("none", "none", False, False)
        plain = (self.augmentations, self.output, self.noise_ahead) == (1, "sample", 0)
        return off and plain and self.mask in ("attribution", "given")

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.projection != "none" and self.norm == "none":
            raise ValueError(
                f"projection '{self.projection}' keeps a direction only, so norm must be 'mean' or 'noise'"
            )
        if self.cone_at == "x0" and self.guidance != "x0":
            raise ValueError("cone_at 'x0' is of gradients at the predicted clean image; set guidance: x0, or drop it")
        if self.guidance == "black-box" and (self.norm == "none" or self.mask in ("attribution", "gradient")):
            raise ValueError(
                "guidance 'black-box' gives a direction and no gradient: norm must be 'mean' or 'noise', and mask "
                "'none', 'difference' or 'given'"
            )
        if (self.distance == "image") > (self.guidance in ("attack", "prompts")):
            raise ValueError("distance 'image' is of an attacked image; set guidance: attack, or another distance")
        if self.guidance == "prompts" and not self._is_dig_in():
            raise ValueError(
                "guidance 'prompts' goes with distance 'image' or 'none', norm, mask, projection and stabilization "
                "'none', stochastic false, output 'sample' and no augmentations; leave out the rest"
            )
        if self.guidance == "attack" and not self._attacks():
            raise ValueError(
                "guidance 'attack' goes with norm 'none', distance 'image' or 'none', mask 'difference' or 'none', "
                "output 'sample', noise_ahead 0 and no projection, stabilization or augmentations; leave out the rest"
            )
        if (self.guidance == "empty") != (self.norm == "implicit"):
            raise ValueError("guidance 'empty' and norm 'implicit' are LDCE's and go together; set both or neither")
        if self.guidance == "empty" and not self._is_ldce():
            raise ValueError(
                "guidance 'empty' goes with projection 'consensus' or 'none', distance 'denoiser' or 'none', "
                "stochastic false, output 'sample' and no mask, stabilization or augmentations; leave out the rest"
            )
        if self.guidance == "inversion" and not self._is_time():
            raise ValueError(
                "guidance 'inversion' goes with norm, distance, mask, projection and stabilization 'none', stochastic "
                "false, output 'sample' and no augmentations; leave out the rest"
            )
        if (self.guidance == "bridge") != (self.norm == "first"):
            raise ValueError("guidance 'bridge' and norm 'first' are RCSB's and go together; set both or neither")
        if self.guidance == "bridge" and not self._is_bridge():
            raise ValueError(
                "guidance 'bridge' goes with mask 'attribution' or 'given', stochastic false, output 'sample' and no "
                "projection, distance or augmentations; leave out the rest"
            )
        if self.starts and len(self.starts) != len(self.scales):
            raise ValueError(f"starts has {len(self.starts)} values for {len(self.scales)} scales; give one for each")
        longest = max(self.steps_of(attempt) for attempt in range(len(self.scales)))
        if self.guidance != "bridge" and longest + self.noise_ahead > self.kept_steps:
            raise ValueError("noise_ahead 1 asks for noise beyond the last step; start must be below 1")
        if self.perceptual_weight and self.guidance != "clean":
            raise ValueError("perceptual_weight acts on the clean estimate of guidance 'clean'; set it to 0")
        if self.mask_dilation % 2 == 0:
            raise ValueError("mask_dilation must be odd")
        if self.mask == "given" and not self.region_folder:
            raise ValueError("mask 'given' needs your masks; name their folder in region_folder")
        if self.mask == "gradient" and self.nested:
            raise ValueError("mask 'gradient' blends the one-step estimate, so clean must be 'one-step'")
        return self


class Method(Parts):
    """A preset, and the parts in which it is to differ."""

    preset: Preset = Field(description="Named composition of the parts (docs/concepts/vce-methods.md).")
    reject: bool = Field(
        False, description="Drop what the classifier does not put into the target class (Section 5, Hypothesis 2)."
    )
    mode: Mode | None = Field(None, description="Of dbvce: as the paper says (default), or as its code does.")

    @model_validator(mode="before")
    @classmethod
    def _from_preset(cls, given: Any) -> Any:
        """Lay what is given over the preset; leave what is wrong beyond that to the fields' own checks."""
        if not (isinstance(given, Mapping) and given.get("preset") in PRESETS and given.get("mode") in (None, *MODES)):
            return given
        values = values_of(given["preset"], given.get("mode"))
        laid = {**values, **given}
        for key, value in sorted(given.items()):
            if key not in _NEEDS:
                continue
            neutral = Parts.model_fields[key].default
            if (tuple(value) if isinstance(value, list) else value) in (values.get(key, neutral), neutral):
                continue
            part, choices = _NEEDS[key]
            if laid.get(part, Parts.model_fields[part].default) not in choices:
                allowed = " or ".join(f"'{choice}'" for choice in choices)
                raise ValueError(f"'{key}' has no effect unless {part} is {allowed}; leave it out or change {part}")
        return laid

    @model_validator(mode="after")
    def _as_the_code(self) -> Self:
        if self.mode == "reference" and self.guidance == "noisy":
            raise ValueError(
                "mode 'reference' has no guidance 'noisy': its code shows the predicted clean image, 'straight'"
            )
        return self

    def resolved(self) -> dict[str, Any]:
        """Every setting with its value, in the order of the fields; a mapping that `Method` reads back.

        Those of one guidance alone are there for it alone.
        """
        others = set().union(*(names for guidance, names in _OWN.items() if guidance != self.guidance))
        return self.model_dump(mode="json", exclude=others)


class Compute(Section):
    """How the sampler uses the machine. Precision changes the images slightly; the rest leaves them as they are."""

    batch: int = Field(8, ge=1, le=4096, description="Images at once; halved by itself where memory does not suffice.")
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        "float32", description="Precision of denoiser and classifiers (autocast)."
    )
    checkpoint: bool = Field(False, description="Recompute the denoiser for its gradient: less memory, more time.")
    compile: bool = Field(False, description="Compile denoiser and classifiers (torch.compile).")


def values_of(name: str, mode: str | None = None) -> dict[str, Any]:
    """The values of a preset; ValueError where it has no modes, or not this one."""
    if name != "dbvce":
        if mode is not None:
            raise ValueError(f"mode '{mode}' is of preset dbvce alone; leave it out for '{name}'")
        return dict(PRESETS[name])
    chosen = mode or "paper"
    return {**PRESETS[name], **MODES.get(chosen, {}), "mode": chosen}
