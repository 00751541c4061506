"""Looks at everything at once, each within a time limit, and never breaks: what goes wrong in a check is a finding."""

import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cfeval.backends import registry
from cfeval.backends.registry import Diagnostic
from cfeval.errors import CfevalError
from cfeval.preflight.missing import missing_files
from cfeval.preflight.used import Used


@dataclass(frozen=True)
class Check:
    """Something to look at: what it is called, and how it is done."""

    name: str
    look: Callable[[], Iterable[Diagnostic]]


@dataclass
class _Looking:
    check: Check
    found: list[Diagnostic] = field(default_factory=list)

    def run(self) -> None:
        try:
            for finding in self.check.look():
                self.found.append(finding)
        except CfevalError as error:
            self.found.append(Diagnostic(False, str(error)))
        except Exception as error:  # a defect of the check; its text is left out, because it may hold a key
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{type(error).__name__} in {Path(last.filename).name}, line {last.lineno}"
            self.found.append(Diagnostic(False, f"the check itself broke ({place}); please report that"))


def look(checks: Iterable[Check], seconds: float) -> Iterator[tuple[str, list[Diagnostic]]]:
    """Do all checks side by side; yields each one's name and findings, in order.

    A check that is not done after `seconds` is left behind: its thread ends with the process.
    """
    started = [(looking := _Looking(check), _start(looking)) for check in checks]
    until = time.monotonic() + seconds
    for looking, thread in started:
        thread.join(max(0.0, until - time.monotonic()))
        found = list(looking.found)
        if thread.is_alive():
            found.append(
                Diagnostic(
                    False,
                    f"no answer within {seconds:g} s; network or machine are slow: try again, or raise --seconds",
                )
            )
        yield looking.check.name, found or [Diagnostic(True, "ready")]


def of_backend(use: Used, offline: bool) -> Check:
    """What can be said about a backend: its files, and what it and its parts say themselves."""

    def about() -> Iterator[Diagnostic]:
        registry.check(use.family, use.spec, use.place)
        for fault in missing_files(use.family, use.spec, use.protocols):
            yield Diagnostic(False, fault)
        yield from registry.diagnose(use.family, use.spec, offline, use.protocols)

    return Check(use.place, about)


def _start(looking: _Looking) -> threading.Thread:
    thread = threading.Thread(target=looking.run, daemon=True, name=looking.check.name)
    thread.start()
    return thread
