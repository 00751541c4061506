"""What `cfeval doctor` can say about a classifier before it is loaded."""

from collections.abc import Callable, Iterator

from cfeval.backends.local_models import devices
from cfeval.backends.local_models.examining import finding
from cfeval.backends.registry import Diagnostic


def findings(device: str, *checks: Callable[[], str]) -> Iterator[Diagnostic]:
    """The device, then what each check says."""
    yield finding(lambda: f"computes on {devices.chosen(device)}")
    yield from map(finding, checks)
