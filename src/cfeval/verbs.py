"""The commands of the command line, and the function that each is.

Nothing of them is imported here, so that they can be listed without the code of any.
"""

from collections.abc import Mapping

from cfeval.core.errors import InputError

# What `cfeval --help` shows, in this order: commands and groups of commands, each once.
PANELS: Mapping[str, tuple[str, ...]] = {
    "A first study": ("init", "doctor", "try", "run", "status", "report"),
    "More": (
        *("check", "estimate", "serve", "exam", "diff", "verify", "practice-server"),
        *("audit", "cache", "prices", "schema", "edct", "vce", "cvqa"),
    ),
}
# Groups of commands, and what each is about.
GROUPS: Mapping[str, str] = {
    "edct": "Explanation-Driven Counterfactual Testing: is a model's explanation faithful?",
    "vce": "Visual counterfactual explanations: what would change a classifier's prediction?",
    "cvqa": "Counterfactual questions: can a model reason about what-if questions?",
    "audit": "Share a study: audit bundle, documents, results in other tools' formats.",
    "cache": "Inspect and maintain the cache of model responses.",
}
# The steps of each evaluation, in order: what the rules call (workflow/rules), and people who make one file by hand.
#
# A step keeps a record of what its output was made from, and runs only where that is no longer what is there.
STEPS: Mapping[str, Mapping[str, str]] = {
    "edct": {
        "items": "cfeval.edct.stages.items:run",
        "baselines": "cfeval.edct.stages.baselines:run",
        "instructions": "cfeval.edct.stages.instructions:run",
        "counterfactuals": "cfeval.edct.stages.counterfactuals:run",
        "checks": "cfeval.edct.stages.checks:run",
        "requeries": "cfeval.edct.stages.requeries:run",
        "verdicts": "cfeval.edct.stages.verdicts:run",
        "scores": "cfeval.edct.stages.scores:run",
        "pair-items": "cfeval.edct.pairs.stages:run_items",
        "pair-baselines": "cfeval.edct.pairs.stages:run_baselines",
        "pair-verdicts": "cfeval.edct.pairs.stages:run_verdicts",
        "calls": "cfeval.edct.cli:run_calls",
        "tables": "cfeval.edct.cli:run_tables",
        "figures": "cfeval.edct.cli:run_figures",
        "report": "cfeval.edct.report.page:run",
    },
    "vce": {
        "images": "cfeval.vce.stages.images:run",
        "counterfactuals": "cfeval.vce.stages.counterfactuals:run",
        "concept-edits": "cfeval.vce.stages.concept_edits:run",
        "scores": "cfeval.vce.stages.scores:run",
        "group-scores": "cfeval.vce.stages.group_scores:run",
        "networks": "cfeval.vce.stages.networks:run",
        "contact-sheet": "cfeval.vce.contact_sheet_cli:run",
        "tables": "cfeval.vce.cli:run_tables",
        "figures": "cfeval.vce.cli:run_figures",
        "report": "cfeval.vce.report.page:run",
    },
    "cvqa": {
        "questions": "cfeval.cvqa.stages.questions:run",
        "drafts": "cfeval.cvqa.stages.drafts:run_drafts",
        "reviews": "cfeval.cvqa.stages.drafts:run_reviews",
        "builds": "cfeval.cvqa.stages.builds:run_builds",
        "fates": "cfeval.cvqa.stages.builds:run_fates",
        "answers": "cfeval.cvqa.stages.answers:run",
        "scores": "cfeval.cvqa.stages.scores:run",
        "readings": "cfeval.cvqa.stages.readings:run",
        "calls": "cfeval.cvqa.verification:run_calls",
        "tables": "cfeval.cvqa.cli:run_tables",
        "figures": "cfeval.cvqa.cli:run_figures",
        "report": "cfeval.cvqa.report.page:run",
    },
}
# What people call, by group, and without one: the commands by name, in the order of the group's help.
VERBS: Mapping[str, Mapping[str, str]] = {
    "": {
        "init": "cfeval.study.init:run",
        "run": "cfeval.study.run:run",
        "report": "cfeval.study.report:run",
        "schema": "cfeval.study.schema:run",
        "check": "cfeval.study.doctor:run_check",
        "diff": "cfeval.study.diff:run",
        "doctor": "cfeval.study.doctor:run",
        "estimate": "cfeval.study.estimate:run",
        "exam": "cfeval.study.exam:run",
        "practice-server": "cfeval.study.practice:run",
        "prices": "cfeval.study.prices:run",
        "serve": "cfeval.study.serve:run",
        "status": "cfeval.study.whole:run_status",
        "try": "cfeval.study.walkthrough:run",
        "verify": "cfeval.study.verification:run",
    },
    "edct": {
        "card": "cfeval.edct.faithfulness.cli:run",
        "curation": "cfeval.edct.stages.curation:run_curation",
        "edit-bank": "cfeval.edct.edit_bank:run",
        "edit-cost": "cfeval.edct.edit_cost:run",
        "exam": "cfeval.edct.exam.cli:run",
        "import": "cfeval.edct.stages.items:run_import",
        "label-agreement": "cfeval.edct.labelling.cli:run_agreement",
        "label-sheet": "cfeval.edct.labelling.cli:run_sheet",
        "labels": "cfeval.edct.labelling.cli:run_labels",
        "sample-size": "cfeval.edct.sample_size:run",
        "selection": "cfeval.edct.stages.curation:run_selection",
        "training-set": "cfeval.edct.training_set.cli:run",
    },
    "vce": {
        "try": "cfeval.vce.stages.try_one:run",
        "targets": "cfeval.vce.stages.targets:run",
        "tokens": "cfeval.vce.stages.tokens:run",
    },
    "cvqa": {
        "dataset": "cfeval.cvqa.stages.questions:run_dataset",
        "decisions": "cfeval.cvqa.stages.builds:run_decisions",
        "export": "cfeval.cvqa.stages.questions:run_export",
        "generate": "cfeval.cvqa.synthetic.release:run",
        "rate": "cfeval.cvqa.cli:run_rate",
        "statistics": "cfeval.cvqa.cli:run_statistics",
    },
    "cache": {
        "export": "cfeval.inference.cli:run_export",
        "forget": "cfeval.inference.cli:run_forget",
        "import": "cfeval.inference.cli:run_import",
        "prune": "cfeval.inference.cli:run_prune",
        "recover": "cfeval.inference.cli:run_recover",
        "serve": "cfeval.inference.cli:run_serve",
        "stats": "cfeval.inference.cli:run_stats",
        "verify": "cfeval.inference.cli:run_verify",
    },
}
# Groups whose commands are entry points `cfeval.verbs.GROUP` of a package beside cfeval; the extra that brings it.
EXTRAS: Mapping[str, str] = {"audit": "audit"}


def commands(group: str = "") -> Mapping[str, str]:
    """The commands of a group, steps first; without a group those that stand alone.

    Raises:
        InputError: the package that brings them is not installed.
    """
    if group not in EXTRAS:
        return {**STEPS.get(group, {}), **VERBS[group]}
    from cfeval.core.registry import places  # not for steps, whose records would name it

    if not (brought := places(f"verbs.{group}")):
        raise InputError(f"the commands `cfeval {group} …` come with pip install 'cfeval[{EXTRAS[group]}]'")
    return brought
