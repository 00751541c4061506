"""The studies' workflow: params.yaml in, tables, figures and the report out.

Targets, to stop after a phase:
  edct: `edct_items_all`, `edct_baselines_all`, `edct_instructions_all`, `edct_counterfactuals_all`,
    `edct_requeries_all`, `edct_verdicts_all`, `edct_pairs_all`, `edct_tables_all`
  vce: `vce_images_all`, `vce_counterfactuals_all`, `vce_scores_all`, `vce_tables_all`, `vce_sheets_all`
  cvqa: `cvqa_questions_all`, `cvqa_answers_all`, `cvqa_scores_all`, `cvqa_tables_all`
A whole evaluation: `edct` (the default), `vce`, `cvqa`. All that params.yaml asks for: `all`.

The default run trains nothing; workflow/train.smk trains the built-in models.
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


if PARAMS.edct:

    include: "workflow/rules/edct.smk"


if PARAMS.vce:

    include: "workflow/rules/vce.smk"


if PARAMS.cvqa:

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
        EDCT_RESULTS if PARAMS.edct else [],


rule vce:
    """The whole vce study."""
    input:
        VCE_RESULTS if PARAMS.vce else [],


rule cvqa:
    """The whole cvqa study."""
    input:
        CVQA_RESULTS if PARAMS.cvqa else [],


rule all:
    """Everything that params.yaml asks for."""
    input:
        rules.edct.input,
        rules.vce.input,
        rules.cvqa.input,


STALE.watch(workflow.rules)


onsuccess:
    if (
        workflow.is_main_process
    ):  # code or files may have changed while jobs waited: each record tells what its job ran
        _wrong = [f"{name} ({why})" for name, why in STALE.no_longer_hold().items()]
        if _wrong:
            stop(f"{len(_wrong)} results no longer hold, as {_wrong[0]}; start again")
        if _lines := unscored(STALE.jobs.values()):
            stop("; ".join(_lines))


onstart:
    if not workflow.storage_settings.shared_fs_usage and not os.environ.get(CACHE_SERVER):
        _called = next((use.place for use in used(PARAMS) if use.resources.api), "")
        if _called and not Path(CACHE).is_absolute():  # an absolute path may be on a volume that all jobs mount
            stop(
                f"params.yaml: {_called} calls a provider, and jobs of this executor share no disk, so that what they "
                "pay for would be lost; start `cfeval cache serve HOST:PORT`, run the line that it prints, then run again"
            )
    # The limit of jobs a second (100) wakes the scheduler once more for each job that has ended, every second from then on.
    workflow.scheduler.job_rate_limiter = None
