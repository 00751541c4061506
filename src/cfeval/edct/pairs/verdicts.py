"""Whether the answer moved from one image of a pair to the other, and whether the explanations name what was changed.

The two are found apart. Each explanation is shown to the judge alone with the changed thing, without the image, the
question or the answer. Answers are compared by their texts; where these do not decide, the judge compares them.

Sham: both explanations are shown once more with what was changed in another pair, so that it is found as the ruling on
the pair's own change is: that either explanation names the thing. The other pair is the nearest one before it whose
changed thing is none of its own.
"""

from asyncio import gather
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Annotated

import typer

from cfeval.core.cli_options import Out, Seed, build, count_valid_records
from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import Binary, Status, failed, failure, propagated
from cfeval.core.sampling import derive_seed
from cfeval.core.streams import ByKey, StreamingLookup
from cfeval.datasets.answer_scoring import answer_matches
from cfeval.datasets.pair import IMAGES, Pair, Side, levelled, pair_of
from cfeval.datasets.sample import Sample, SamplesFile
from cfeval.edct.answers import moved_by_text
from cfeval.edct.files import BaselineFile
from cfeval.edct.pairs.distances import distance
from cfeval.edct.pairs.interfaces import AnswersRequest, NamingRequest, PairJudge, Ruling
from cfeval.edct.pairs.records import PairBaseline, PairVerdict
from cfeval.inference.batching import map_requests
from cfeval.inference.prompts import named_texts
from cfeval.inference.remote.settings import Offline, use_offline_cache

BATCH = 256
REMEMBERED = 16
"""Of so many pairs before it a pair takes its sham from the nearest that fits."""


@dataclass(frozen=True)
class Case:
    """A pair with its conversations; `other` is a pair of which another thing was changed, if one is near."""

    pair: Pair
    samples: Mapping[Side, Sample]
    said: Mapping[Side, PairBaseline]
    other: Pair | None


def verdicts(
    samples: Iterable[Sample], baselines: ByKey[str, PairBaseline], judge: PairJudge, seed: int
) -> Iterator[PairVerdict]:
    """Judge every pair, in order. A pair of which a conversation failed has no verdict, and repeats why.

    Args:
        samples: the items of the pairs, those of a pair one after the other.
        baselines: what was said of each item, by id.
        judge: who judges.
        seed: of the study.
    """

    async def decide(case: Case) -> PairVerdict:
        return await _verdict(case, judge, seed)

    yield from (found for _, found in map_requests(_cases(samples, baselines), lambda case: case, decide, BATCH))


def _cases(samples: Iterable[Sample], baselines: ByKey[str, PairBaseline]) -> Iterator[Case]:
    former: deque[Pair] = deque(maxlen=REMEMBERED)
    for name, group in groupby(samples, key=lambda sample: pair_of(sample).pair):
        items = {pair_of(sample).side: sample for sample in group}
        if not set(IMAGES) <= set(items):
            raise InputError(f"pair '{name}' lacks an image; file the pairs again")
        pair = pair_of(items["before"])
        said = {side: baselines[sample.id] for side, sample in items.items()}
        yield Case(pair, items, said, sham_of(pair, reversed(former)))
        former.append(pair)


def sham_of(pair: Pair, others: Iterable[Pair]) -> Pair | None:
    """The first of other pairs whose changed thing is none of this pair's; that a thing is not there is no thing."""
    own = _things(pair)
    return next((other for other in others if own.isdisjoint(_things(other))), None)


def _things(pair: Pair) -> set[str]:
    return {levelled(thing) for thing in pair.told if thing}


async def _verdict(case: Case, judge: PairJudge, seed: int) -> PairVerdict:
    pair, (first, second) = case.pair, (case.said[image] for image in IMAGES)
    known = {
        "id": pair.pair,
        "cluster": case.samples["before"].image.sha256[:16],
        "kind": pair.kind,
        "natural": pair.natural,
        "first": pair.first,
        "outside": pair.outside,
    }
    ended = next((one for one in (first, second) if failed(one)), None)
    if ended is not None:
        return PairVerdict(**known, **propagated(ended))
    rulings = await _rulings(case, judge, seed)
    texts = {name: ruling.completion for name, ruling in rulings.items() if ruling.completion}
    known |= {
        "completion": named_texts(texts) if texts else "",
        "calls": tuple(dict.fromkeys(call for ruling in rulings.values() for call in ruling.calls)),
        "correct_before": _right(case, "before"),
        "correct_after": _right(case, "after"),
        "biased": _says(second.answer, pair.biased),
        **distance(first, second)._asdict(),
        "words": len(f"{first.explanation} {second.explanation}".split()),
        **{name: ruling.value for name, ruling in rulings.items()},
    }
    needed = (rulings[name] for name in ("moved", "named_before", "named_after"))
    lost = next((ruling for ruling in needed if ruling.value is None), None)
    if lost is None:
        return PairVerdict(**known)
    status = lost.status if lost.status != Status.OK else Status.UNPARSABLE
    return PairVerdict(**known, **failure(status, "pair_verdicts", lost.reason or "the judge gave no ruling"))


async def _rulings(case: Case, judge: PairJudge, seed: int) -> dict[str, Ruling]:
    pair = case.pair

    async def named(side: Side, thing: Pair | None) -> Ruling:
        if thing is None:
            return Ruling()
        own = derive_seed(seed, pair.pair, side, thing.pair, "named")
        return await judge.names(NamingRequest(pair.pair, case.said[side].explanation, *thing.told, own))

    async def moved(to: Side) -> Ruling:
        if to not in case.said or failed(case.said[to]):
            return Ruling()
        first, second = case.said[pair.first], case.said[to]
        bit = moved_by_text(first.answer, second.answer)
        if bit is not None:
            return Ruling(bit)
        own = derive_seed(seed, pair.pair, to, "moved")
        texts = (first.answer, first.explanation, second.answer, second.explanation)
        return await judge.moved(AnswersRequest(pair.pair, *texts, own))

    asked = {"moved": moved(pair.order[1]), "noise": moved("again")}
    asked |= {f"named_{image}": named(image, pair) for image in IMAGES}
    asked |= {f"sham_{image}": named(image, case.other) for image in IMAGES}
    return dict(zip(asked, await gather(*asked.values()), strict=True))


def _right(case: Case, side: Side) -> Binary | None:
    return _says(case.said[side].answer, case.samples[side].reference)


def _says(answer: str, wanted: str) -> Binary | None:
    return (1 if answer_matches(answer, wanted) else 0) if wanted else None


def run(
    samples: SamplesFile,
    baseline: BaselineFile,
    pair_judge: Annotated[str, typer.Option(help="The judge of pairs, as JSON: its plugin and options.")],
    seed: Seed,
    out: Out,
    offline: Offline = False,
) -> None:
    """Say of every pair whether the answer moved, and whether the explanations name what was changed."""
    use_offline_cache(offline)
    total = sum(pair_of(sample).side == "before" for sample in read_jsonl(samples, Sample))
    count_valid_records(baseline, PairBaseline)
    judge = build("pair_judges", pair_judge, "--pair-judge")
    said = StreamingLookup(baseline, PairBaseline, lambda record: record.id)
    found = verdicts(read_jsonl(samples, Sample), said, judge, seed)
    write_jsonl(out, track(found, total, "pair_verdicts"))
