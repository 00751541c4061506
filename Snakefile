"""The studies' workflow: params.yaml in, tables, figures and the report out.

One target per phase (`edct_samples` … `edct_report`, `vce_images` …, `cvqa_questions` …), one per study (`edct`, `vce`,
`cvqa`), and `all`. The default run trains nothing; the built-in models are trained by workflow/train.smk.
"""

from snakemake.utils import min_version

min_version("9.18")


include: "workflow/rules/setup.smk"


if workflow.is_main_process:
    checked(study.read, Path("params.yaml"))


configfile: "params.yaml"


report: "workflow/report/workflow.rst"


include: "workflow/rules/common.smk"
include: "workflow/rules/vce_common.smk"
include: "workflow/rules/cvqa_common.smk"
include: "workflow/rules/journal.smk"


localrules:
    all,
    edct,
    edct_samples,
    edct_baseline,
    edct_instructions,
    edct_counterfactuals,
    edct_requery,
    edct_judge,
    edct_calls,
    edct_tables,
    edct_report,
    vce,
    vce_images,
    vce_counterfactuals,
    vce_scores,
    vce_tables,
    vce_sheets,
    cvqa,
    cvqa_questions,
    cvqa_answers,
    cvqa_scores,
    cvqa_tables,


rule all:
    """Everything that params.yaml asks for."""
    default_target: True
    input:
        *[PHASES[phase] for phase in PHASES],


rule edct:
    """The whole edct study."""
    input:
        *[PHASES[phase] for phase in PHASES if phase.startswith("edct_")],


rule vce:
    """The whole vce study."""
    input:
        *[PHASES[phase] for phase in PHASES if phase.startswith("vce_")],


rule cvqa:
    """The whole cvqa study."""
    input:
        *[PHASES[phase] for phase in PHASES if phase.startswith("cvqa_")],


include: "workflow/rules/data.smk"
include: "workflow/rules/edct.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/vce.smk"
include: "workflow/rules/vce_tables.smk"
include: "workflow/rules/cvqa.smk"
include: "workflow/rules/cvqa_tables.smk"


onstart:
    # The limit of jobs a second (100) wakes the scheduler once more for each job that has ended, every second from then on.
    workflow.scheduler.job_rate_limiter = None


onsuccess:
    JOURNAL.save()


onerror:
    JOURNAL.save()
