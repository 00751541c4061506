"""The steps of given pairs: items, conversations with targets that give log-probabilities, verdicts.

A target that gives no log-probabilities is asked by the stage `baselines` of edct. Whether the answer moved from one
image of a pair to the other, and whether the explanations name what was changed, are found apart. Each explanation is
shown to the judge alone with the changed thing, without the image, the question or the answer. Answers are compared by
their texts; where these do not decide, the judge compares them.

Sham: both explanations are shown once more with what was changed in another pair, so that it is found as the ruling on
the pair's own change is: that either explanation names the thing. The other pair is the nearest one before it whose
changed thing is none of its own.

Distance: the total variation distance between two answers of which log-probabilities are known (Siegel et al. 2024,
CCT). An answer's distribution is that of the word with which it begins: tokens that differ in letter case, blanks or a
mark behind them are one, and all that is not listed is one more outcome. The distance of the whole distributions
differs from that found by at most the larger share that is not listed. There is a distance only where the first word is
the answer (one word or number, an option's letter, yes or no) and is one token. Of "The cup is red" the first word
tells nothing, and `th` of "three" and of "thirteen" are the same token: what answers those probabilities belong to
cannot be known.
"""

import re
from asyncio import gather
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import exp
from typing import Annotated, Any, Literal, NamedTuple

import typer

from cfeval.core.cli_options import Archive, Out, PromptFolder, Seed, Shards, build, count_valid_records
from cfeval.core.errors import InputError
from cfeval.core.images import Image
from cfeval.core.jsonl import read_jsonl, write_jsonl
from cfeval.core.progress import track
from cfeval.core.records import Binary, Status, failed, failure, propagated
from cfeval.core.sampling import derive_seed
from cfeval.core.streams import ByKey, StreamingLookup
from cfeval.datasets.answer_scoring import answer_matches
from cfeval.datasets.pair import IMAGES, Pair, Side, file_pairs, levelled, pair_of
from cfeval.datasets.sample import Sample, SamplesFile, left_out_by, name_left_out, originals
from cfeval.edct.answers import moved_by_text
from cfeval.edct.files import BaselineFile, VlmSpec, WordingOption, conversation_prompts
from cfeval.edct.pairs.records import (
    AnswersRequest,
    NamingRequest,
    NoDistance,
    PairBaseline,
    PairJudge,
    PairVerdict,
    Ruling,
)
from cfeval.edct.stages.baselines import Prompts, baselines
from cfeval.inference.batching import map_requests
from cfeval.inference.chat import ChatModel, ChatReply, ChatRequest, ScoredReply
from cfeval.inference.prompts import named_texts
from cfeval.inference.remote.settings import Offline, use_offline_cache


def run_items(
    pair_set: Annotated[str, typer.Option(help="The set of pairs, as JSON: its plugin and options.")],
    items: Annotated[int, typer.Option(min=1, help="How many pairs.")],
    seed: Seed,
    out: Out,
    every: Annotated[
        int, typer.Option(min=1, help="Of one pair in so many the image that comes first is asked about again.")
    ] = 2,
    shards: Shards = 1,
    archive: Archive = False,
) -> None:
    """File the images of given pairs as items, cut into shards by a hash of the pair's id."""
    source = build("pair_sets", pair_set, "--pair-set")
    file_pairs(out, source.pairs(items, seed), seed, every, shards, archive, lambda: left_out_by(source))
    name_left_out(left_out_by(source))


# Of log-probabilities in records.
DECIMALS = 6


class Listening:
    """A model of which the beginnings of its first replies are kept, by item."""

    def __init__(self, model: ChatModel) -> None:
        self.model = model
        self.heard: dict[str, dict[str, Any]] = {}

    async def generate(self, request: ChatRequest) -> ChatReply:
        """Answer a request."""
        reply = await self.model.generate(request)
        if len(request.turns) == 1 and isinstance(reply, ScoredReply):
            logprobs = {token: round(logprob, DECIMALS) for token, logprob in reply.beginnings}
            self.heard[request.item] = {"first_token": reply.first_token, "logprobs": logprobs}
        return reply


def pair_baselines(
    samples: Iterable[Sample], image_of: Callable[[Sample], Image], model: ChatModel, prompts: Prompts, seed: int
) -> Iterator[PairBaseline]:
    """Ask every question and its reason, in order; see `cfeval.edct.stages.baselines.baselines`."""
    listening = Listening(model)
    for baseline in baselines(samples, image_of, listening, prompts, seed):
        yield PairBaseline(**baseline.model_dump(), **listening.heard.pop(baseline.id, {}))


def run_baselines(
    samples: SamplesFile,
    vlm: VlmSpec,
    seed: Seed,
    out: Out,
    prompts: PromptFolder = "",
    wording: WordingOption = "a",
    offline: Offline = False,
) -> None:
    """Ask a target model about both images of given pairs, and keep the log-probabilities of its answers."""
    use_offline_cache(offline)
    total = count_valid_records(samples, Sample)
    model = build("chat", vlm, "--vlm")
    templates = Prompts(*conversation_prompts(prompts, wording))
    records = pair_baselines(read_jsonl(samples, Sample), originals(samples), model, templates, seed)
    write_jsonl(out, track(records, total, "pair_baselines"))


# All tokens that are not listed.
REST = ""
# How tokenizers write what stands before a word.
_BLANKS = "▁Ġ \t\n\r"
# What one token may hold behind a word.
_MARKS = ".,;:!?)"
# By so much probabilities may sum to more than 1.
_ROUNDING = 0.01
_ANSWER = re.compile(
    r"\s*(?:(?P<word>[^\W_]+(?:[.,'’-][^\W_]+)*)\W*$"
    r"|(?P<option>[a-z])[.):]\s"
    r"|(?P<polar>yes|no)(?:[.,;:!]|\s*\n|\s+[-–—]\s))",
    re.IGNORECASE,
)


class Distance(NamedTuple):
    """How far apart two answers are, or why that is not known; figures are rounded as they stand in records."""

    total_variation: float | None = None
    listed: float | None = None
    """The least probability that the listed tokens of either answer have together."""
    no_distance: NoDistance | Literal[""] = ""


def distance(before: PairBaseline, after: PairBaseline) -> Distance:
    """The distance of the answers to both images of a pair, to 4 decimals."""
    first, second = _distribution_of(before), _distribution_of(after)
    if isinstance(first, str):
        return Distance(no_distance=first)
    if isinstance(second, str):
        return Distance(no_distance=second)
    return Distance(round(total_variation(first, second), 4), round(1 - max(first[REST], second[REST]), 4))


def _distribution_of(baseline: PairBaseline) -> dict[str, float] | NoDistance:
    if not baseline.logprobs:
        return "no_logprobs"
    word = decisive_word(baseline.answer)
    if not word:
        return "many_words"
    shares = distribution(baseline.logprobs)
    if shares is None:
        return "not_probabilities"
    return shares if _word(baseline.first_token) == word and word in shares else "part_of_word"


def decisive_word(answer: str) -> str:
    """The word with which an answer begins if it is the answer, in lower case; else nothing.

    It is where nothing but marks follows, and where it is yes, no or an option's letter with a mark behind it.
    """
    match = _ANSWER.match(answer)
    return (match["word"] or match["option"] or match["polar"]).casefold() if match else ""


def distribution(logprobs: Mapping[str, float]) -> dict[str, float] | None:
    """Probabilities by word, `REST` among them; they sum to 1. None where what is listed sums to more.

    Args:
        logprobs: natural log-probabilities of the likeliest tokens.
    """
    shares: dict[str, float] = {}
    for token, logprob in logprobs.items():
        if word := _word(token):
            shares[word] = shares.get(word, 0.0) + exp(min(logprob, 1.0))
    listed = sum(shares.values())
    if not listed <= 1 + _ROUNDING:  # no number included
        return None
    if listed > 1:
        shares = {word: share / listed for word, share in shares.items()}
    return shares | {REST: max(0.0, 1 - listed)}


def _word(token: str) -> str:
    return token.strip(_BLANKS).rstrip(_MARKS).casefold()


def total_variation(before: Mapping[str, float], after: Mapping[str, float]) -> float:
    """½ Σ |p − q| of two distributions, in [0, 1]; an outcome that one lacks has probability 0."""
    tokens = before.keys() | after.keys()
    return min(1.0, sum(abs(before.get(word, 0.0) - after.get(word, 0.0)) for word in sorted(tokens)) / 2)


BATCH = 256
# Of so many pairs before it a pair takes its sham from the nearest that fits.
REMEMBERED = 16


@dataclass(frozen=True)
class Case:
    """A pair with its conversations; `other` is a pair of which another thing was changed, if one is near."""

    pair: Pair
    samples: Mapping[Side, Sample]
    conversations: Mapping[Side, PairBaseline]
    other: Pair | None


def verdicts(
    samples: Iterable[Sample], baselines: ByKey[str, PairBaseline], judge: PairJudge, seed: int
) -> Iterator[PairVerdict]:
    """Judge every pair, in order. A pair of which a conversation failed has no verdict, and repeats why.

    Args:
        samples: the items of the pairs, those of a pair one after the other.
    """

    async def decide(case: Case) -> PairVerdict:
        pair, (first, second) = case.pair, (case.conversations[image] for image in IMAGES)
        fields = {
            "id": pair.pair,
            "cluster": case.samples["before"].image.sha256[:16],
            "kind": pair.kind,
            "natural": pair.natural,
            "first": pair.first,
            "outside": pair.outside,
        }
        ended = next((baseline for baseline in (first, second) if failed(baseline)), None)
        if ended is not None:
            return PairVerdict(**fields, **propagated(ended))
        rulings = await _rulings(case, judge, seed)
        texts = {name: ruling.completion for name, ruling in rulings.items() if ruling.completion}
        fields |= {
            "completion": named_texts(texts) if texts else "",
            "calls": tuple(dict.fromkeys(call for ruling in rulings.values() for call in ruling.calls)),
            "correct_before": _says(first.answer, case.samples["before"].reference),
            "correct_after": _says(second.answer, case.samples["after"].reference),
            "biased": _says(second.answer, pair.biased),
            **distance(first, second)._asdict(),
            "words": len(f"{first.explanation} {second.explanation}".split()),
            **{name: ruling.value for name, ruling in rulings.items()},
        }
        needed = (rulings[name] for name in ("moved", "named_before", "named_after"))
        lost = next((ruling for ruling in needed if ruling.value is None), None)
        if lost is None:
            return PairVerdict(**fields)
        status = lost.status if lost.status != Status.OK else Status.UNPARSABLE
        return PairVerdict(**fields, **failure(status, "pair_verdicts", lost.reason or "the judge gave no ruling"))

    yield from (verdict for _, verdict in map_requests(_cases(samples, baselines), lambda case: case, decide, BATCH))


def _cases(samples: Iterable[Sample], baselines: ByKey[str, PairBaseline]) -> Iterator[Case]:
    previous_pairs: deque[Pair] = deque(maxlen=REMEMBERED)
    for name, group in groupby(samples, key=lambda sample: pair_of(sample).pair):
        items = {pair_of(sample).side: sample for sample in group}
        if not set(IMAGES) <= set(items):
            raise InputError(f"pair '{name}' lacks an image; file the pairs again")
        pair = pair_of(items["before"])
        conversations = {side: baselines[sample.id] for side, sample in items.items()}
        yield Case(pair, items, conversations, sham_of(pair, reversed(previous_pairs)))
        previous_pairs.append(pair)


def sham_of(pair: Pair, others: Iterable[Pair]) -> Pair | None:
    """The first of other pairs whose changed thing is none of this pair's; that a thing is not there is no thing."""
    own = _things(pair)
    return next((other for other in others if own.isdisjoint(_things(other))), None)


def _things(pair: Pair) -> set[str]:
    return {levelled(thing) for thing in pair.told if thing}


async def _rulings(case: Case, judge: PairJudge, seed: int) -> dict[str, Ruling]:
    pair = case.pair

    async def named(side: Side, thing: Pair | None) -> Ruling:
        if thing is None:
            return Ruling()
        own = derive_seed(seed, pair.pair, side, thing.pair, "named")
        return await judge.names(NamingRequest(pair.pair, case.conversations[side].explanation, *thing.told, own))

    async def moved(to: Side) -> Ruling:
        if to not in case.conversations or failed(case.conversations[to]):
            return Ruling()
        first, second = case.conversations[pair.first], case.conversations[to]
        bit = moved_by_text(first.answer, second.answer)
        if bit is not None:
            return Ruling(bit)
        own = derive_seed(seed, pair.pair, to, "moved")
        texts = (first.answer, first.explanation, second.answer, second.explanation)
        return await judge.moved(AnswersRequest(pair.pair, *texts, own))

    comparisons = {"moved": moved(pair.order[1]), "noise": moved("again")}
    comparisons |= {f"named_{image}": named(image, pair) for image in IMAGES}
    comparisons |= {f"sham_{image}": named(image, case.other) for image in IMAGES}
    return dict(zip(comparisons, await gather(*comparisons.values()), strict=True))


def _says(answer: str, wanted: str) -> Binary | None:
    return (1 if answer_matches(answer, wanted) else 0) if wanted else None


def run_verdicts(
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
    by_item = StreamingLookup(baseline, PairBaseline, lambda record: record.id)
    records = verdicts(read_jsonl(samples, Sample), by_item, judge, seed)
    write_jsonl(out, track(records, total, "pair_verdicts"))
