"""The record files of given pairs: where they lie under a study's results."""

import re
from pathlib import Path

from cfeval.core.errors import InputError
from cfeval.core.shards import shard_files
from cfeval.edct.pairs.condition import PairCondition

NAMES = tuple(PairCondition.model_fields)
_SHARD = re.compile(r"[0-9]{3}")


def item_files(results: Path, pair_set: str, shards: int) -> list[Path]:
    """The items of a set of pairs, one file a shard."""
    return shard_files(results / "pair_items" / f"{pair_set}.jsonl", shards)


def baseline_files(results: Path, condition: PairCondition, shards: int) -> list[Path]:
    """What a target said of them, one file a shard."""
    return shard_files(results / "pair_baselines" / condition.pair_set / f"{condition.vlm}.jsonl", shards)


def verdict_files(results: Path, condition: PairCondition, shards: int) -> list[Path]:
    """The verdicts, one file a shard."""
    names = (condition.pair_set, condition.vlm, f"{condition.pair_judge}.jsonl")
    return shard_files(results.joinpath("pair_verdicts", *names), shards)


def pair_files(results: Path, condition: PairCondition, shards: int) -> list[Path]:
    """The files whose records name calls: conversations and verdicts."""
    return [*baseline_files(results, condition, shards), *verdict_files(results, condition, shards)]


def pair_conditions_in(results: Path) -> dict[PairCondition, int]:
    """Every condition of given pairs that has verdicts, by name, and into how many shards its files are cut.

    Raises:
        InputError: a condition has both whole files and shards.
    """
    found: dict[PairCondition, set[str]] = {}
    for file in sorted((results / "pair_verdicts").rglob("*.jsonl")):
        parts = file.relative_to(results / "pair_verdicts").with_suffix("").parts
        if len(parts) == len(NAMES) or (len(parts) == len(NAMES) + 1 and _SHARD.fullmatch(parts[-1])):
            condition = PairCondition(**dict(zip(NAMES, parts, strict=False)))
            found.setdefault(condition, set()).add(parts[-1] if len(parts) > len(NAMES) else "")
    for condition, shards in found.items():
        if "" in shards and len(shards) > 1:
            names = "/".join(condition.model_dump().values())
            raise InputError(f"{names}: both whole files and shards; remove those of the older run")
    return {one: 1 if shards == {""} else max(map(int, shards)) + 1 for one, shards in found.items()}
