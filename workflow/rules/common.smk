"""What all rules use: the parameters of the study, and words in which rules say what they take, make and hold.

Inputs: params.yaml, as Snakemake merged it with `--configfile` and `--config`.
Outputs: none that are results; below .cfeval what this run was told, for its jobs on any machine.
Steps: 1. check the parameters and keep them for the jobs, which read that copy and no other. 2. set limits. 3. see which
jobs are out of date (workflow/stale.py, docs/concepts/provenance.md).
"""

import functools
import os
import shutil

import stored
from snakemake.resources import Resource
from snakemake.settings.types import DeploymentMethod
from stale import Staleness, leaves_no_trace, looks_on, restamp

from cfeval.core import locks, registry
from cfeval.core.hashes import MEMORY, digest
from cfeval.core.record import ENDING, SHARD
from cfeval.core.folder import PARAMS as PARAMS_FILE
from cfeval.core.folder import root_of
from cfeval.core.shards import shard_files
from cfeval.inference.remote import settings as calls
from cfeval.inference.remote.cache_server import VARIABLE as CACHE_SERVER

_settings = workflow.storage_settings
STORED = None
"""What keeps the results, where they do not lie in the working folder."""
if _settings.default_storage_provider:
    STORED = stored.Stored(workflow.storage_registry.default_storage_provider, _settings.default_storage_prefix)
    os.environ[stored.PLACE_VARIABLE] = STORED.place


def as_json(content):
    """The same text for the same content."""
    return json.dumps(content, sort_keys=True, ensure_ascii=False)


def kept(content, name):
    """A file below .cfeval that holds a text, by its hash: what is told to a job that runs later, elsewhere too."""
    file = MEMORY / "params" / f"{name}-{digest(content.encode())[:16]}.json"
    if not file.is_file():
        if leaves_no_trace(workflow) and not workflow.output_settings.printshellcmds:  # a printed command may be typed
            file = surroundings.scratch() / file
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{os.getpid()}")
        part.write_text(content, encoding="utf-8")
        part.replace(file)
    return str(file)


TOLD = "CFEVAL_PARAMS"
"""Names the parameters with which a run's jobs were sent: a job reads those hours later, whatever params.yaml is then."""
if workflow.is_main_process:
    from cfeval.study.components import check_params, missing_packages, used
    from cfeval.study.outcomes import unscored

    if leaves_no_trace(workflow):
        _free = locks.running_process(Path()) is None
    else:
        _free = looks_on(workflow) or locks.begin_run(Path())
    if not _free:
        stop(f"process {locks.running_process(Path())} is at work in this folder; wait for it, or work in a copy")
    if not looks_on(workflow) and not locks.running_elsewhere(Path()):
        locks.remove(locks.SNAKEMAKE_LOCKS)  # of a killed run: nobody alive holds it
        shutil.rmtree(".snakemake/backups", ignore_errors=True)  # so, too: Snakemake copies no folder over another
    PARAMS = checked(check_params, config)
    RESULTS = checked(root_of, BASE, config, list(workflow.overwrite_configfiles))
    os.environ[TOLD] = kept(as_json({"params": PARAMS.model_dump(mode="json"), "root": RESULTS}), "run")
    if STORED:
        STORED.put(os.environ[TOLD])
    if RESULTS != "results" and not looks_on(workflow) and not leaves_no_trace(workflow):
        surroundings.write_params(Path(RESULTS, PARAMS_FILE), config)
    if workflow.output_settings.dryrun:
        locks.release_run()
else:  # one job on a cluster, later
    if STORED:
        STORED.bring(os.environ[TOLD])
    _told = json.loads(Path(os.environ[TOLD]).read_text(encoding="utf-8"))
    PARAMS, RESULTS = study.parse(_told["params"]), _told["root"]


envvars:
    TOLD,


if os.environ.get(CACHE_SERVER):

    envvars:
        CACHE_SERVER,


pathvars:
    results=RESULTS,


if DeploymentMethod.APPTAINER in workflow.deployment_settings.deployment_method:
    if not PARAMS.container:
        stop(
            "params.yaml: container names no image for --sdm apptainer; workflow/container/cfeval.def says how to build one"
        )


container: PARAMS.container or "cfeval.sif"  # with --sdm apptainer alone; workflow/container/cfeval.def says how to build it


ARCHIVED = PARAMS.images == "archive"
if STORED and not ARCHIVED:
    stop("params.yaml: images must be 'archive' where a storage provider keeps the results; folders do not travel")
SHARDS = [str(file.with_suffix(""))[1:] for file in shard_files(Path("X.jsonl"), PARAMS.shards)]
"""What the names of a file's shards have before their ending: /000, /001 …, or nothing where there is one shard."""
CUT = f"--shards {PARAMS.shards}" + " --archive" * ARCHIVED
"""For steps that file images of all shards; `ARCHIVE` for those that file one file's."""
ARCHIVE = "--archive" * ARCHIVED
PLACE = STORED.place if STORED else ""
CACHE = surroundings.at_home(PARAMS.calls.cache)
calls.use(PARAMS.calls.model_copy(update={"cache": CACHE}))
if FOLLOWED:
    FOLLOWED.items.watch(Path(CACHE))
if workflow.is_main_process and not STORED and not looks_on(workflow):
    restamp(RESULTS)
CANNOT_RUN = missing_packages(PARAMS, "params.yaml") if workflow.is_main_process else {}
STALE = Staleness(workflow, STORED, CANNOT_RUN)
if FOLLOWED:
    FOLLOWED.reasons = STALE.reason
atexit.register(STALE.tell)

# Limits that hold without any profile; --resources on the command line replaces only the names it gives. A job on a
# cluster runs in a Snakemake of its own, which limits nothing.
if workflow.is_main_process:
    for _name, _limit in PARAMS.limits.model_dump().items():
        if _name not in workflow.global_resources:
            _limit = max(1, len(locks.visible_gpus())) if _limit == "all" else _limit
            workflow.global_resources[_name] = Resource(_name, _limit)


if not STORED:

    outputflags:
        update,  # what lies there stays, for a step whose output still holds


shell.prefix("exec ")  # the shell becomes the command: one that stayed would die of `scancel` before the command


def folder_of(evaluation):
    """A rule's param: where the results of an evaluation lie, as commands name it."""
    return lambda wildcards: f"{PLACE}{RESULTS}/{evaluation}"


def own_cut(wildcards):
    """A rule's param, for a step that files the images of one shard: which of how many."""
    return f"{CUT} --shard {int(wildcards.shard[1:])}" if wildcards.shard else CUT


def whole(pattern):
    """A rule's files: all shards of record files and, where the study has archives of images, those beside them."""
    files = expand(pattern, shard=SHARDS, allow_missing=True)
    return files + [file.replace(".jsonl", ".zip") for file in files if ARCHIVED]


def with_images(file):
    """A rule's input: a record file and, where the study has archives of images, the one beside it."""
    return [file, *[file.replace(".jsonl", ".zip")] * ARCHIVED]


def made(output):
    """A rule's last output: the record of what its output was made from."""
    return f"{output}{ENDING}"


def in_report(study_name, kind, files):
    """A rule's outputs: files that Snakemake's own report shows, tables or figures."""
    shown = {"caption": f"../report/{kind}.rst", "category": study_name.upper(), "subcategory": f"{kind.title()}s"}
    return [report(file, labels={kind: Path(file).stem.partition("_")[2]}, **shown) for file in files]


def plugin(section, name):
    """What a plugin of params.yaml is built from, as JSON; empty where the section has none of that name."""
    return as_json(section[name].plugin_options()) if name in section else ""


def needs(family, section, field, mem_mb, runtime, asked=lambda wildcards: True, beside=None):
    """A rule's resources: those of a plugin, and memory in MB with room for the weights on their way to each GPU.

    Args:
        family: of the plugin.
        section: of params.yaml.
        field: the wildcard that names the plugin in it.
        mem_mb: memory without GPUs.
        runtime: at most.
        asked: whether a job asks the plugin at all.
        beside: family and section of a second plugin of the same name that it asks.
    """

    def of(wildcards):
        name = wildcards[field]
        places = [(family, section), *([beside] if beside else [])] if asked(wildcards) else []
        found = [registry.resources(one, specs[name].plugin_options()) for one, specs in places if name in specs]
        return registry.Resources(gpu=max((one.gpu for one in found), default=0), api=any(one.api for one in found))

    return {
        "gpu": lambda wildcards: of(wildcards).gpu,
        "gpu_model": lambda wildcards: (
            section[wildcards[field]].gpu_model if of(wildcards).gpu and wildcards[field] in section else ""
        ),
        "api_slots": lambda wildcards: int(of(wildcards).api),
        "mem_mb": lambda wildcards: max(mem_mb, 32000 * of(wildcards).gpu),
        "runtime": runtime,
    }


def time_to_file(images):
    """A rule's runtime: of a step that reads so many images and encodes each as PNG, 0.3 s of a photograph's megapixel."""
    return f"{60 + int(images) // 200}m"


def one_of(names):
    """A wildcard's pattern: these names and no other."""
    return "|".join(re.escape(name) for name in sorted(set(names))) or "-"


def each(pattern, conditions):
    """The files of a pattern for some conditions and all shards, each once, in their order."""
    told = [one if isinstance(one, dict) else one.model_dump() for one in conditions]
    return list(dict.fromkeys(pattern.replace("{shard}", shard).format(**one) for one in told for shard in SHARDS))


def each_with_images(pattern, conditions):
    """The same of record files, each with the archive of its images where the study has archives."""
    return [path for file in each(pattern, conditions) for path in with_images(file)]


wildcard_constraints:
    shard=rf"(/{SHARD})?",
