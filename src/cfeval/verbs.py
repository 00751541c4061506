"""The verbs of the command line: `cfeval VERB` and `cfeval STUDY VERB`, and the function that each is.

Nothing of them is imported here, so that they can be listed without the code of any.
"""

from collections.abc import Mapping

from cfeval.cli.cvqa import verbs as cvqa
from cfeval.cli.edct import verbs as edct
from cfeval.cli.vce import verbs as vce

GROUPS: Mapping[str, str] = {
    "edct": edct.HELP,
    "vce": vce.HELP,
    "cvqa": cvqa.HELP,
    "store": "The response store: what was asked of models outside, what came back, what it cost.",
}
"""The groups of verbs, and what each is about."""
VERBS: Mapping[str, Mapping[str, str]] = {
    "": {
        "check": "cfeval.cli.check:run",
        "diff": "cfeval.cli.diff:run",
        "doctor": "cfeval.cli.doctor:run",
        "estimate": "cfeval.cli.estimate:run",
        "plan": "cfeval.cli.plan:run",
        "seal": "cfeval.cli.seal:run",
        "stage": "cfeval.cli.stage:run",
        "status": "cfeval.cli.status:run",
        "try": "cfeval.cli.try_:run",
    },
    "edct": edct.VERBS,
    "vce": vce.VERBS,
    "cvqa": cvqa.VERBS,
    "store": {
        "export": "cfeval.cli.store.export:run",
        "import": "cfeval.cli.store.import_:run",
        "prune": "cfeval.cli.store.prune:run",
        "stats": "cfeval.cli.store.stats:run",
        "verify": "cfeval.cli.store.verify:run",
    },
}
"""By group, and without one: the verbs by name, in the order of the help."""
