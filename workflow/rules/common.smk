"""What every rule file uses.

Inputs: params.yaml, as Snakemake merged it with `--configfile` and `--config`.
Outputs: none.
Steps: 1. check the parameters. 2. name every file and phase of edct. 3. name what jobs depend on: specifications, code,
prompts, model files.
"""

import json

from snakemake.persistence import RECORD_FORMAT_VERSION
from snakemake.resources import Resource

import fingerprint
import provenance
import surroundings
from cfeval import tables
from cfeval.backends import registry
from cfeval.backends.local_models import leases
from cfeval.calls import settings as calls
from cfeval.io.shards import shard_files
from cfeval.params.cvqa import FAMILIES as CVQA_FAMILIES
from cfeval.params.edct import FAMILIES
from cfeval.params.vce import FAMILIES as VCE_FAMILIES
from cfeval.preflight import locks
from cfeval.protocols.rules import RULES
from cfeval.report import figures
from cfeval.seeds import derive

if RECORD_FORMAT_VERSION != provenance.FORMAT:
    stop(
        f"this Snakemake writes job records of format {RECORD_FORMAT_VERSION}, "
        f"workflow/provenance.py knows {provenance.FORMAT}; install the version that requirements.lock names"
    )

fingerprint.COMPARED = workflow.is_main_process
if workflow.is_main_process:
    fingerprint.PROJECT.remember()

if workflow.is_main_process:
    from cfeval.cli.check import check_params
else:  # one job on a cluster; every plug-in was checked before it was sent
    check_params = study.parse
PARAMS = checked(check_params, config)
calls.use(PARAMS.calls.model_copy(update={"store": surroundings.at_home(PARAMS.calls.store)}))
EDCT = PARAMS.edct
SHARDS = [str(file).removeprefix("X").removesuffix(".jsonl") for file in shard_files(Path("X.jsonl"), PARAMS.shards)]
ARMS = [arm.model_dump() for arm in EDCT.arms()]

SAMPLES = "results/edct/samples/{dataset}{shard}.jsonl"
BASELINE = "results/edct/baseline/{dataset}/{vlm}{shard}.jsonl"
INSTRUCTIONS = "results/edct/instructions/{dataset}/{vlm}/{writer}/{protocol}{shard}.jsonl"
COUNTERFACTUALS = "results/edct/counterfactuals/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.jsonl"
CHECKS = "results/edct/checks/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.jsonl"
REQUERY = "results/edct/requery/{dataset}/{vlm}/{writer}/{protocol}/{editor}{shard}.jsonl"
VERDICTS = "results/edct/verdicts/{dataset}/{vlm}/{writer}/{protocol}/{editor}/{judge}{shard}.jsonl"
SCORES = "results/edct/scores/{dataset}/{vlm}/{writer}/{protocol}/{editor}/{judge}{shard}.csv"
TABLES = expand("results/tables/edct_{table}.{ending}", table=tables.NAMES["edct"], ending=["csv", "md", "tex"])
METRICS = "results/tables/metrics.json"
FIGURES = expand("results/figures/edct_{figure}.{ending}", figure=figures.TABLE_OF["edct"], ending=["png", "svg"])
CALLS = "results/edct/calls/calls.zip"
REPORT = "results/report/index.html"


def made(template, arms=ARMS):
    """The files of a template for some arms and all shards, each once, in the order of the tables."""
    paths = (template.format(shard=shard, **arm) for arm in arms for shard in SHARDS)
    return list(dict.fromkeys(paths))


def sealed(folder, *templates, **options):
    """The files of one folder, for the records that travel with them."""
    return provenance.Sealed(folder, tuple(path for template in templates for path in made(template)), **options)


SEALED = {
    "edct_samples": [sealed("results/edct/samples", SAMPLES, pictures=True)],
    "edct_baseline": [sealed("results/edct/baseline", BASELINE)],
    "edct_instructions": [sealed("results/edct/instructions", INSTRUCTIONS)],
    "edct_counterfactuals": [
        sealed("results/edct/counterfactuals", COUNTERFACTUALS, pictures=True),
        sealed("results/edct/checks", CHECKS, pictures=True),
    ],
    "edct_requery": [sealed("results/edct/requery", REQUERY)],
    "edct_judge": [sealed("results/edct/verdicts", VERDICTS), sealed("results/edct/scores", SCORES)],
    "edct_calls": [provenance.Sealed("results/edct/calls", (CALLS,))],
    "edct_tables": [
        provenance.Sealed("results/tables", (*TABLES, METRICS), prefix="edct_"),
        provenance.Sealed("results/figures", tuple(FIGURES), prefix="edct_"),
    ],
    "edct_report": [provenance.Sealed("results/report", (REPORT,))],
}


def once_an_arm(function):
    """The same function of wildcards, called once for all shards of an arm, on which what it tells does not depend."""
    known = {}

    def found(wildcards):
        arm = tuple((name, value) for name, value in wildcards.items() if name != "shard")
        if arm not in known:
            known[arm] = function(wildcards)
        return known[arm]

    return found


def spec(section, field, wildcards):
    """The specification of the backend that a wildcard names; None where there is none or the protocol asks it nothing."""
    idle = section in ("writers", "editors", "verifiers") and RULES[wildcards.protocol].edits == "none"
    return None if idle else getattr(EDCT, section).get(wildcards[field])


def backend(section, field):
    """For a rule's params: the specification of the backend that a wildcard names, as JSON; empty where there is none."""

    @once_an_arm
    def found(wildcards):
        named = spec(section, field, wildcards)
        return "" if named is None else json.dumps(named.plugin(), sort_keys=True, ensure_ascii=False)

    return found


def target_seed(wildcards):
    """For a rule's params: the study's seed, or for a repeated target one of its own."""
    repeat = EDCT.vlms[wildcards.vlm].repeat
    return EDCT.seed if repeat == 1 else derive(EDCT.seed, "repeat", repeat)


def code(verb, section=None, field=None):
    """For a rule's params: the fingerprint of a verb and of the backend that a wildcard names, where it has one."""

    @once_an_arm
    def found(wildcards):
        named = spec(section, field, wildcards) if section else None
        plugin = [] if named is None else registry.modules(FAMILIES[section], named.plugin())
        return fingerprint.code(f"cfeval.cli.edct.{verb}", *plugin)

    return found


def model_files(section, field):
    """For a rule's input: the files (weights, prompts, own samples) that the backend's results depend on."""

    @once_an_arm
    def found(wildcards):
        named = spec(section, field, wildcards)
        if named is None:
            return []
        protocols = [wildcards.protocol] if section in registry.BY_PROTOCOL else ()
        files = registry.depends_on(FAMILIES[section], named.plugin(), protocols)
        return [surroundings.relative(file) for file in files]

    return found


def gpus(section, field):
    """For a rule's resources: how many GPUs the backend holds."""

    @once_an_arm
    def found(wildcards):
        named = spec(section, field, wildcards)
        return 0 if named is None else registry.needs(FAMILIES[section], named.plugin()).gpu

    return found


def memory(without, gpus):
    """For a rule's resources: the host's memory in MB, with room for the weights on their way to each GPU."""
    return lambda wildcards: max(without, 32000 * gpus(wildcards))


def gpu_model(section, field):
    """For a rule's resources: which GPU the backend wants, empty where it holds none or any will do."""

    @once_an_arm
    def found(wildcards):
        return spec(section, field, wildcards).gpu_model if gpus(section, field)(wildcards) else ""

    return found


def api_slots(section, field):
    """For a rule's resources: 1 for a backend that calls a provider."""

    @once_an_arm
    def found(wildcards):
        named = spec(section, field, wildcards)
        return 0 if named is None else int(registry.needs(FAMILIES[section], named.plugin()).api)

    return found


def pictures_of(files):
    """For a rule's params: the picture folders of a former run, which Snakemake does not remove with the record files."""
    return [file.removesuffix(".jsonl") for file in files]


def as_json(content):
    """Parameters as JSON, the same bytes for the same content."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False)


def test_targets(arms):
    """The targets of some arms that are built-in test models."""
    return sorted({arm["vlm"] for arm in arms if EDCT.vlms[arm["vlm"]].backend in ("world", "easy_vqa", "scripted")})


PROMPTS = EDCT.prompts or ""
PROMPT_HASH = fingerprint.texts(PROMPTS or ROOT / "src/cfeval/prompts/edct/conversation", "answer.md", "explain.md")


def one_of(names):
    """A wildcard's pattern: these names and no other."""
    return "|".join(re.escape(name) for name in sorted(set(names)))


def files_behind(backends):
    """For a rule's input: the files that the results of some backends depend on, given as (family, specification)."""

    @once_an_arm
    def found(wildcards):
        files = [file for family, its in backends(wildcards) for file in registry.depends_on(family, its)]
        return [surroundings.relative(file) for file in dict.fromkeys(files)]

    return found


def code_behind(verb, backends):
    """For a rule's params: the fingerprint of a verb (STUDY.VERB) and of these backends."""

    @once_an_arm
    def found(wildcards):
        modules = [module for family, its in backends(wildcards) for module in registry.modules(family, its)]
        return fingerprint.code(f"cfeval.cli.{verb}", *dict.fromkeys(modules))

    return found


# Which GPU a backend wants that holds one, by family and specification, which do not say it themselves.
GPU_MODELS = {
    (family, as_json(its.plugin())): its.gpu_model
    for study, families in ((PARAMS.vce, VCE_FAMILIES), (PARAMS.cvqa, CVQA_FAMILIES))
    for section, family in families.items()
    for its in getattr(study, section, {}).values()
    if its.gpu_model and registry.needs(family, its.plugin()).gpu
}


def gpus_behind(backends):
    """For a rule's resources: how many GPUs these backends hold together."""

    @once_an_arm
    def found(wildcards):
        return max((registry.needs(family, its).gpu for family, its in backends(wildcards)), default=0)

    return found


def gpu_model_behind(backends):
    """For a rule's resources: which GPU those of these backends want that hold one; they share it."""

    @once_an_arm
    def found(wildcards):
        wanted = {GPU_MODELS.get((family, as_json(its))) for family, its in backends(wildcards)} - {None}
        if len(wanted) > 1:
            stop(
                f"params.yaml: backends of one job want different GPUs ({', '.join(sorted(wanted))}); set one gpu_model"
            )
        return next(iter(wanted), "")

    return found


def slots_behind(backends):
    """For a rule's resources: 1 where one of these backends calls a provider."""

    @once_an_arm
    def found(wildcards):
        return int(any(registry.needs(family, its).api for family, its in backends(wildcards)))

    return found


def each(option, files):
    """A repeated option, once before each file."""
    return [part for file in files for part in (option, file)]
