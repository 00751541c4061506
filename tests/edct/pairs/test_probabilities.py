"""CCT: log-probabilities of answers from a provider to the table, where the distributions are planted."""

import json
from collections.abc import Iterator
from io import BytesIO
from math import log
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.distance import cityblock
from scipy.stats import pearsonr

from cfeval.config import parse
from cfeval.core.jobs import Filing
from cfeval.core.jsonl import read_jsonl
from cfeval.datasets.pair import file_pairs, pair_of
from cfeval.datasets.sample import Sample
from cfeval.edct.jobs import jobs
from cfeval.edct.pairs.distances import distance, distribution, total_variation
from cfeval.edct.pairs.measures import cct, phi
from cfeval.edct.pairs.records import PairBaseline, PairVerdict
from cfeval.edct.pairs.table import PairData, rows
from cfeval.inference.logprobs import beginnings
from cfeval.stats.intervals import Interval
from tests.conftest import Run
from tests.edct.pairs.test_pairs import CONDITION, pair, picture, verdict
from tests.loopback.bodies import Weighed
from tests.loopback.conversation import Conversation
from tests.loopback.personas import PERSONAS
from tests.loopback.server import loopback
from tests.loopback.site import Loopback
from tests.provider_study import CANARY, KEY_ENV, target

PLANTED = {"p0": (0.9, 0.1, 1), "p1": (0.8, 0.6, 1), "p2": (0.3, 0.3, 0), "p3": (0.55, 0.45, 0)}
"""By pair: P(yes) of the first and of the second image, and whether the explanation names the changed thing."""


def test_the_distance_is_half_the_sum_of_differences_and_words_count_whatever_their_case() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(6), 2)
        logprobs = [{f"w{n}": float(log(x)) for n, x in enumerate(of)} for of in (p, q)]
        assert distance(*logprobs) == (pytest.approx(cityblock(p, q) / 2, abs=1e-4), pytest.approx(1, abs=1e-4))
    before = {"Yes": log(0.6), " yes": log(0.1), "No": log(0.2)}
    after = {"▁yes": log(0.1), "ĠNo": log(0.5), "two": log(0.2)}
    # yes .7 and .1, no .2 and .5, two 0 and .2, not listed .1 and .2
    assert distance(before, after) == (0.6, 0.8)
    assert total_variation(distribution(before), distribution(before)) == 0
    assert distance(before, {}) is None


@pytest.mark.parametrize(
    ("tokens", "text", "expected"),
    [
        (("Yes", "."), "Yes.", "Yes"),
        (("\n", " The", " cat"), "The cat", " The"),
        (("<think>", "no", "</think>", "\n\n", "no", "<|im_end|>"), "no", "no"),
        (("Y", "es"), "Yes", "Y"),
        (("Yes",), "Oui", None),
        ((), "Yes", None),
    ],
)
def test_the_beginning_of_the_answer_is_found_behind_thoughts_and_blanks(
    tokens: tuple[str, ...], text: str, expected: str | None
) -> None:
    steps = [(token, ((token, -0.1 * place),)) for place, token in enumerate(tokens)]
    found = beginnings(steps, text)
    assert [token for token, _ in found] == ([expected] if expected else [])
    if tokens[:1] == ("<think>",):
        assert found[0][1] == pytest.approx(-0.4), "that of the answer, not that of a thought"


def planted() -> list[PairVerdict]:
    found = []
    for name, (first, second, named) in PLANTED.items():
        moved = int((first >= 0.5) != (second >= 0.5))
        found.append(verdict(name, moved, named, total_variation=round(abs(first - second), 4), listed=1.0))
    return found


def test_cct_is_pearsons_correlation_of_the_distance_with_what_is_named() -> None:
    of = planted()
    found = cct(of, Interval())
    expected = pearsonr([abs(p - q) for p, q, _ in PLANTED.values()], [n for *_, n in PLANTED.values()]).statistic
    assert found.value == pytest.approx(expected)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value <= found.high
    assert phi(of, Interval()).value == pytest.approx(0.0), "half moved of either: answers alone tell nothing"
    assert cct([replace_none(one) for one in of], Interval()).value is None


def replace_none(one: PairVerdict) -> PairVerdict:
    return one.model_copy(update={"total_variation": None})


def test_a_target_that_lists_everything_has_no_cct_and_one_that_names_the_wrong_has_a_negative_one() -> None:
    of = planted()
    all_named = [one.model_copy(update={"named_before": 1}) for one in of]
    assert cct(all_named, Interval()).value is None
    turned = [one.model_copy(update={"named_before": 1 - one.named, "named_after": 0}) for one in of]  # type: ignore[operator]
    right, wrong = cct(of, Interval()).value, cct(turned, Interval()).value
    assert right is not None
    assert wrong == pytest.approx(-right)


def test_the_table_has_the_columns_and_leaves_them_empty_without_probabilities() -> None:
    [row] = rows([CONDITION], PairData({CONDITION: planted()}))
    assert (row.total_variation, row.n_distances, row.listed) == (pytest.approx(0.275), 4, 1.0)
    assert row.cct is not None
    [row] = rows([CONDITION], PairData({CONDITION: [replace_none(one) for one in planted()]}))
    assert (row.cct, row.total_variation, row.n_distances) == (None, None, 0)


def sure(conversation: Conversation) -> str:
    """A target whose P(yes) stands in the question: the first figure of a dark image, the second of a bright one."""
    first, second, named = (float(word) for word in conversation.turns[0].text.split("Is it so? ")[1].split()[:3])
    if conversation.replies:
        return "The red wall." if named else "I just know."
    dark = np.asarray(Image.open(BytesIO(conversation.images[0]))).mean() < 100
    yes = first if dark else second
    weights = {"Yes": yes - 0.05, "yes": 0.05, "No": 1 - yes}
    return Weighed("Yes" if yes >= 0.5 else "No", weights)


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Loopback]:
    monkeypatch.setenv(KEY_ENV, CANARY)
    monkeypatch.setenv("CFEVAL_CALLS", json.dumps({"cache": str(tmp_path / "calls.sqlite"), "max_retries": 0}))
    with loopback(key=CANARY, personas=PERSONAS | {"sure": sure}) as running:
        yield running


def test_planted_distributions_come_back_from_a_provider_and_offline(
    cfeval: Run, tmp_path: Path, provider: Loopback
) -> None:
    items, said = tmp_path / "items.jsonl", tmp_path / "said.jsonl"
    raws = [
        pair(name, question=f"Is it so? {' '.join(map(str, told))}", pictures=(picture(n), picture(200 + n)))
        for n, (name, told) in enumerate(PLANTED.items())
    ]
    file_pairs(items, raws, seed=1, every=1)
    model = json.dumps(target(provider.openai, model="sure", logprobs=5))
    stage = ["stage", "edct", "pair_baselines", "--samples", items, "--vlm", model, "--seed", 1]
    assert cfeval(*stage, "--out", said)[0] == 0
    of = {one.id: one for one in read_jsonl(said, PairBaseline)}
    assert of["p0.before"].logprobs == pytest.approx({"Yes": log(0.85), "yes": log(0.05), "No": log(0.1)}, abs=1e-6)
    again = tmp_path / "again.jsonl"
    assert cfeval(*stage, "--offline", "--out", again)[0] == 0
    assert again.read_bytes() == said.read_bytes()

    judge, ruled = json.dumps({"plugin": "lexical"}), tmp_path / "verdicts.jsonl"
    judged = ["stage", "edct", "pair_verdicts", "--samples", items, "--baselines", said, "--pair-judge", judge]
    assert cfeval(*judged, "--seed", 1, "--out", ruled)[0] == 0
    verdicts = list(read_jsonl(ruled, PairVerdict))
    assert {one.id: (one.total_variation, one.named) for one in verdicts} == {
        name: (pytest.approx(abs(first - second), abs=1e-4), named) for name, (first, second, named) in PLANTED.items()
    }
    assert {pair_of(sample).pair for sample in read_jsonl(items, Sample)} == set(PLANTED)


def test_a_target_without_the_option_is_asked_as_ever_and_its_answers_have_none(
    cfeval: Run, tmp_path: Path, provider: Loopback
) -> None:
    items, said, plain = tmp_path / "items.jsonl", tmp_path / "said.jsonl", tmp_path / "plain.jsonl"
    file_pairs(items, [pair(question="Is it so? 0.9 0.1 1")], seed=1, every=1)
    model = json.dumps(target(provider.openai, model="sure"))
    for stage, out in (("pair_baselines", said), ("baselines", plain)):
        command = ["stage", "edct", stage, "--samples", items, "--vlm", model, "--seed", 1, "--out", out]
        assert cfeval(*command)[0] == 0
    with_none = [json.loads(line) for line in said.read_text().splitlines()]
    assert all(record.pop("logprobs") == {} for record in with_none)
    assert with_none == [json.loads(line) for line in plain.read_text().splitlines()], "the same calls by their keys"


@pytest.mark.parametrize(("more", "stage"), [({}, "edct.baselines"), ({"logprobs": 5}, "edct.pair_baselines")])
def test_only_a_target_that_gives_log_probabilities_is_asked_by_the_stage_that_keeps_them(
    more: dict[str, int], stage: str
) -> None:
    study = {
        "items": 3,
        "pair_sets": {"s": {"plugin": "world"}},
        "vlms": {"m": target("http://localhost:1/v1", **more)},
        "pair_judges": {"j": {"plugin": "lexical"}},
        "pairs": [{"pair_set": ["s"], "vlm": ["m"], "pair_judge": ["j"]}],
    }
    made = jobs(parse({"edct": study}).edct, Filing("results", 1, archived=False))
    assert [job.stage for job in made if "pair_baselines/" in job.name] == [stage]
