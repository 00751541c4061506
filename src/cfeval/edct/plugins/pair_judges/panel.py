"""Several judges of pairs as one, by strict majority over all of them."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from cfeval.core import plugin
from cfeval.edct.pairs.interfaces import AnswersRequest, NamingRequest, PairJudge, Ruling
from cfeval.edct.pairs.rulings import majority_of
from cfeval.edct.panels import distinct, members


class Plugin(plugin.Plugin):
    """Who judges."""

    judges: tuple[dict[str, Any], ...] = plugin.component("pair_judges", min_length=1)
    """The judges: the plugin and options of each; none twice, since one answer would count twice."""
    _distinct = distinct

    def build(self) -> PairJudge:
        """The panel."""
        return Panel(members("pair_judges", self.judges))


class Panel:
    """Each ruling is what more than half of the judges say."""

    def __init__(self, judges: Mapping[str, PairJudge]) -> None:
        self.judges = judges

    async def names(self, request: NamingRequest) -> Ruling:
        """Have every judge rule."""
        return await self._all(lambda judge: judge.names(request))

    async def moved(self, request: AnswersRequest) -> Ruling:
        """Have every judge rule."""
        return await self._all(lambda judge: judge.moved(request))

    async def _all(self, ask: Callable[[PairJudge], Awaitable[Ruling]]) -> Ruling:
        rulings = await asyncio.gather(*(ask(judge) for judge in self.judges.values()))
        return majority_of(dict(zip(self.judges, rulings, strict=True)))
