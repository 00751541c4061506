"""CCT: log-probabilities of answers from a provider to the table, where the distributions are planted."""

import io
import json
from collections.abc import Iterator
from io import BytesIO
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import PIL.Image
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from scipy.spatial.distance import cityblock
from scipy.stats import pearsonr, pointbiserialr

from cfeval.config import parse
from cfeval.core.jsonl import read_jsonl
from cfeval.datasets.pair import file_pairs
from cfeval.edct.estimate import pair_lines
from cfeval.edct.figures import draw_pairs
from cfeval.edct.pairs.measures import cct, phi
from cfeval.edct.pairs.records import PairBaseline, PairCondition, PairVerdict
from cfeval.edct.pairs.stages import decisive_word, distance
from cfeval.edct.pairs.table import PairData, PairRow, render, rows
from cfeval.edct.report.pairs import finding
from cfeval.inference.chat import beginnings
from cfeval.stats.intervals import Interval
from tests.conftest import Run
from tests.edct.pairs.test_pairs import CONDITION, image, pair, said, verdict
from tests.loopback.bodies import Weighed
from tests.loopback.conversation import Conversation
from tests.loopback.personas import PERSONAS
from tests.loopback.server import loopback
from tests.loopback.site import Loopback
from tests.provider_study import CANARY, KEY_ENV, target


def answered(answer: str, logprobs: dict[str, float]) -> PairBaseline:
    """An answer, and how it could have begun: the first token is its first word where `logprobs` has it."""
    token = next((one for one in logprobs if one.strip(" ▁Ġ,").lower() == decisive_word(answer)), answer[:2])
    return said("p.before", answer, "Because.").model_copy(update={"first_token": token, "logprobs": logprobs})


PLANTED = {"p0": (0.9, 0.1, 1), "p1": (0.8, 0.6, 1), "p2": (0.3, 0.3, 0), "p3": (0.55, 0.45, 0)}
"""By pair: P(yes) of the first and of the second image, and whether the explanation names the changed thing."""
STILL = {"q0": (0.95, 0.55, 1), "q1": (0.9, 0.6, 1), "q2": (0.9, 0.85, 0), "q3": (0.7, 0.69, 0)}
"""Faithful in probability: no answer moves, and what moves its probability is named."""
UNRELATED = {"r0": (0.95, 0.55, 1), "r1": (0.95, 0.55, 0), "r2": (0.9, 0.85, 1), "r3": (0.9, 0.85, 0)}
"""No answer moves, and names have nothing to do with what moves its probability."""


def test_the_distance_is_half_the_sum_of_differences_and_words_count_whatever_their_case() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        p, q = rng.dirichlet(np.ones(6), 2)
        said = [answered(f"w{of.argmax()}", {f"w{n}": float(log(x)) for n, x in enumerate(of)}) for of in (p, q)]
        assert distance(*said) == (pytest.approx(cityblock(p, q) / 2, abs=1e-4), pytest.approx(1, abs=1e-4), "")
    before = answered("Yes.", {"Yes": log(0.6), " yes,": log(0.1), "No": log(0.2)})
    after = answered("no", {"▁yes": log(0.1), "ĠNo": log(0.5), "two": log(0.2)})
    # yes .7 and .1, no .2 and .5, two 0 and .2, not listed .1 and .2
    assert distance(before, after) == (0.6, 0.8, "")
    assert distance(before, before) == (0, 0.9, "")


LIKELY = {"Yes": log(0.7), "No": log(0.2), "th": log(0.05), "The": log(0.04)}


@pytest.mark.parametrize(
    ("answer", "logprobs", "why"),
    [
        ("Yes", {}, "no_logprobs"),
        ("The cup is red", LIKELY, "many_words"),
        ("No cups are there", LIKELY, "many_words"),
        ("(B)", LIKELY, "many_words"),
        ("A cat", {"A": log(0.9)}, "many_words"),
        ("three", LIKELY, "part_of_word"),
        ("12", {"1": log(0.9)}, "part_of_word"),
        ("Maybe", LIKELY, "part_of_word"),
        ("**Yes**", LIKELY, "many_words"),
        ("Yes", {"Yes": 0.7, "No": 0.2}, "not_probabilities"),
        ("Yes", {"Yes": 12.5, "No": 4e9}, "not_probabilities"),
        ("Yes", {"Yes": float("nan"), "No": -0.1}, "not_probabilities"),
        ("Yes", {"Yes": float("inf")}, "not_probabilities"),
    ],
)
def test_where_the_first_word_does_not_tell_the_answer_there_is_no_distance_but_a_reason(
    answer: str, logprobs: dict[str, float], why: str
) -> None:
    sound, other = answered("Yes", LIKELY), answered(answer, logprobs)
    assert distance(sound, other) == distance(other, sound) == (None, None, why)


def test_a_word_that_was_said_in_parts_has_no_distance_even_where_it_is_also_one_token() -> None:
    likely = {"th": log(0.6), "three": log(0.3)}
    parts = answered("three", likely).model_copy(update={"first_token": "th"})
    assert distance(answered("Yes", LIKELY), parts).no_distance == "part_of_word"
    assert distance(answered("Yes", LIKELY), answered("three", likely)).no_distance == ""


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ("Yes, it is.", "yes"),
        ("No - there is none", "no"),
        ("B) a blue cup", "b"),
        ("c.", "c"),
        (" Red!", "red"),
        ("3.5", "3.5"),
        ("12\n", "12"),
        ("t-shirt", "t-shirt"),
        ("Yes\nIt is red", "yes"),
        ("", ""),
        ("...", ""),
        ("no one", ""),
        ("2 dogs", ""),
        ("A dog", ""),
    ],
)
def test_one_word_decides_an_answer_or_more_are_needed(answer: str, word: str) -> None:
    assert decisive_word(answer) == word


def test_what_few_listed_tokens_leave_is_an_outcome_of_its_own() -> None:
    before, after = answered("Yes", {"Yes": log(0.6)}), answered("Yes", {"Yes": log(0.9)})
    assert distance(before, after) == (0.3, 0.6, "")
    assert distance(before, answered("Yes", {"Yes": log(0.6), "No": -9999.0})) == (0, 0.6, "")


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
    first, found = beginnings(steps, text)
    assert ([token for token, _ in found], first) == ([expected] if expected else [], expected or "")
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


def test_a_model_faithful_in_probability_alone_has_cct_and_no_phi_and_unrelated_names_have_neither() -> None:
    rng = np.random.default_rng(7)
    apart = np.round(rng.uniform(0, 0.45, 300), 4)  # P(yes) falls from .95: the answer stays yes
    clusters = [f"image{n // 2}" for n in range(300)]

    def model(named: list[int]) -> list[PairVerdict]:
        known = zip(apart.tolist(), named, clusters, strict=True)
        return [verdict(f"p{n}", 0, of, total_variation=x, cluster=c) for n, (x, of, c) in enumerate(known)]

    faithful, unrelated = (apart > 0.2).astype(int).tolist(), rng.integers(0, 2, 300).tolist()
    found, none = cct(model(faithful), Interval()), cct(model(unrelated), Interval())
    assert found.value == pytest.approx(pointbiserialr(faithful, apart).statistic)
    assert none.value == pytest.approx(pointbiserialr(unrelated, apart).statistic)
    assert found.value is not None
    assert found.value > 0.8
    assert (found.low or 0) > 0.75
    assert none.low is not None
    assert none.low < 0 < (none.high or 0)
    assert "clustered" in found.method
    assert phi(model(faithful), Interval()).value is None, "no answer moves"


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
    lost = [replace_none(one).model_copy(update={"no_distance": "many_words"}) for one in planted()[:1]]
    shown = rows([CONDITION], PairData({CONDITION: lost + planted()[1:]}))
    assert (shown[0].no_distance, shown[0].n_distances) == ("many_words: 1", 3)
    [note] = [note for note in render(shown).notes if note.startswith("CCT")]
    assert "not counted: target many_words: 1" in note


def sure(conversation: Conversation) -> str:
    """A target whose P(yes) stands in the question: the first figure of a dark image, the second of a bright one."""
    first, second, named = (float(word) for word in conversation.turns[0].text.split("Is it so? ")[1].split()[:3])
    if conversation.replies:
        return "The red wall." if named else "I just know."
    dark = np.asarray(PIL.Image.open(BytesIO(conversation.images[0]))).mean() < 100
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
    items, said, told_of = tmp_path / "items.jsonl", tmp_path / "said.jsonl", PLANTED | STILL | UNRELATED
    raws = [
        pair(name, question=f"Is it so? {' '.join(map(str, told))}", images=(image(n), image(200 + n)))
        for n, (name, told) in enumerate(told_of.items())
    ]
    file_pairs(items, raws, seed=1, every=1)
    model = json.dumps(target(provider.openai, model="sure", logprobs=5))
    stage = ["edct", "pair-baselines", "--samples", items, "--vlm", model, "--seed", 1]
    assert cfeval(*stage, "--out", said)[0] == 0
    of = {one.id: one for one in read_jsonl(said, PairBaseline)}
    assert of["p0.before"].first_token == "Yes"
    assert of["p0.before"].logprobs == pytest.approx({"Yes": log(0.85), "yes": log(0.05), "No": log(0.1)}, abs=1e-6)
    again = tmp_path / "again.jsonl"
    assert cfeval(*stage, "--offline", "--out", again)[0] == 0
    assert again.read_bytes() == said.read_bytes()

    judge, ruled = json.dumps({"plugin": "lexical"}), tmp_path / "verdicts.jsonl"
    judged = ["edct", "pair-verdicts", "--samples", items, "--baselines", said, "--pair-judge", judge]
    assert cfeval(*judged, "--seed", 1, "--out", ruled)[0] == 0
    verdicts = list(read_jsonl(ruled, PairVerdict))
    assert {one.id: (one.total_variation, one.named) for one in verdicts} == {
        name: (pytest.approx(abs(first - second), abs=1e-4), named) for name, (first, second, named) in told_of.items()
    }
    assert {one.no_distance for one in verdicts} == {""}
    of_kind = {kind: [one for one in verdicts if one.id[0] == kind] for kind in "pqr"}
    found = {kind: cct(of_kind[kind], Interval()).value for kind in of_kind}
    assert found["p"] == pytest.approx(cct(planted(), Interval()).value, abs=1e-3)
    assert found["q"] == pytest.approx(pearsonr([0.4, 0.3, 0.05, 0.01], [1, 1, 0, 0]).statistic, abs=1e-3)
    assert found["r"] == pytest.approx(0, abs=1e-3)
    assert [phi(of_kind[kind], Interval()).value for kind in "qr"] == [None, None], "answers alone tell nothing"


def test_a_target_without_the_option_is_asked_as_ever_and_its_answers_have_none(
    cfeval: Run, tmp_path: Path, provider: Loopback
) -> None:
    items, said, plain = tmp_path / "items.jsonl", tmp_path / "said.jsonl", tmp_path / "plain.jsonl"
    file_pairs(items, [pair(question="Is it so? 0.9 0.1 1")], seed=1, every=1)
    model = json.dumps(target(provider.openai, model="sure"))
    for stage, out in (("pair-baselines", said), ("baselines", plain)):
        command = ["edct", stage, "--samples", items, "--vlm", model, "--seed", 1, "--out", out]
        assert cfeval(*command)[0] == 0
    with_none = [json.loads(line) for line in said.read_text().splitlines()]
    assert all((record.pop("logprobs"), record.pop("first_token")) == ({}, "") for record in with_none)
    assert with_none == [json.loads(line) for line in plain.read_text().splitlines()], "the same calls by their keys"


# Given pairs as readers see them: the figure, the first screen of the report, what a study of them takes.


MODEL = {"plugin": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1"}


def condition(vlm: str) -> PairCondition:
    return PairCondition(pair_set="set", vlm=vlm, pair_judge="judge")


def table(**of: list[PairVerdict]) -> list[PairRow]:
    """The rows of some targets; `near` is a test model of which phi should be .7."""
    data = PairData({condition(name): found for name, found in of.items()}, expected={"near": 0.7})
    return rows(list(data.verdicts), data)


NEAR = [verdict(f"{n}", n % 2, n % 2 if n < 36 else 1 - n % 2) for n in range(40)]
FAR = [verdict(f"{n}", n % 2, 1 - n % 2) for n in range(40)]
NEVER = [verdict(f"{n}", 0, n % 2) for n in range(40)]


def svg(figure: Figure) -> str:
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def test_the_figure_has_the_four_counts_phi_and_what_is_expected() -> None:
    text = svg(draw_pairs(table(near=NEAR, never=NEVER)))
    assert all(f">{count}<" in text for count in (18, 20))
    assert ">expected of the test model<" in text
    assert "no φ: one of the two never varies" in text
    assert "params.yaml names no condition" in svg(draw_pairs([]))


def test_the_figure_shows_f_auroc_at_the_length_of_the_explanations_by_the_number_of_the_line() -> None:
    short, long = ([one.model_copy(update={"words": many}) for one in NEAR] for many in (4, 40))
    figure = draw_pairs(table(near=short, far=long, never=NEVER))
    left, _, axes = figure.axes
    assert [label.get_text().split()[-1] for label in left.get_yticklabels()] == ["1", "2", "3"]
    points = {text.get_text(): text.xy for text in axes.texts if isinstance(text, Annotation)}
    assert points == {"1": (4, pytest.approx(0.9)), "2": (40, pytest.approx(0.9))}
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("mean words of both explanations", "F-AUROC")


def test_the_figure_says_where_no_phi_is_what_is_expected() -> None:
    of = {condition("never"): NEVER}
    data = PairData(of, expected={"never": "its answer never moves"})
    assert "no φ, as expected" in svg(draw_pairs(rows(list(of), data)))


def test_of_natural_pairs_alone_the_figure_says_why_it_is_empty() -> None:
    natural = [verdict(f"{n}", n % 2, n % 2, natural=True) for n in range(10)]
    assert "only answers are told" in svg(draw_pairs(table(far=natural)))


def test_the_finding_tells_targets_apart_by_the_whole_interval_of_phi() -> None:
    said = str(finding(table(near=NEAR, far=FAR, never=NEVER)))
    assert "more often than other changes: <b>near</b> (φ 0.80, " in said
    assert "That is not shown of <b>far</b> (φ −1.00, " in said
    assert "Nothing can be told of <b>never</b>: " in said
    natural = [verdict(f"{n}", n % 2, None, natural=True, correct_before=1, correct_after=n % 2) for n in range(10)]
    assert "<b>far</b> right about both images of 50 %" in str(finding(table(far=natural)))
    assert str(finding([])) == "No pair has an outcome."


def test_two_conversations_a_pair_and_six_rulings_are_counted() -> None:
    asked = {"plugin": "chat", "model": MODEL, "votes": 3}
    pairs: dict[str, Any] = {"pair_set": ["own"], "vlm": ["a", "b"], "pair_judge": ["chat", "panel"]}
    judges = {"chat": asked, "panel": {"plugin": "panel", "judges": [asked, {"plugin": "lexical"}]}}
    edct = {
        "pair_sets": {"own": {"plugin": "files", "path": "p.csv"}},
        "vlms": {"a": MODEL, "b": {**MODEL, "model": "n"}},
    }
    study = parse({"edct": {**edct, "pair_judges": judges, "pairs": [pairs], "again": 2}}).edct
    assert study is not None
    found = {(line.stage, line.plugin): line for line in pair_lines(study, {"own": 100}, "", "")}
    assert {key: line.typical.calls for key, line in found.items()} == {
        ("pair_baselines", "a"): 2 * (200 + 50),
        ("pair_baselines", "b"): 2 * (200 + 50),
        ("pair_verdicts", "chat"): 2 * 3 * (400 + 100 + 50),
        ("pair_verdicts", "panel"): 2 * 3 * (400 + 100 + 50),
    }
    again = 50 + 15  # of 100 pairs, one in two: 3 standard deviations more
    assert found["pair_baselines", "a"].most.calls == 2 * (200 + again)
    assert found["pair_verdicts", "chat"].most.calls == 2 * 2 * 3 * (400 + 100 + again)
