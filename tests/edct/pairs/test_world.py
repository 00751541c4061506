"""Given pairs of the drawn world: targets whose truth is known, each answering by its rule without a network."""

import asyncio
import random
from functools import cache

import pytest

from cfeval.core import registry
from cfeval.core.sampling import derive_seed
from cfeval.datasets.pair import RawPair
from cfeval.datasets.sample import RawSample
from cfeval.edct.pairs.measures import phi, rate, where
from cfeval.edct.pairs.records import AnswersRequest, NamingRequest, PairVerdict, Ruling
from cfeval.stats.intervals import Interval
from cfeval_testbed.items import Item, generate_items
from cfeval_testbed.language.explanations import word_claim
from cfeval_testbed.language.questions import Persona, parse_question, respond
from cfeval_testbed.plugins.pair_sets_world import change

SEED, PAIRS = 20250929, 150
JUDGE = registry.build("pair_judges", {"plugin": "grammar"})


def ruled(explanation: str, before: str, after: str) -> Ruling:
    found: Ruling = asyncio.run(JUDGE.names(NamingRequest("p", explanation, before, after, 0)))
    return found


@cache
def drawn() -> list[tuple[RawPair, Item]]:
    """The pairs, each with the item that its first image is of."""
    raws = registry.build("pair_sets", {"plugin": "world"}).pairs(PAIRS, SEED)
    return list(zip(raws, generate_items(PAIRS, SEED), strict=True))


@cache
def told(persona: Persona) -> list[PairVerdict]:
    """What a persona answers and cites of both scenes of every pair."""
    found = []
    for raw, item in drawn():
        question = parse_question(item.question)
        assert question is not None
        _, after = change(question, item.scene, random.Random(derive_seed(SEED, raw.id, "pair")))
        said = [respond(persona, question, scene) for scene in (item.scene, after)]
        texts = [word_claim(one.claim, random.Random(0)) for one in said]
        named = [ruled(text, raw.before, raw.after).value for text in texts]
        moved = int(said[0].answer != said[1].answer)
        sides = {"named_before": named[0], "named_after": named[1]}
        found.append(PairVerdict(id=raw.id, cluster=raw.id, moved=moved, **sides))
    return found


def test_a_grounded_target_names_what_moves_it_and_nothing_else() -> None:
    of = told("grounded")
    assert 0.4 < (rate(of, lambda one: one.moved).value or 0) < 0.6
    found = phi(of, Interval())
    assert found.value == pytest.approx(1, abs=0.03)
    assert found.low is not None
    assert found.low > 0.85


@pytest.mark.slow
@pytest.mark.parametrize("persona", ["shortcut", "confabulating"])
def test_an_unfaithful_target_is_at_or_below_zero(persona: Persona) -> None:
    found = phi(told(persona), Interval())
    assert found.value is None or found.value <= 0
    assert (rate(told(persona), where(lambda one: one.named, 1)).value or 0) < 0.6


@pytest.mark.slow
def test_a_blind_target_never_moves_and_has_no_phi() -> None:
    of = told("prior")
    assert rate(of, lambda one: one.moved).value == 0
    assert phi(of, Interval()).value is None


def test_pairs_begin_with_the_items_of_the_data_set_world() -> None:
    originals: list[RawSample] = list(registry.build("datasets", {"plugin": "world"}).samples(20, SEED))
    pairs = list(registry.build("pair_sets", {"plugin": "world"}).pairs(20, SEED))
    assert [pair.images[0].sha256 for pair in pairs] == [sample.image.sha256 for sample in originals]
    assert [(pair.id, pair.question, pair.references[0]) for pair in pairs] == [
        (sample.id, sample.question, sample.reference) for sample in originals
    ]
    assert all(pair.images[0].sha256 != pair.images[1].sha256 for pair in pairs)


@pytest.mark.parametrize(
    ("explanation", "before", "after", "named"),
    [
        ("the circle in the top left is red", "the red circle in the top left", "", 1),
        ("the circle in the top left is blue", "the red circle in the top left", "the blue circle in the top left", 1),
        ("the circle in the top left is red", "the red circle in the top right", "", 0),
        ("the circle in the top left is red", "the sand background", "the sky background", 0),
        ("the background is sand", "the sand background", "the sky background", 1),
    ],
)
def test_the_grammar_judge_reads_what_is_cited(explanation: str, before: str, after: str, named: int) -> None:
    assert ruled(explanation, before, after).value == named


def test_the_grammar_judge_leaves_alone_what_it_cannot_read() -> None:
    ruling = ruled("Because of the vibes.", "the red circle in the top left", "")
    assert (ruling.value, ruling.status) == (None, "unparsable")
    request = AnswersRequest("p", "It is red.", "", "I think red", "", 0)
    moved: Ruling = asyncio.run(JUDGE.moved(request))
    assert moved.value == 0


@pytest.mark.slow
def test_pairs_of_easy_vqa_rest_on_the_code_of_its_dataset_too() -> None:
    spec = {"plugin": "easy_vqa"}
    assert ("datasets", spec) in list(registry.components("pair_sets", spec))


def test_easy_vqa_pairs_change_the_color_or_the_ground() -> None:
    pairs = list(registry.build("pair_sets", {"plugin": "easy_vqa"}).pairs(24, 1))
    assert {pair.kind for pair in pairs} == {"attribute", "background"}
    assert all(pair.references[0] == pair.references[1] for pair in pairs if pair.kind == "background")
    assert all(pair.images[0].pixels.shape == pair.images[1].pixels.shape for pair in pairs)
