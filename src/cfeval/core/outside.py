"""The code that no result rests on: no record names it, so that an edit of it makes nothing anew.

Whoever adds a line here claims that equal inputs give equal outputs whatever that code says;
tests/core/test_outside.py runs steps with such code changed and compares bytes.
"""

MODULES = (
    "cfeval.cli",
    "cfeval.verbs",  # which function a command is; the record has the command
    "cfeval.core.errors",  # how a run ends that gives no result
    "cfeval.core.environment",  # keys
    "cfeval.core.extras",  # what to install
    "cfeval.core.gpu_leases",  # which GPU a process takes
    "cfeval.core.hangup",  # signals
    "cfeval.core.hashes",
    "cfeval.core.leaving",
    "cfeval.core.loaded_code",
    "cfeval.core.names",  # imports by name; the record has what was imported
    "cfeval.core.outside",
    "cfeval.core.progress",
    "cfeval.core.record",
    "cfeval.inference.remote.batch_api",  # transport of calls: batches, cache, retries, limits, prices
    "cfeval.inference.remote.batch_db",
    "cfeval.inference.remote.batch_lanes",
    "cfeval.inference.remote.batches",
    "cfeval.inference.remote.cache",
    "cfeval.inference.remote.cache_db",
    "cfeval.inference.remote.client",
    "cfeval.inference.remote.cost",
    "cfeval.inference.remote.http",
    "cfeval.inference.remote.images_once",
    "cfeval.inference.remote.ledger_db",
    "cfeval.inference.remote.prices",
    "cfeval.inference.remote.rate_limit",
    "cfeval.inference.remote.retries",
    "cfeval.inference.remote.sdks",
    "cfeval.inference.remote.sessions",
    "cfeval.inference.remote.settings",
    "cfeval.inference.remote.spending",
    "cfeval.inference.remote.stops",
)
"""Modules of which no record speaks."""
OPTIONS = ("--batch", "--compute", "--offline")
"""Options of steps that say how something is computed, and not what: no record names them."""
WORDS = {"help", "description", "title", "rich_help_panel"}
"""Arguments of calls that only say what something means."""
