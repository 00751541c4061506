"""Several judges as one, by strict majority over all of them (EDCT 2025, Section 3, Stage 4)."""

import asyncio
from collections.abc import Mapping
from typing import Any

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.edct.interfaces import Judge, JudgeReply, JudgeRequest
from cfeval.edct.panels import distinct, members
from cfeval.edct.plugins.chat_judge import count_votes


class Plugin(plugin.Plugin):
    """Who judges."""

    judges: tuple[dict[str, Any], ...] = plugin.component("judges", min_length=1)
    """The judges: the plugin and options of each; none twice, since one answer would count twice."""
    _distinct = distinct

    def build(self) -> Judge:
        """The panel."""
        return Panel(members("judges", self.judges))


class Panel:
    """Each score is what more than half of the judges say; see `cfeval.edct.plugins.chat_judge`."""

    def __init__(self, judges: Mapping[str, Judge]) -> None:
        """PluginError where some are told of the edits and others are not."""
        self.judges = judges
        self.needs_image = any(judge.needs_image for judge in judges.values())
        if not all(judge.needs_image == self.needs_image for judge in judges.values()):
            blind = ", ".join(name for name, judge in judges.items() if judge.needs_image)
            raise PluginError(f"panel: {blind} must not know the edits, the others must; make two panels of them")

    async def judge(self, request: JudgeRequest) -> JudgeReply:
        """Have every judge judge a request."""
        replies = await asyncio.gather(*(judge.judge(request) for judge in self.judges.values()))
        return count_votes(dict(zip(self.judges, replies, strict=True)), request.protocol)
