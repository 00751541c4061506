"""The commands of the command line, and the function that each is.

Nothing of them is imported here, so that they can be listed without the code of any.
"""

from collections.abc import Mapping

from cfeval.cvqa import verbs as cvqa
from cfeval.edct import verbs as edct
from cfeval.vce import verbs as vce

PANELS: Mapping[str, tuple[str, ...]] = {
    "Start": ("init", "run", "serve", "report"),
    "Look": ("status", "try", "diff"),
    "Check": ("check", "doctor", "estimate", "exam"),
    "Money": ("cache", "prices"),
    "Publish": ("seal", "verify", "audit"),
    "One evaluation": ("edct", "vce", "cvqa"),
    "What the workflow, DVC and editors call": ("stage", "plan", "schema"),
}
"""What `cfeval --help` shows, in this order: commands and groups of commands, each once."""
GROUPS: Mapping[str, str] = {
    "edct": edct.HELP,
    "vce": vce.HELP,
    "cvqa": cvqa.HELP,
    "audit": "What others get of a study: the audit bundle, documents, results in formats that they read.",
    "cache": "The response cache: the calls to hosted models, their responses and costs.",
    "stage edct": "The stages of edct, each from one kind of record to the next: what its jobs run.",
    "stage vce": "The stages of vce, each from one kind of record to the next: what its jobs run.",
    "stage cvqa": "The stages of cvqa, each from one kind of record to the next: what its jobs run.",
}
"""The groups of commands by the words that lead to them, and what each is about."""
VERBS: Mapping[str, Mapping[str, str]] = {
    "": {
        "init": "cfeval.study.init:run",
        "run": "cfeval.study.run:run",
        "report": "cfeval.study.report:run",
        "schema": "cfeval.study.schema:run",
        "check": "cfeval.audit.components:run",
        "diff": "cfeval.audit.diff:run",
        "doctor": "cfeval.audit.doctor:run",
        "estimate": "cfeval.audit.estimate:run",
        "exam": "cfeval.audit.exam:run",
        "plan": "cfeval.audit.plan:run",
        "prices": "cfeval.audit.prices:run",
        "seal": "cfeval.audit.seal:run",
        "serve": "cfeval.study.serve:run",
        "stage": "cfeval.stage:run",
        "status": "cfeval.audit.status:run",
        "try": "cfeval.audit.walkthrough:run",
        "verify": "cfeval.audit.verification:run",
    },
    "edct": edct.VERBS,
    "vce": vce.VERBS,
    "cvqa": cvqa.VERBS,
    "audit": {
        "build": "cfeval.audit.bundle.cli:run_build",
        "documents": "cfeval.audit.documents.cli:run",
        "export": "cfeval.audit.interchange.cli:run",
        "sign": "cfeval.audit.bundle.cli:run_sign",
    },
    "cache": {
        "export": "cfeval.inference.cli:run_export",
        "forget": "cfeval.inference.forget:run",
        "import": "cfeval.inference.cli:run_import",
        "prune": "cfeval.inference.cli:run_prune",
        "recover": "cfeval.inference.cli:run_recover",
        "stats": "cfeval.inference.cli:run_stats",
        "verify": "cfeval.inference.cli:run_verify",
    },
    "stage edct": edct.STAGES,
    "stage vce": vce.STAGES,
    "stage cvqa": cvqa.STAGES,
}
"""By group, and without one: the commands by name, in the order of the group's help."""
