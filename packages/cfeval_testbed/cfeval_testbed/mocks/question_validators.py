"""A question validator that says what it was told to: for tests."""

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.core.records import Status
from cfeval.cvqa.interfaces import CheckReply, CheckRequest, QuestionValidator
from cfeval.inference.parsing import StrictBinary


class Plugin(plugin.Plugin):
    """What to say of every draft, and of some."""

    related: StrictBinary = 1
    reasonable: StrictBinary = 1
    verdicts: dict[str, tuple[StrictBinary, StrictBinary]] = {}
    """Related and reasonable, by item."""
    statuses: dict[str, Status] = {}
    """Items that fail, and how."""
    crash_on: tuple[str, ...] = ()
    """Items that break the whole job, as a crash would."""

    def build(self) -> QuestionValidator:
        """The mock question validator."""
        return Scripted(self)


class Scripted:
    """Verdicts from its options."""

    def __init__(self, options: Plugin) -> None:
        self.options = options

    async def check(self, request: CheckRequest) -> CheckReply:
        """Say it."""
        options = self.options
        if request.item in options.crash_on:
            raise PluginError(f"mock crash on item '{request.item}'")
        if request.item in options.statuses:
            return CheckReply(status=options.statuses[request.item], reason="mock")
        related, reasonable = options.verdicts.get(request.item, (options.related, options.reasonable))
        return CheckReply(related, reasonable, "mock", completion=f"RELATED: {related}\nREASONABLE: {reasonable}")
