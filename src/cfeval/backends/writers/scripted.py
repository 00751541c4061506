"""A writer that says what it was told to: for tests."""

from collections.abc import Sequence

from cfeval.backends.registry import PluginOptions
from cfeval.backends.writers.base import Edit, Writer, WriteReply, WriteRequest
from cfeval.errors import BackendError
from cfeval.records.common import Status


class Options(PluginOptions):
    """What to write; texts may name {explanation}."""

    concept: str = "the cited thing"
    positive: str = "Change what is meant by: {explanation}"
    negative: str = "the cited thing"
    statuses: dict[str, Status] = {}
    crash_on: tuple[str, ...] = ()


def build(options: Options) -> Writer:
    """The scripted writer."""
    return Scripted(options)


class Scripted:
    """Instructions from templates; see `Options`."""

    def __init__(self, options: Options) -> None:
        self.options = options

    def write(self, requests: Sequence[WriteRequest]) -> list[WriteReply]:
        """Fill in the templates of every request."""
        return [self._reply(request) for request in requests]

    def _reply(self, request: WriteRequest) -> WriteReply:
        if request.item in self.options.crash_on:
            raise BackendError(f"scripted crash on item '{request.item}'")
        if request.item in self.options.statuses:
            return WriteReply(status=self.options.statuses[request.item], reason="scripted")
        positive = self.options.positive.replace("{explanation}", request.explanation)
        return WriteReply((Edit(self.options.concept, positive, self.options.negative),), raw=positive)
