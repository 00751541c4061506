"""The code that no result rests on: in no plan, so that an edit of it reruns nothing.

Whoever adds a line here claims that equal inputs give equal outputs whatever that code says; tests/provenance/
test_outside.py runs stages with such code changed and compares bytes.
"""

MODULES = (
    "cfeval.errors",  # how a run ends that gives no result
    "cfeval.io.progress",
    "cfeval.provenance",
    "cfeval.names",  # what it imports, the plan names
    "cfeval.verbs",  # which of them a job runs, too
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
FATAL_IN = (
    "cfeval.io",
    "cfeval.params",
    "cfeval.calls",
    "cfeval.cli.common:build",
    "cfeval.cli.cvqa.assemble:_refuse_loss",
    "cfeval.cli.cvqa.table:run",
    "cfeval.cli.edct.common:arms_of",
    "cfeval.cli.edct.score:_arm",
    "cfeval.cli.edct.table:run",
    "cfeval.cli.of_tables:_name",
    "cfeval.cli.of_tables:draw_figure",
    "cfeval.cli.output:from_json",
    "cfeval.cli.store.common:_keys",
    "cfeval.cli.store.common:opened",
    "cfeval.cli.vce.common:views_of",
    "cfeval.cli.vce.explain:run",
    "cfeval.cli.vce.sheet:_Files",
    "cfeval.cli.vce.sheet:run",
    "cfeval.cli.vce.table:run",
)
"""Modules, packages and `module:name` where `InputError` ends a run too: what the command line says of arguments.

Elsewhere its text may be recorded, or shown to a model that is to try again.
"""
WORDING = {"Field": ("description", "title"), "Option": ("help",), "Argument": ("help",)}
"""Arguments of calls that only say what something means."""


def is_outside(module: str) -> bool:
    """Whether no result rests on a module."""
    return _within(module, MODULES)


def fatal(module: str, name: str) -> frozenset[str]:
    """The errors that end a run where a definition raises them."""
    ends = f"{module}:{name}" in FATAL_IN or _within(module, FATAL_IN)
    return frozenset({*FATAL, *(("InputError",) if ends else ())})


def _within(module: str, names: tuple[str, ...]) -> bool:
    return any(module == name or module.startswith(f"{name}.") for name in names)
