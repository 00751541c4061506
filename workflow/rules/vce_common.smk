"""What the rules of the vce study use.

Inputs: the section `vce` of params.yaml; without it the study has no files.
Outputs: none.
Steps: 1. name every file and phase. 2. name what jobs depend on.
"""

from cfeval.records.vce import VceArm

VCE = PARAMS.vce
VCE_ARMS = VCE.all_arms() if VCE else []

IMAGES = "results/vce/images/{image_set}{shard}.jsonl"
EXPLAINED = "results/vce/counterfactuals/{image_set}/{denoiser}/{classifier}/{method}{shard}.jsonl"
VCE_SCORES = "results/vce/scores/{image_set}/{denoiser}/{classifier}/{method}{shard}.jsonl"
GROUPS = "results/vce/groups/{image_set}/{denoiser}/{classifier}/{method}.jsonl"


SHEETS = "results/vce/sheets/{image_set}/{denoiser}/{classifier}.jsonl"
VCE_TABLES = expand("results/tables/vce_{table}.{ending}", table=tables.NAMES["vce"], ending=["csv", "md", "tex"])
VCE_FIGURES = expand("results/figures/vce_{figure}.{ending}", figure=figures.TABLE_OF["vce"], ending=["png", "svg"])
VCE_METRICS = "results/tables/vce_metrics.json"


def vce_made(template):
    """The files of a template for all arms of the study and all shards, each once."""
    return made(template, [arm.model_dump() for arm in VCE_ARMS])


def vce_all_shards(template, ending=".jsonl"):
    """For a rule's params: the name under which a verb writes and reads all shards of a file.

    Without an ending it is the folder that holds the shards or, of one file, its pictures.
    """
    return lambda wildcards: expand(template, shard="", **wildcards)[0].removesuffix(".jsonl") + ending


def vce_arm(wildcards):
    """The arm that the wildcards name."""
    return VceArm(**{name: wildcards[name] for name in VceArm.model_fields})


def vce_on_sheet(wildcards):
    """The arms that stand on one sheet: those of one classifier by every method."""
    named = ("image_set", "denoiser", "classifier")
    arms = [arm for arm in VCE_ARMS if all(getattr(arm, name) == wildcards[name] for name in named)]
    return [arm.model_dump() for arm in arms]


def vce_beside(template):
    """For a rule's input: the files of the arms that stand on one sheet."""
    return lambda wildcards: made(template, vce_on_sheet(wildcards))


def vce_rows(wildcards):
    """For a rule's params: the options that name the rows of a sheet, an arm each, whatever its shards."""
    rows = []
    for arm in vce_on_sheet(wildcards):
        rows += ["--counterfactuals", EXPLAINED.format(shard="", **arm), "--scores", VCE_SCORES.format(shard="", **arm)]
        rows += ["--label", arm["method"]]
    return rows


def vce_robust(wildcards):
    """For a rule's params: the robust classifier where the method projects onto a cone, as JSON."""
    cone = VCE.methods[wildcards.method].projection == "cone"
    return as_json(vce_spec("classifiers", VCE.robust)) if cone else ""


def vce_perceptual(wildcards):
    """For a rule's params: the distance of the perceptual term where the method has one, as JSON."""
    weight = VCE.methods[wildcards.method].perceptual_weight
    return as_json(vce_spec("perceptual", VCE.dime_perceptual)) if weight else ""


def vce_targets(wildcards):
    """For a rule's params: the options for images of the target classes, where some are wanted."""
    if not VCE.target_images:
        return []
    source = as_json(vce_spec("image_sets", wildcards.image_set))
    return ["--image-set", source, "--count", str(VCE.target_images), "--size", str(VCE.size)]


VCE_PHASES = ("vce_images", "vce_counterfactuals", "vce_scores", "vce_tables", "vce_sheets")
if VCE:
    SEALED |= {
        "vce_images": [
            provenance.Sealed("results/vce/images", tuple(vce_made(IMAGES)), pictures=True),
        ],
        "vce_counterfactuals": [
            provenance.Sealed("results/vce/counterfactuals", tuple(vce_made(EXPLAINED)), pictures=True),
        ],
        "vce_scores": [
            provenance.Sealed("results/vce/scores", tuple(vce_made(VCE_SCORES))),
            provenance.Sealed("results/vce/groups", tuple(vce_made(GROUPS))),
        ],
        "vce_tables": [
            provenance.Sealed("results/tables", (*VCE_TABLES, VCE_METRICS), prefix="vce_"),
            provenance.Sealed("results/figures", tuple(VCE_FIGURES), prefix="vce_"),
        ],
        "vce_sheets": [
            provenance.Sealed("results/vce/sheets", tuple(vce_made(SHEETS)), pictures=True),
        ],
    }
VCE_WILDCARDS = {
    name: one_of(getattr(VCE, f"{name}s")) if VCE else "-" for name in ("image_set", "denoiser", "classifier", "method")
}


def vce_spec(section, name):
    """The specification of a backend of the study."""
    return getattr(VCE, section)[name].plugin()


def vce_backends(wildcards):
    """The backends that make counterfactuals, by family: denoiser, classifier and, for the cone, the robust one."""
    method = VCE.methods[wildcards.method]
    return [
        ("denoisers", vce_spec("denoisers", wildcards.denoiser)),
        ("classifiers", vce_spec("classifiers", wildcards.classifier)),
        *([("classifiers", vce_spec("classifiers", VCE.robust))] if method.projection == "cone" else []),
        *([("perceptual", vce_spec("perceptual", VCE.dime_perceptual))] if method.perceptual_weight else []),
    ]


def vce_judges(wildcards):
    """The backends that score counterfactuals, by family: the classifier, the oracles, distances, embeddings."""
    classifiers = dict.fromkeys([wildcards.classifier, *VCE.oracles])
    return [
        *(("classifiers", vce_spec("classifiers", name)) for name in classifiers),
        *(("perceptual", vce_spec("perceptual", name)) for name in VCE.perceptual),
        *(("features", vce_spec("embeddings", name)) for name in VCE.embeddings),
    ]


def vce_comparing(wildcards):
    """The backends that compare sets of images, by family."""
    return [
        *(("features", vce_spec("features", name)) for name in VCE.features),
        *(("perceptual", vce_spec("perceptual", name)) for name in VCE.perceptual),
        *vce_source(wildcards),
    ]


def specs_as_json(section):
    """All backends of a section, by name, as JSON."""
    return as_json({name: spec.plugin() for name, spec in getattr(VCE, section).items()} if VCE else {})


def vce_source(wildcards):
    """The backend that images come from, by family."""
    return [("image_sets", vce_spec("image_sets", wildcards.image_set))]


# How a job uses the machine is a resource of it, not a parameter: another batch gives the same images.
VCE_COMPUTE = as_json(VCE.compute.model_dump()) if VCE else ""
VCE_BATCH = VCE.compute.batch if VCE else 1
