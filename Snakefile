"""The studies' workflow: params.yaml in, tables, figures and the report out.

One target per phase (`edct_items` … `edct_report`, `vce_images` …, `cvqa_questions` …), one per study (`edct`, the
default, `vce`, `cvqa`), and `all`. The default run trains nothing; the built-in models are trained by workflow/train.smk.
"""

from snakemake.utils import min_version

min_version("9.18")


include: "workflow/rules/setup.smk"


# Taken in by another workflow (`module … config:`), what that gives is the parameters, and no file is read.
if workflow.is_main_process:
    BASE = config if workflow.modifier.skip_configfile else checked(study.read, Path("params.yaml"))
    for _file in workflow.overwrite_configfiles:
        checked(study.read, Path(_file), True)


configfile: "params.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/stage.smk"
include: "workflow/rules/edct.smk"
include: "workflow/rules/vce.smk"
include: "workflow/rules/cvqa.smk"


localrules:
    all,
    edct,
    vce,
    cvqa,


rule edct:
    """The whole edct study."""
    default_target: True
    input:
        [path for job in ALL if job.stage.startswith("edct.") for path in job.made_files],


rule vce:
    """The whole vce study."""
    input:
        [path for job in ALL if job.stage.startswith("vce.") for path in job.made_files],


rule cvqa:
    """The whole cvqa study."""
    input:
        [path for job in ALL if job.stage.startswith("cvqa.") for path in job.made_files],


rule all:
    """Everything that params.yaml asks for."""
    input:
        [path for job in ALL for path in job.made_files],


onsuccess:
    _asked = {str(path) for job in workflow.dag.jobs for path in job.output}
    if _lines := unscored(job for job in ALL if job.name in _asked) if workflow.is_main_process else []:
        stop("; ".join(_lines))


onstart:
    if not workflow.non_local_exec:  # a process that has imported the libraries once; each job is a fork of it
        _to_run = [
            JOBS[job.output[0]] for job in workflow.dag.needrun_jobs() if job.output and job.output[0] in JOBS
        ]
        warm.start(
            Path("logs/warm.log"),
            warm_verbs(job.command for job in _to_run),
            imports=warm_shared(
                {job.name: {*PLANNER.modules(job), *warm_libraries(STATE.plan(job))} for job in _to_run}
            ),
        )
    # The limit of jobs a second (100) wakes the scheduler once more for each job that has ended, every second from then on.
    workflow.scheduler.job_rate_limiter = None
