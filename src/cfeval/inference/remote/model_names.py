"""Names of models: which served model is the one asked for, and what in a name tells only a snapshot of it."""

import re
from collections.abc import Mapping, Sequence
from datetime import date

_SUFFIX = re.compile(
    r"[-@](?:(?P<day>20\d\d-?\d\d-?\d\d)|(?P<month>\d\d-20\d\d)|(?P<split>\d\d-\d\d)|(?P<short>\d{4})|00\d|latest|main)"
    r"(?:-preview)?$"
)
_PREVIEW = re.compile(r"-(preview|exp)$")
_MONTHLY = re.compile(r"stral|xtral|qwen")
# Whose dates of four digits may be taken for a size: Mistral's and Qwen's are year and month (2411), those of others
# month and day (gpt-4-1106-preview, grok-2-1212); a date that begins with 0 is no size, whoever writes it.
_DAILY = re.compile(r"^(gpt|grok|qwen|qvq|gemini-exp|deepseek|glm|kimi)")
# OpenRouter's suffixes; at other servers what follows a colon may be the model's size.
_ROUTING = re.compile(r":(free|nitro|floor|online|exacto|extended|beta|thinking)$")


def same_model(asked: str, served: str, accepted: Sequence[str]) -> bool:
    """Whether a served model is the one asked for: the same name, with or without its maker's, or a snapshot of it."""
    names = {_bare(name) for name in (asked, *accepted)}
    names |= {name.rpartition("/")[2] for name in names}
    given = _bare(served)
    return given in names or undated(given) in names


def undated(name: str) -> str:
    """A model's name without what a provider adds to it for a snapshot, and nothing else.

    That is a date (gpt-4o-2024-08-06, gpt-4-0613, claude-sonnet-4@20250514, gemini-2.5-flash-preview-09-2025), Google's
    revision (gemini-2.0-flash-001), `latest` or `main`: see platform.openai.com/docs/models,
    docs.claude.com/en/docs/about-claude/models, ai.google.dev/gemini-api/docs/models, docs.mistral.ai/getting-started.
    Other numbers, such as a size, are part of the name.
    """
    found = _SUFFIX.search(name)
    if found is None or not _is_snapshot(name[: found.start()].rpartition("/")[2], found.groupdict()):
        return name
    return name[: found.start()]


def _is_snapshot(model: str, written: Mapping[str, str | None]) -> bool:
    """Whether the digits after a model's name are a date as its maker writes it; none need not be."""
    day, month, split, short = (written[name] for name in ("day", "month", "split", "short"))
    if day is not None:
        return _is_date(day.replace("-", ""))
    if month is not None:
        return _is_date(f"{month[3:]}{month[:2]}01")
    if split is not None:
        return bool(_PREVIEW.search(model)) and _is_date(f"2024{split.replace('-', '')}")
    if short is None:
        return True
    if short[0] == "2":
        return bool(_MONTHLY.search(model)) and _is_date(f"20{short}01")
    return (short[0] == "0" or bool(_DAILY.search(model))) and _is_date(f"2024{short}")


def _is_date(digits: str) -> bool:
    """Whether YYYYMMDD is a day of the calendar."""
    try:
        date(int(digits[:4]), int(digits[4:6]), int(digits[6:]))
    except ValueError:
        return False
    return True


def _bare(name: str) -> str:
    """A model's name without Gemini's prefix and without OpenRouter's routing suffix."""
    return _ROUTING.sub("", name.removeprefix("models/").lower())
