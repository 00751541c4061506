"""What the rules of the vce study use.

Inputs: the section `vce` of params.yaml; without it the study has no files.
Outputs: none.
Steps: 1. name every file and phase. 2. name what jobs depend on.
"""

from cfeval.params.vce import FAMILIES as VCE_FAMILIES
from cfeval.records.vce import VceArm

VCE = PARAMS.vce
VCE_ARMS = VCE.all_arms() if VCE else []

IMAGES = "results/vce/images/{image_set}{shard}.jsonl"
EXPLAINED = "results/vce/counterfactuals/{image_set}/{denoiser}/{classifier}/{method}{shard}.jsonl"
VCE_SCORES = "results/vce/scores/{image_set}/{denoiser}/{classifier}/{method}{shard}.jsonl"
GROUPS = "results/vce/groups/{image_set}/{denoiser}/{classifier}/{method}.jsonl"


def vce_made(template):
    """The files of a template for all arms of the study and all shards, each once."""
    return made(template, [arm.model_dump() for arm in VCE_ARMS])


def vce_arm(wildcards):
    """The arm that the wildcards name."""
    return VceArm(**{name: wildcards[name] for name in VceArm.model_fields})


def vce_spec(section, name):
    """The specification of a backend of the study."""
    return getattr(VCE, section)[name].plugin()


def vce_backends(wildcards):
    """The backends that make counterfactuals, by family: denoiser, classifier and, for the cone, the robust one."""
    method = VCE.methods[wildcards.method]
    found = [
        ("denoisers", vce_spec("denoisers", wildcards.denoiser)),
        ("classifiers", vce_spec("classifiers", wildcards.classifier)),
    ]
    return found + ([("classifiers", vce_spec("classifiers", VCE.robust))] if method.projection == "cone" else [])


def vce_judges(wildcards):
    """The backends that score counterfactuals, by family: the classifier, the oracles, the distances."""
    classifiers = [wildcards.classifier, *VCE.oracles]
    return [("classifiers", vce_spec("classifiers", name)) for name in dict.fromkeys(classifiers)] + [
        ("perceptual", vce_spec("perceptual", name)) for name in VCE.perceptual
    ]


def vce_features(_wildcards):
    """The backends that compare distributions, by family."""
    return [("features", vce_spec("features", name)) for name in VCE.features]


def vce_images(wildcards):
    """The backend that images come from, by family."""
    return [("image_sets", vce_spec("image_sets", wildcards.image_set))]


def vce_files(backends):
    """For a rule's input: the files that the results of these backends depend on."""

    def found(wildcards):
        files = [file for family, its in backends(wildcards) for file in registry.depends_on(family, its)]
        return [surroundings.relative(file) for file in dict.fromkeys(files)]

    return found


def vce_code(verb, backends):
    """For a rule's params: the fingerprint of a verb and of these backends."""

    def found(wildcards):
        modules = [module for family, its in backends(wildcards) for module in registry.modules(family, its)]
        return fingerprint.code(f"cfeval.cli.vce.{verb}", *dict.fromkeys(modules))

    return found


def vce_gpus(backends):
    """For a rule's resources: how many GPUs these backends hold together."""

    def found(wildcards):
        return max((registry.needs(family, its).gpu for family, its in backends(wildcards)), default=0)

    return found
