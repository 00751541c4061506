"""The code that no result rests on: in no plan, so that an edit of it reruns nothing.

Whoever adds a line here claims that equal inputs give equal outputs whatever that code says; tests/provenance/
test_outside.py runs stages with such code changed and compares bytes.
"""

MODULES = (
    "cfeval.errors",  # how a run ends that gives no result
    "cfeval.io.progress",
    "cfeval.provenance",
    "cfeval.cli.main",
    "cfeval.cli.stage",
    "cfeval.warm",
    "cfeval.backends.local_models.leases",  # which GPU a process takes
    "cfeval.calls.attempts",  # transport of calls: when to try again, how many at a time, where replies are kept
    "cfeval.calls.caller",
    "cfeval.calls.database",
    "cfeval.calls.examine",
    "cfeval.calls.limiter",
    "cfeval.calls.line",
    "cfeval.calls.meter",
    "cfeval.calls.prices",
    "cfeval.calls.settings",
    "cfeval.calls.side_by_side",
    "cfeval.calls.store",
    "cfeval.calls.stored",
    "cfeval.calls.transport",
)
"""Modules, and packages with all that is in them."""
HOOKS = ("resources", "dependencies", "diagnose", "estimate_calls")
"""Methods of a plug-in's class, whose name ends with `Plugin`, that only planning, `doctor` and `estimate` ask."""
FUNCTIONS = ("needs", "files", "examine", "calls")
"""The same of a plug-in that is a module of functions still."""
FATAL = ("ParamsError", "OutputError", "BackendError")
"""Errors that end a run: their wording is no part of a result."""
FATAL_IN = ("cfeval.cli", "cfeval.io", "cfeval.params", "cfeval.calls")
"""Where `InputError` ends a run too; elsewhere its text may be recorded, or shown to a model that is to try again."""
WORDING = {"Field": ("description", "title"), "Option": ("help",), "Argument": ("help",)}
"""Arguments of calls that only say what something means."""


def is_outside(module: str) -> bool:
    """Whether no result rests on a module."""
    return any(module == name or module.startswith(f"{name}.") for name in MODULES)
