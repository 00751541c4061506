"""The record files of a condition of given pairs: where they lie under a study's results."""

from pathlib import Path

from cfeval.core.shards import shard_files
from cfeval.edct.pairs.condition import PairCondition


def verdict_files(results: Path, condition: PairCondition, shards: int) -> list[Path]:
    """The verdicts, one file a shard."""
    names = (condition.pair_set, condition.vlm, f"{condition.pair_judge}.jsonl")
    return shard_files(results.joinpath("pair_verdicts", *names), shards)


def pair_files(results: Path, condition: PairCondition, shards: int) -> list[Path]:
    """The files whose records name calls: conversations and verdicts."""
    said = results / "pair_baselines" / condition.pair_set / f"{condition.vlm}.jsonl"
    return [*shard_files(said, shards), *verdict_files(results, condition, shards)]
