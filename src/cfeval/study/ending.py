"""The last lines of a run: what failed, why items have no score, which calls were too slow, and what to do."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from cfeval.core.config import Calls
from cfeval.core.progress import FAILURES, REPORTS
from cfeval.inference.remote.cache import ResponseCache
from cfeval.study.missing import missing
from cfeval.study.whole import Job, Whole

_SHOWN = 3


class Ending:
    """Knows what a run began with, so that it can say at the end what came of it."""

    def __init__(self, study: Whole, jobs: Sequence[Job], folder: Path) -> None:
        """`folder` is the study's, as it is seen from where the command was typed."""
        self._study, self._jobs, self._folder = study, jobs, folder
        self._first = _last_sent(study.params.calls)
        (REPORTS / FAILURES).unlink(missing_ok=True)

    def failed(self) -> Iterator[str]:
        """Why the workflow has failed: the jobs, else the items without a score."""
        failures = list(_failures())
        for failure in failures[:_SHOWN]:
            yield f"Failed: {failure['title']}"
            yield f"  {failure['why']}"
            if not failure["why"].startswith("cfeval: "):
                yield "  This may be a defect of cfeval: please report it with the log"
            yield from (f"  log: {log}" for log in failure["logs"])
        if len(failures) > _SHOWN:
            yield f"and {len(failures) - _SHOWN} more; see the folder logs"
        unexplained = [] if failures else list(self.incomplete())
        yield from unexplained
        yield from self.slow() if failures else ()
        if not failures and not unexplained:
            yield "The workflow has failed; the lines above say why"
        yield "Finished results and all replies are kept: correct the cause, then run the same command again"

    def incomplete(self) -> Iterator[str]:
        """Why items have no score, and which calls were too slow."""
        yield from missing(self._jobs, self._study.root, self._folder)
        yield from self.slow()

    def slow(self) -> Iterator[str]:
        """What to raise where calls of this run got no reply in time."""
        calls = self._study.params.calls
        if not Path(calls.cache).is_file():
            return
        with closing(ResponseCache(Path(calls.cache))) as cache:
            attempts = cache.sent_since(self._first)
        if attempts.timed_out:
            singular = attempts.timed_out == 1
            yield (
                f"{attempts.timed_out} {'call' if singular else 'calls'} timed out after {calls.timeout:g} s, "
                f"{attempts.sent_again} sent again; if the server is only slow, raise calls.timeout in params.yaml, or "
                "lower calls.max_connections"
            )


def _last_sent(calls: Calls) -> int:
    if not Path(calls.cache).is_file():
        return 0
    with closing(ResponseCache(Path(calls.cache))) as cache:
        return cache.last_sent()


def _failures() -> Iterator[dict[str, Any]]:
    if (file := REPORTS / FAILURES).is_file():
        yield from map(json.loads, file.read_text(encoding="utf-8").splitlines())
