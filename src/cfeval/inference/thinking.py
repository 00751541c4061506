"""Models that think before they reply: which are known to, and how many tokens their thoughts need.

Every provider counts thoughts against the limit on tokens of a reply. So that a limit that is meant for the reply cuts
no model off while it still thinks, room for thoughts is added to it.
"""

import re
from typing import Literal

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model is to think, as providers name it; no provider takes all of these words."""
ROOM = 16_384
"""Tokens kept for thoughts where no budget is named."""
SHORT = 1_024
"""A smaller room cuts most thoughts off; the smallest budget that Anthropic takes."""
LITTLE: tuple[Effort, ...] = ("none", "minimal")
"""Efforts that leave next to no thoughts."""
_LATER = r"([5-9]|\d\d)(?!\d)"
"""The fifth version of a family or a later one; no date, and no size of three digits."""
_THINKERS = re.compile(
    rf"^o[1-9](-|$)|^gpt-([5-9]|1\d)(?!\d)|^gpt-oss|^codex-mini|claude-([a-z]+-{_LATER}|fable|mythos)"
    r"|^gemini-(2\.5|[3-9]|1\d|flash|pro)|deepseek-(r\d|reasoner|v([4-9]|\d\d))|^r1[-_]|qwq|qvq"
    r"|^qwen-?[3-9](\.\d+)?[-_:]|magistral|^glm-(4\.[15-9]|[5-9])|grok-([4-9]|\d\d|3-mini|code)|^minimax-m[1-9]"
    r"|^kimi-k(2\.[5-9]|[3-9]|\d\d)"
    r"|seed-oss|nemotron|ernie-.*x1|hunyuan-t1|thinking|reason(er|ing)|thinker"
)
"""Families, each from its first version on that thinks unless it is told not to.

Claude thinks by itself from version 5 on, before only where a request says so
(platform.claude.com/docs/en/about-claude/models); DeepSeek from V4 on (api-docs.deepseek.com/guides/thinking_mode);
Kimi from K2.5 on (platform.kimi.ai/docs/api/models-overview); OpenAI's from o1 and GPT-5 on
(developers.openai.com/api/docs/guides/reasoning). GPT-5.1 to 5.4 do only where an effort is named, and have room all
the same: it costs nothing where it is not used, and gateways name efforts of their own.
"""
_PLAIN = re.compile(
    r"instruct|non-?(thinking|reasoning)|no-?think|gpt-\d(\.\d)?-chat|qwen-?\d.*-(coder|embedding)|image"
)
"""Names of siblings that do not think."""


def thinks(model: str) -> bool:
    """Whether a model is known, by its name alone, to think before it replies unless it is told not to.

    Args:
        model: its name at a provider, or on the hub: `openai/o3`, `Qwen/Qwen3-8B`, `gemini-2.5-pro`, `x:thinking`.
    """
    name = model.lower().rstrip("/").rpartition("/")[2]
    return _THINKERS.search(name) is not None and not _PLAIN.search(name)


def room_for_thoughts(model: str, effort: Effort | None, tokens: int | None) -> int:
    """How many tokens are kept for thoughts beside the reply.

    Args:
        model: its name.
        effort: how much it is asked to think; None: as it likes.
        tokens: the budget that is named; None: none is.
    """
    if tokens is not None:
        return tokens
    thinking = effort is not None or thinks(model)
    return ROOM if thinking and effort not in LITTLE else 0


def cut_off(model: str, effort: Effort | None, room: int) -> str:
    """One line that warns that thoughts will be cut off, and says what to do; empty where nothing is to be feared."""
    if room >= SHORT or effort in LITTLE or not (effort or thinks(model)):
        return ""
    return (
        f"{model} thinks before it replies, and {room:,} tokens are kept for that: replies will be cut off; "
        f"set thinking_tokens to {ROOM} or more"
    )
