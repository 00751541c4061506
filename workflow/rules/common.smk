"""What all rules use: the parameters of the study, its jobs, and which of them are stale.

Inputs: params.yaml, as Snakemake merged it with `--configfile` and `--config`.
Outputs: none that are results; below .cfeval what this run was told, for its jobs on any machine.
Steps: 1. check the parameters. 2. list the jobs and find the stale ones (core.provenance). 3. freeze parameters and
plans, which every job reads in the place of params.yaml. 4. set limits.
"""

import functools
import os
import time

import stored
from snakemake.resources import Resource
from snakemake.settings.types import DeploymentMethod

from cfeval.core import gpu_leases, run_locks
from cfeval.inference.remote import settings as calls
from cfeval.cvqa import jobs as cvqa
from cfeval.edct import jobs as edct
from cfeval.vce import jobs as vce
from cfeval.jobs import jobs
from cfeval.core.jobs import ImageFiles, awaited, shard_names
from cfeval.core.roots import PARAMS as PARAMS_FILE
from cfeval.core.roots import root_of
from cfeval.core.provenance import frozen
from cfeval.core.provenance.jobs import ENDING
from cfeval.core.provenance.plans import Planner, plan_hash
from cfeval.core.provenance.state import State
from cfeval.warm import start as warm
from cfeval.warm.preload import libraries as warm_libraries
from cfeval.warm.preload import shared as warm_shared
from cfeval.warm.preload import verbs as warm_verbs

STALE_FILE = ".cfeval/stale"
"""An input of what is stale: always new and of a content that no record knows, whatever profile or option is used."""
_settings = workflow.storage_settings
STORED = None
"""What keeps the results, where they do not lie in the working folder."""
if _settings.default_storage_provider:
    STORED = stored.Stored(
        workflow.storage_registry.default_storage_provider, _settings.default_storage_prefix, workflow.async_run
    )


if workflow.is_main_process:
    from cfeval.audit.components import check_params
    from cfeval.audit.unscored import unscored

    if not run_locks.take(Path()):
        stop(f"process {run_locks.runner(Path())} is at work in this folder; wait for it, or work in a copy")
    if not run_locks.elsewhere(Path()):
        run_locks.remove(run_locks.SNAKEMAKE_LOCKS)  # of a killed run: nobody alive holds it
    PARAMS = checked(check_params, config)
    RESULTS = checked(root_of, BASE, config, list(workflow.overwrite_configfiles))
    PLANNER = Planner()
    ALL = checked(lambda: list(jobs(PARAMS, RESULTS)))
    if STORED:  # times there are those of storing, which follows the jobs
        STORED.fetch_sidecars(ALL)
        STATE = State(ALL, PLANNER, stored.PLACE, STORED.path)
        STALE = STATE.stale()
    else:
        STATE = State(ALL, PLANNER)
        STALE = STATE.stale()
        STATE.restamp(STALE)
    Path(STALE_FILE).write_text(json.dumps([time.time_ns(), STALE]), encoding="utf-8")
    TOLD = frozen.freeze(
        {"params": PARAMS.model_dump(mode="json"), "root": RESULTS},
        (frozen.Planned(job, plan_hash(STATE.plan(job))) for job in ALL),
    )
    if STORED:
        STORED.tell(TOLD, Path(STALE_FILE))
    PLANNER.remember()
    if RESULTS != "results":
        surroundings.write_params(Path(RESULTS, PARAMS_FILE), config)
    if workflow.output_settings.dryrun:
        run_locks.let_go()
else:  # one job on a cluster, later: it is told what was decided then
    if STORED:
        STORED.hear()
    _told = frozen.thaw()
    PARAMS, RESULTS = study.parse(_told.params["params"]), _told.params["root"]
    ALL, STALE = [_told.planned(name).job for name in _told.jobs], {}


envvars:
    frozen.VARIABLE,


if DeploymentMethod.APPTAINER in workflow.deployment_settings.deployment_method:
    if not PARAMS.container:
        stop(
            "params.yaml: container names no image for --sdm apptainer; workflow/container/cfeval.def says how to build one"
        )

    container: PARAMS.container


JOBS = {job.name: job for job in ALL}
AWAITED = awaited(ALL)
SHARDS = shard_names(PARAMS.shards)
IMAGE_FILES = ImageFiles(PARAMS.images == "archive")
if STORED and not IMAGE_FILES.archived:
    stop("params.yaml: images must be 'archive' where a storage provider keeps the results; folders do not travel")
CACHE = surroundings.at_home(PARAMS.calls.cache)
calls.use(PARAMS.calls.model_copy(update={"cache": CACHE}))
if FOLLOWED:
    FOLLOWED.items.watch(Path(CACHE))

# Limits that hold without any profile; --resources on the command line replaces only the names it gives. A job on a
# cluster runs in a Snakemake of its own, which limits nothing.
if workflow.is_main_process:
    for _name, _limit in PARAMS.limits.model_dump().items():
        if _name not in workflow.global_resources:
            _limit = max(1, len(gpu_leases.visible())) if _limit == "all" else _limit
            workflow.global_resources[_name] = Resource(_name, _limit)


def at(pattern):
    """For a rule's files: where a pattern lies in this study's results."""
    return f"{RESULTS}/{pattern}"


def whole(pattern):
    """For a rule's files: all shards of a pattern."""
    return expand(at(pattern), shard=SHARDS, allow_missing=True)


def with_images(files):
    """For a rule's files: record files and, where the study has archives of images, those beside them."""
    files = [files] if isinstance(files, str) else files
    return [*files, *IMAGE_FILES.beside(*files)]


def folder(file):
    """For a rule's outputs: the folder of a record file's images, where a storage provider keeps it."""
    return [directory(file.removesuffix(".jsonl"))] if STORED else []


def makes(**files):
    """A rule's output: files that stay while the job runs, which ends at once where they are what it would make.

    Where a storage provider keeps them: they, and the sidecar beside the first.
    """
    if not STORED:
        return {name: update(those) for name, those in files.items()}
    first = next(iter(files.values()))
    return {**files, "made": f"{first if isinstance(first, str) else first[0]}{ENDING}"}


def in_report(pattern, kind):
    """For a rule's outputs: a file that Snakemake's own report shows, a table or a figure."""
    study = pattern.partition("/")[0].upper()
    caption, group = f"../report/{kind}.rst", f"{kind.title()}s"
    return report(at(pattern), caption=caption, category=study, subcategory=group, labels={kind: f"{{{kind}}}"})


def table_files(pattern):
    """For a rule's outputs: a table as CSV, Markdown and LaTeX."""
    base = at(pattern).removesuffix(".csv")
    return {"csv": in_report(pattern, "table"), "md": f"{base}.md", "tex": f"{base}.tex"}


def figure_files(pattern):
    """For a rule's outputs: a figure as PNG, SVG and PDF."""
    base = at(pattern).removesuffix(".png")
    return {"png": in_report(pattern, "figure"), "svg": f"{base}.svg", "pdf": f"{base}.pdf"}


def log_of(pattern, shard="{shard}"):
    """A rule's log, by the name of its output; `shard` is empty where a job makes all shards."""
    return f"logs/{os.path.splitext(pattern)[0]}.log".replace("{shard}", shard)


def job_of(pattern, wildcards):
    """The job that makes a pattern's file, or that of its first shard where it makes all."""
    return JOBS[at(pattern).format(**{"shard": SHARDS[0], **wildcards})]


def job_name(_, output):
    """For a rule's params: what the run's plan calls the job, its first output."""
    return output[0]


def inputs_of(pattern):
    """For a rule's input: what the job takes of other jobs, where no pattern says it."""
    return lambda wildcards: list(job_of(pattern, wildcards).inputs)


def also(pattern, protocol, of):
    """For a rule's input: the jobs of one protocol read a stage's file of another protocol too."""
    return lambda wildcards: at(pattern).replace("{protocol}", of) if wildcards.protocol == protocol else []


def stale(pattern):
    """For a rule's input: what makes Snakemake run a job whose output is not what it would make now."""
    return lambda wildcards: [STALE_FILE] if job_of(pattern, wildcards).name in STALE else []


@functools.cache
def own_rule(rulename):
    """By the name that Snakemake has for it: the longest own one in it, as a workflow that takes this one in adds to it."""
    ends = range(len(rulename) + 1)
    parts = sorted((rulename[first:last] for first in ends for last in ends if first < last), key=len, reverse=True)
    return getattr(rules, next(part for part in parts if rules.has(part)))


def job_in(wildcards, rulename):
    """The job that makes a rule's first output; a storage provider's copy has the output's name at its end."""
    parts = str(own_rule(rulename).output[0]).format(**wildcards).split("/")
    return next(JOBS[name] for first in range(len(parts)) if (name := "/".join(parts[first:])) in JOBS)


def waiting(wildcards, rulename):
    """A rule's priority: how many jobs wait for a job. What many wait for is not left to the end."""
    return AWAITED[job_in(wildcards, rulename).name]


def resources_for(mem_mb, runtime):
    """A rule's resources: GPUs, API slots, time, and memory in MB with room for the weights on their way to each GPU."""
    return {
        "gpu": lambda wildcards, rulename: job_in(wildcards, rulename).resources["gpu"],
        "gpu_model": lambda wildcards, rulename: job_in(wildcards, rulename).resources["gpu_model"],
        "api_slots": lambda wildcards, rulename: job_in(wildcards, rulename).resources["api_slots"],
        "mem_mb": lambda wildcards, rulename: max(mem_mb, 32000 * job_in(wildcards, rulename).resources["gpu"]),
        "runtime": runtime,
    }


def phase(*stages):
    """For a phase's input: every file of some stages."""
    return [path for job in ALL if job.stage in stages for path in job.made_files]


def one_of(names):
    """A wildcard's pattern: these names and no other."""
    return "|".join(re.escape(name) for name in sorted(set(names))) or "-"


wildcard_constraints:
    shard=r"(/\d{3})?",


container: "docker://python:3.11-slim"
