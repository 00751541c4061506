"""The verbs of the command line: `cfeval VERB` and `cfeval STUDY VERB`, and the function that each is.

Nothing is imported here, so that lists of verbs, jobs and plans can be made without the code of any.
"""

from collections.abc import Mapping

GROUPS: Mapping[str, str] = {
    "edct": "Explanation-Driven Counterfactual Testing: is a model's explanation faithful?",
    "vce": "Visual counterfactual explanations: what would the classifier have to see to say something else?",
    "cvqa": "Counterfactual questions: would the model still be right if something were different?",
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
    "edct": {
        "baseline": "cfeval.cli.edct.baseline:run",
        "calls": "cfeval.cli.edct.calls:run",
        "check": "cfeval.cli.edct.check:run",
        "edit": "cfeval.cli.edct.edit:run",
        "figure": "cfeval.cli.edct.figure:run",
        "filter": "cfeval.cli.edct.filter:run",
        "generate": "cfeval.cli.edct.generate:run",
        "import": "cfeval.cli.edct.import_:run",
        "instruct": "cfeval.cli.edct.instruct:run",
        "judge": "cfeval.cli.edct.judge:run",
        "label-agreement": "cfeval.cli.edct.label_agreement:run",
        "labels": "cfeval.cli.edct.labels:run",
        "metrics": "cfeval.cli.edct.metrics:run",
        "plan": "cfeval.cli.edct.plan:run",
        "report": "cfeval.cli.edct.report:run",
        "requery": "cfeval.cli.edct.requery:run",
        "score": "cfeval.cli.edct.score:run",
        "select": "cfeval.cli.edct.select:run",
        "sheet": "cfeval.cli.edct.sheet:run",
        "table": "cfeval.cli.edct.table:run",
        "training-set": "cfeval.cli.edct.training_set:run",
        "verify": "cfeval.cli.edct.verify:run",
    },
    "vce": {
        "explain": "cfeval.cli.vce.explain:run",
        "figure": "cfeval.cli.vce.figure:run",
        "group": "cfeval.cli.vce.group:run",
        "images": "cfeval.cli.vce.images:run",
        "metrics": "cfeval.cli.vce.metrics:run",
        "score": "cfeval.cli.vce.score:run",
        "sheet": "cfeval.cli.vce.sheet:run",
        "table": "cfeval.cli.vce.table:run",
        "targets": "cfeval.cli.vce.targets:run",
    },
    "cvqa": {
        "answer": "cfeval.cli.cvqa.answer:run",
        "assemble": "cfeval.cli.cvqa.assemble:run",
        "decisions": "cfeval.cli.cvqa.decisions:run",
        "draft": "cfeval.cli.cvqa.draft:run",
        "export": "cfeval.cli.cvqa.export:run",
        "figure": "cfeval.cli.cvqa.figure:run",
        "generate": "cfeval.cli.cvqa.generate:run",
        "metrics": "cfeval.cli.cvqa.metrics:run",
        "questions": "cfeval.cli.cvqa.questions:run",
        "rate": "cfeval.cli.cvqa.rate:run",
        "review": "cfeval.cli.cvqa.review:run",
        "score": "cfeval.cli.cvqa.score:run",
        "statistics": "cfeval.cli.cvqa.statistics:run",
        "table": "cfeval.cli.cvqa.table:run",
    },
    "store": {
        "export": "cfeval.cli.store.export:run",
        "import": "cfeval.cli.store.import_:run",
        "prune": "cfeval.cli.store.prune:run",
        "stats": "cfeval.cli.store.stats:run",
        "verify": "cfeval.cli.store.verify:run",
    },
}
"""By group, and without one: the verbs by name, in the order of the help."""
