"""What the rules of vce share: patterns of files, and small functions of wildcards and params.yaml."""

from cfeval.vce import asked as vce_asked
from cfeval.vce.tables import FIGURES as VCE_DRAWN
from cfeval.vce.records import VceCondition
from cfeval.vce.tables import TABLES as VCE_LISTED

VCE = PARAMS.vce
VCE_CONDITIONS = VCE.all_conditions()
VCE_ON_SHEET = 8
"""Images side by side on a contact sheet, at most."""

VCE_IMAGES = "<results>/vce/images/{image_set}{shard}.jsonl"
VCE_COUNTERFACTUALS = "<results>/vce/counterfactuals/{image_set}/{denoiser}/{classifier}/{method}{shard}.jsonl"
VCE_SCORES = "<results>/vce/scores/{image_set}/{denoiser}/{classifier}/{method}{shard}.jsonl"
VCE_GROUPS = "<results>/vce/groups/{image_set}/{denoiser}/{classifier}/{method}.jsonl"
VCE_NETWORKS = "<results>/vce/networks/{image_set}.jsonl"
VCE_SHEETS = "<results>/vce/sheets/{image_set}/{denoiser}/{classifier}.jsonl"
VCE_REPORT = "<results>/vce/report/index.html"
VCE_TABLES = [f"<results>/vce/tables/vce_{table}.{ending}" for table in VCE_LISTED for ending in ("csv", "md", "tex")]
VCE_METRICS = "<results>/vce/tables/vce_metrics.json"
VCE_FIGURES = [
    f"<results>/vce/figures/vce_{figure}.{ending}" for figure in VCE_DRAWN for ending in ("png", "svg", "pdf")
]
VCE_RESULTS = [*VCE_TABLES, VCE_METRICS, *VCE_FIGURES, *each(VCE_SHEETS, VCE_CONDITIONS), VCE_REPORT]


def vce_whole(pattern):
    """A rule's param: the name of what a pattern's shards make up, as commands take it with `--cut`."""
    name = f"{PLACE}{pattern.replace('<results>', RESULTS).replace('{shard}', '')}"
    return lambda wildcards: name.format(**wildcards)


def vce_condition(wildcards):
    """The condition of a job."""
    return VceCondition(**{name: wildcards[name] for name in VceCondition.model_fields})


def vce_plugins(section):
    """All plugins of a section of params.yaml by name, as JSON."""
    return as_json({name: spec.plugin_options() for name, spec in section.items()})


def vce_evaluation(wildcards):
    """How counterfactuals are measured: as the reference code does, or as the paper says."""
    method = VCE.methods.get(wildcards.method)
    return f"--{(method and method.mode) or 'paper'}"


def vce_targets(wildcards):
    """What of the image set the groups are compared with: images of the target classes, where they are asked for."""
    images = [f"--image-set={plugin(VCE.image_sets, wildcards.image_set)}", f"--count={VCE.target_images}"]
    return [*images, f"--size={VCE.size}"] if VCE.target_images else []


def vce_classifiers(wildcards):
    """The classifiers that the study asks about the images of a set, by name."""
    return {name: VCE.classifiers[name] for name in vce_asked.classifiers(VCE, wildcards.image_set)}


def vce_needs_of_classifiers(wildcards):
    """What a job holds that runs all of them, one after the other."""
    return checked(vce_asked.resources, [("classifiers", spec) for spec in vce_classifiers(wildcards).values()])


def vce_of_sheet(wildcards):
    """The conditions of a contact sheet: a classifier under every method."""
    names = ("image_set", "denoiser", "classifier")
    return [one for one in VCE_CONDITIONS if all(getattr(one, name) == wildcards[name] for name in names)]


def vce_lanes(wildcards):
    """What a contact sheet shows of each method: counterfactuals, their scores and what they are called."""
    patterns = {"counterfactuals": VCE_COUNTERFACTUALS, "scores": VCE_SCORES}
    lanes = [one.model_dump() for one in vce_of_sheet(wildcards)]
    files = [f"--{option}={vce_whole(pattern)(one)}" for one in lanes for option, pattern in patterns.items()]
    return [*files, *(f"--label={one['method']}" for one in lanes)]


def vce_needs(plugins, mem_mb, runtime):
    """A rule's resources: those of a condition's plugins, which share a GPU; see `needs`.

    Args:
        plugins: gives the plugins of a condition.
        mem_mb: memory without GPUs.
        runtime: at most.
    """
    held = {one: checked(vce_asked.resources, plugins(VCE, one)) for one in VCE_CONDITIONS}
    return {
        "gpu": lambda wildcards: held[vce_condition(wildcards)]["gpu"],
        "gpu_model": lambda wildcards: held[vce_condition(wildcards)]["gpu_model"],
        "api_slots": lambda wildcards: held[vce_condition(wildcards)]["api_slots"],
        "mem_mb": lambda wildcards: max(mem_mb, 32000 * held[vce_condition(wildcards)]["gpu"]),
        "runtime": runtime,
    }


wildcard_constraints:
    image_set=one_of(VCE.image_sets),
    denoiser=one_of(VCE.denoisers),
    classifier=one_of(VCE.classifiers),
    method=one_of([*VCE.methods, *VCE.concept_editors]),
