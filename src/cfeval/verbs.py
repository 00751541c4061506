"""The verbs of the command line: `cfeval VERB` and `cfeval STUDY VERB`, and the function that each is.

Nothing of them is imported here, so that they can be listed without the code of any.
"""

from collections.abc import Mapping

from cfeval.cvqa import verbs as cvqa
from cfeval.edct import verbs as edct
from cfeval.vce import verbs as vce

GROUPS: Mapping[str, str] = {
    "edct": edct.HELP,
    "vce": vce.HELP,
    "cvqa": cvqa.HELP,
    "cache": "The response cache: what was asked of models outside, what came back, what it cost.",
}
"""The groups of verbs, and what each is about."""
VERBS: Mapping[str, Mapping[str, str]] = {
    "": {
        "check": "cfeval.audit.components:run",
        "diff": "cfeval.audit.diff:run",
        "doctor": "cfeval.audit.doctor:run",
        "estimate": "cfeval.audit.estimate:run",
        "exam": "cfeval.audit.exam:run",
        "plan": "cfeval.audit.plan:run",
        "seal": "cfeval.audit.seal:run",
        "stage": "cfeval.stage:run",
        "status": "cfeval.audit.status:run",
        "try": "cfeval.audit.walkthrough:run",
    },
    "edct": edct.VERBS,
    "vce": vce.VERBS,
    "cvqa": cvqa.VERBS,
    "cache": {
        "export": "cfeval.inference.cli:run_export",
        "forget": "cfeval.inference.forget:run",
        "import": "cfeval.inference.cli:run_import",
        "prune": "cfeval.inference.cli:run_prune",
        "recover": "cfeval.inference.cli:run_recover",
        "stats": "cfeval.inference.cli:run_stats",
        "verify": "cfeval.inference.cli:run_verify",
    },
}
"""By group, and without one: the verbs by name, in the order of the help."""
