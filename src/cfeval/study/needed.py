"""The plugins that a run still needs: those in the commands of outdated jobs, and which of them have models to ask."""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from cfeval.core import registry
from cfeval.core.jsonl import read_lines
from cfeval.core.registry import Used
from cfeval.inference.remote.cache import ResponseCache
from cfeval.study.whole import Job


def needed(uses: Iterable[Used], jobs: Sequence[Job], outdated: Collection[str]) -> list[Used]:
    """The plugins that an outdated job names.

    Args:
        uses: all of the study.
        jobs: all of the study.
        outdated: the first outputs of those that have to run.
    """
    return [plugin for plugin in uses if any(job.name in outdated for job in _jobs_of(plugin, jobs))]


def stored(uses: Iterable[Used], jobs: Sequence[Job], outdated: Collection[str], cache: Path) -> set[str]:
    """The places of plugins whose calls seem to be in the cache, so that nothing need be asked of their models now.

    That is so where everything that their jobs read is there, and the cache has a reply of each model for each of these
    items at least. A call that is missing after all is sent, or ends the run with its own line.
    """
    if not cache.is_file():
        return set()
    with closing(ResponseCache(cache)) as opened:
        replies = {model: final for model, (final, _) in opened.counts().items()}
    return {plugin.place for plugin in uses if _is_stored(plugin, jobs, outdated, replies)}


def _is_stored(plugin: Used, jobs: Sequence[Job], outdated: Collection[str], replies: dict[str, int]) -> bool:
    models = {recipient.model for recipient in registry.recipients(plugin.family, plugin.spec, plugin.protocols)}
    mine = [job for job in _jobs_of(plugin, jobs) if job.name in outdated]
    if not models or any(path in outdated or not Path(path).exists() for job in mine for path in job.inputs):
        return False
    items = sum(_items(job) for job in mine)
    return all(replies.get(model, 0) >= max(1, items) for model in models)


def _items(job: Job) -> int:
    """The items that a job has to do with at least: those that have not ended, of the input that has fewest."""
    counts = [_going(Path(path)) for path in job.inputs if Path(path).is_dir() or path.endswith(".jsonl")]
    return min(counts, default=0)


def _going(path: Path) -> int:
    files = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
    rows = (json.loads(line) for file in files for line in read_lines(file) if line.strip())
    return sum(row.get("status", "ok") == "ok" for row in rows)


def _jobs_of(plugin: Used, jobs: Sequence[Job]) -> list[Job]:
    """The jobs that name a plugin; of its whole evaluation, where none does."""
    own = [job for job in jobs if job.study == plugin.study]
    wanted = _key(plugin.spec)
    return [job for job in own if wanted in set(_specs(job.words))] or own


def _specs(words: Iterable[str]) -> Iterator[str]:
    """The specifications of plugins in the words of a command, those inside others too."""
    for word in words:
        start = min((at for sign in "{[" if (at := word.find(sign)) >= 0), default=-1)
        if start == 0 or (start > 0 and word.startswith("--") and word[start - 1] == "="):
            try:
                yield from _inside(json.loads(word[start:]))
            except ValueError:  # a pattern, such as {protocol}.jsonl
                continue


def _inside(content: Any) -> Iterator[str]:
    if isinstance(content, dict) and "plugin" in content:
        yield _key(content)
    if isinstance(content, dict | list):
        for part in content.values() if isinstance(content, dict) else content:
            yield from _inside(part)


def _key(spec: Any) -> str:
    return json.dumps(spec, sort_keys=True)
