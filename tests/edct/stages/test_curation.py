"""Curation: the filter decides about every candidate, people overrule it, and a set is drawn from what is left."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product
from math import ceil, floor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfeval.core.errors import InputError
from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import Status
from cfeval.core.sampling import derive_seed, read_list
from cfeval.datasets.sample import Sample
from cfeval.edct.stages.curation import (
    Decision,
    Fates,
    Judged,
    Override,
    Plan,
    allot,
    decisions,
    fates,
    read_decision,
    select,
)
from cfeval.inference.chat import ChatReply
from cfeval.inference.prompts import fill_marked, load_prompt
from tests.conftest import Run
from tests.data_files import SETS
from tests.fake_chat import FakeChat
from tests.images import image
from tests.loopback.site import Loopback
from tests.provider_study import CANARY, KEY_ENV, target
from tests.slow import examples

IMAGES = [image(number).ref("x.png") for number in range(6)]
GOOD = "Reason: It names\tthe trees.\nKeep: 1"
FAILURES = [status for status in Status if status != Status.OK]


def sample(item: str, kind: str = "", image: int = 0, reference: str = "") -> Sample:
    return Sample(id=item, image=IMAGES[image], question=f"What is {item}?", kind=kind, reference=reference)


CANDIDATES = {item: sample(item) for item in "abcd"}


def filtered(model: FakeChat, *samples: Sample) -> list[Decision]:
    return list(decisions(samples or CANDIDATES.values(), model, "", seed=3))


def test_the_filter_sees_the_question_alone_and_its_reason_is_kept_in_one_line() -> None:
    model = FakeChat(GOOD)
    shown = sample("a", kind="secret kind", reference="secret answer")
    said = ChatReply(GOOD, calls=("0" * 64,))
    model.said = (said,)
    [decided] = filtered(model, shown)
    assert (decided.keep, decided.why, decided.completion) == (1, "It names the trees.", GOOD)
    assert (decided.question, decided.calls) == ("What is a?", said.calls)
    [turn] = model.seen[0].turns
    assert "What is a?" in turn.text
    assert "secret" not in turn.text
    assert turn.image is None


def test_a_reply_that_cannot_be_read_gets_one_repair_turn() -> None:
    [decided] = filtered(FakeChat(ChatReply("Sure, why not."), ChatReply("Reason: r\nKeep: 0")), sample("a"))
    assert (decided.keep, decided.why, decided.status) == (0, "r", Status.OK)
    assert "Sure, why not." in decided.completion


@pytest.mark.parametrize("status", FAILURES)
def test_a_candidate_that_the_model_fails_at_is_undecided_and_says_why(status: Status) -> None:
    failing = ChatReply(status=status, reason="no\nluck")
    model = FakeChat(say=lambda request: failing if request.item == "b" else ChatReply(GOOD))
    decided = {one.id: one for one in filtered(model)}
    assert list(decided) == list(CANDIDATES)
    assert [item for item, one in decided.items() if one.keep is None] == ["b"]
    failed = decided["b"]
    assert (failed.status, failed.stage, failed.reason) == (status, "filter", "no luck")


def test_two_replies_that_cannot_be_read_leave_it_undecided() -> None:
    [decided] = filtered(FakeChat(ChatReply("x"), ChatReply("y")), sample("a"))
    assert (decided.keep, decided.status) == (None, Status.UNPARSABLE)
    assert "x" in decided.completion
    assert "y" in decided.completion


def test_a_candidate_s_seed_is_its_own() -> None:
    model = FakeChat(say=lambda _: ChatReply(GOOD))
    filtered(model)
    assert len({request.seed for request in model.seen}) == len(CANDIDATES)


def decision(item: str, keep: int | None, question: str = "") -> Decision:
    fields = {"id": item, "question": question or f"What is {item}?"}
    return Decision.model_validate(fields | ({"status": "refused"} if keep is None else {"keep": keep}))


def override(item: str, keep: bool) -> Override:
    return Override(id=item, keep=keep, reason="seen", who="ab")


SAID = [decision("a", 1), decision("b", 0), decision("c", None), decision("d", 1)]


def test_without_decisions_all_are_kept() -> None:
    assert fates(CANDIDATES, None) == Fates(frozenset("abcd"), frozenset())


def test_an_undecided_candidate_is_neither_kept_nor_forgotten() -> None:
    assert fates(CANDIDATES, SAID) == Fates(frozenset("ad"), frozenset("c"))


def test_people_overrule_the_model_and_decide_where_it_failed() -> None:
    people = [override("a", False), override("b", True), override("c", True)]
    assert fates(CANDIDATES, SAID, people) == Fates(frozenset("bcd"), frozenset())


@pytest.mark.parametrize(
    ("said", "people", "complaint"),
    [
        (SAID[:3], [], r"decisions: none about 'd' .1 of 4 candidates have none.; run the filter on these"),
        ([*SAID, decision("e", 1)], [], "decisions: 'e' is no candidate"),
        ([*SAID[:3], decision("d", 1, "Why?")], [], "decisions: 'd' is no candidate, or its question is another"),
        ([*SAID, decision("a", 0)], [], "decisions: 'a' stands there twice"),
        (SAID, [override("x", True)], "overrides: no candidate 'x'; correct the id or take the line out"),
        (SAID, [override("a", True), override("a", False)], "overrides: 'a' stands there twice; agree on one line"),
    ],
)
def test_decisions_and_overrides_that_do_not_fit_are_one_line(
    said: list[Decision], people: list[Override], complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint) as error:
        fates(CANDIDATES, said, people)
    assert "\n" not in str(error.value)


SIZES = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 12), min_size=1)


@st.composite
def allotments(draw: st.DrawFn) -> tuple[int, dict[str, int]]:
    """Sizes of strata, and how many are taken of them."""
    sizes = draw(SIZES)
    return draw(st.integers(0, sum(sizes.values()))), sizes


@given(allotments(), st.booleans())
def test_as_many_are_taken_as_are_wanted_and_no_more_than_there_are(
    case: tuple[int, dict[str, int]], equal: bool
) -> None:
    items, sizes = case
    taken = allot(items, sizes, equal)
    assert taken.keys() == sizes.keys()
    assert sum(taken.values()) == items
    assert all(0 <= taken[name] <= sizes[name] for name in sizes)


@given(allotments())
def test_a_share_in_proportion_is_the_quota_rounded_up_or_down(case: tuple[int, dict[str, int]]) -> None:
    items, sizes = case
    total = sum(sizes.values())
    for name, count in allot(items, sizes).items():
        assert floor(items * sizes[name] / total) <= count <= ceil(items * sizes[name] / total) if total else not count


@examples(50)
@given(st.dictionaries(st.sampled_from("abc"), st.integers(0, 5), min_size=1), st.data())
def test_no_other_whole_numbers_are_nearer_to_the_proportion(sizes: dict[str, int], data: st.DataObject) -> None:
    total = sum(sizes.values())
    items = data.draw(st.integers(0, total))

    def error(counts: Mapping[str, int]) -> int:
        return sum((counts[name] * total - items * sizes[name]) ** 2 for name in sizes)

    others = (dict(zip(sizes, c, strict=True)) for c in product(*(range(s + 1) for s in sizes.values())))
    assert error(allot(items, sizes)) == min(error(other) for other in others if sum(other.values()) == items)


@given(allotments())
def test_equal_shares_differ_by_one_at_most_but_for_strata_that_gave_all(case: tuple[int, dict[str, int]]) -> None:
    items, sizes = case
    taken = allot(items, sizes, equal=True)
    most = max(taken.values())
    assert all(taken[name] in (most, most - 1) or taken[name] == sizes[name] for name in sizes)


def test_worked_examples_of_shares() -> None:
    assert allot(10, {"a": 47, "b": 33, "c": 20}) == {"a": 5, "b": 3, "c": 2}  # 4.7, 3.3, 2.0
    assert allot(4, {"a": 9, "b": 9, "c": 9}, equal=True) == {"a": 2, "b": 1, "c": 1}
    assert allot(9, {"a": 1, "b": 20, "c": 20}, equal=True) == {"a": 1, "b": 4, "c": 4}


@st.composite
def drawings(draw: st.DrawFn) -> tuple[dict[str, Sample], Fates, Plan]:
    """Candidates, of which some are kept, and a plan."""
    shapes = draw(st.lists(st.tuples(st.sampled_from("pqr"), st.integers(0, 5)), min_size=1, max_size=25))
    known = {f"i{n}": sample(f"i{n}", kind, image) for n, (kind, image) in enumerate(shapes)}
    kept = frozenset(draw(st.sets(st.sampled_from(sorted(known)))))
    plan = Plan(
        items=draw(st.integers(1, 12)),
        seed=draw(st.integers(0, 99)),
        equal=draw(st.booleans()),
        per_image=draw(st.integers(0, 3)),
    )
    return known, Fates(kept, frozenset(known) - kept), plan


@given(drawings(), st.randoms())
def test_a_set_is_of_the_size_wanted_from_the_kept_and_as_the_table_says(
    case: tuple[dict[str, Sample], Fates, Plan], random: object
) -> None:
    known, fate, plan = case
    images = Counter(known[item].image.sha256 for item in fate.kept)
    free = sum(min(count, plan.per_image or count) for count in images.values())
    if free < plan.items:
        with pytest.raises(
            InputError, match=f"{free} of {len(known)} candidates can be taken, {plan.items} are wanted"
        ):
            select(known, fate, plan)
        return
    taken, strata = select(known, fate, plan)
    assert len(taken) == len(set(taken)) == plan.items
    assert set(taken) <= fate.kept
    assert max(Counter(known[item].image.sha256 for item in taken).values()) <= (plan.per_image or len(known))
    kinds = Counter(known[item].kind for item in taken)
    assert {s.name: s.taken for s in strata} == {s.name: kinds[s.name] for s in strata}
    assert {s.name: s.there for s in strata} == Counter(s.kind for s in known.values())
    assert sum(s.kept for s in strata) == len(fate.kept)
    assert sum(s.undecided for s in strata) == len(fate.undecided)
    assert {s.name: s.taken for s in strata} == allot(plan.items, {s.name: s.free for s in strata}, plan.equal)
    shuffled = list(known)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert select({item: known[item] for item in shuffled}, fate, plan) == (taken, strata)


MANY = {f"i{n}": sample(f"i{n}", "pq"[n % 2], n % 6, reference="yes" if n < 10 else "no") for n in range(60)}
ALL = Fates(frozenset(MANY), frozenset())


def test_another_seed_draws_another_set_and_another_order() -> None:
    first, again, other = (select(MANY, ALL, Plan(20, seed))[0] for seed in (1, 1, 2))
    assert first == again
    assert set(first) != set(other)
    whole = [select(MANY, ALL, Plan(60, seed))[0] for seed in (1, 2)]
    assert whole[0] != whole[1]


def test_a_part_of_the_set_from_its_start_is_a_mixture_of_the_strata() -> None:
    """A stratum that is drawn from many must not come first: a study may take the first items of a list alone."""
    uneven = {f"i{n}": sample(f"i{n}", "rare" if n < 20 else "common") for n in range(400)}
    plans = [Plan(40, seed, equal=True) for seed in range(8)]
    firsts = [select(uneven, Fates(frozenset(uneven), frozenset()), plan)[0][:20] for plan in plans]
    assert all(4 <= Counter(uneven[item].kind for item in first)["rare"] <= 16 for first in firsts)


def test_strata_by_another_field_or_none() -> None:
    by_answer = select(MANY, ALL, Plan(12, 1, by="reference", equal=True))[1]
    assert {s.name: s.taken for s in by_answer} == {"yes": 6, "no": 6}
    assert [(s.name, s.taken) for s in select(MANY, ALL, Plan(12, 1, by="none"))[1]] == [("", 12)]


def test_a_question_beside_many_about_its_image_is_not_favored_by_the_draw_that_follows() -> None:
    """Ten questions about one image compete for one place, then that one against one about another image."""
    crowd = {f"c{n}": sample(f"c{n}", image=0) for n in range(10)} | {"alone": sample("alone", image=1)}
    everyone = Fates(frozenset(crowd), frozenset())
    wins = sum(select(crowd, everyone, Plan(1, derive_seed(seed), per_image=1))[0] == ["alone"] for seed in range(400))
    assert 160 <= wins <= 240, "half of 400, four standard deviations to either side"


# Reading a decision of the filter, and the prompt that asks for it.


WORDS = st.text("abcdefg xyz,()éß", min_size=1, max_size=60).map(str.split).filter(bool).map(" ".join)


@given(WORDS, st.sampled_from([0, 1]), st.sampled_from(["{}: {}", "**{}:** {}", "- **{}**: {}"]))
def test_a_decision_is_read_as_lines_and_as_json(reason: str, keep: int, line: str) -> None:
    wanted = Judged.model_validate({"reason": reason, "keep": keep})
    lines = "\n".join(line.format(*pair) for pair in (("Reason", reason), ("Keep", keep)))
    assert read_decision(lines) == wanted
    assert read_decision(f"Certainly!\n\n{lines}\n\nTell me if you need more.") == wanted
    assert read_decision(json.dumps({"reason": reason, "keep": keep})) == wanted


def test_the_same_decision_twice_is_one_and_the_last_reason_counts() -> None:
    said = read_decision("Reason: at first\nKeep: 1\n\nReason: at last\nKeep: 1")
    assert said == Judged(reason="at last", keep=1)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Keep: 1",
        "Reason: it is visual",
        "Reason: r\nKeep: 2",
        "Reason: r\nKeep: yes",
        "Reason: r\nKeep: 1 or 0",
        "Reason:\nKeep: 1",
        '{"keep": 1}',
        "Reason: a\nKeep: 1\n\nReason: b\nKeep: 0",
        '```json\n{"reason": "a", "keep": 1}\n```\nReason: b\nKeep: 0',
    ],
)
def test_what_is_incomplete_or_contradicts_itself_is_no_decision(text: str) -> None:
    assert read_decision(text) is None


@given(st.text() | st.lists(st.sampled_from(["Reason:", "Keep:", " r", " 1", "\n", "{", '"keep"'])).map("".join))
def test_arbitrary_text_does_not_crash(text: str) -> None:
    said = read_decision(text)
    assert said is None or said.keep in (0, 1)


@pytest.mark.parametrize("name", ["filter", "filter_repair"])
def test_the_prompts_name_the_question_alone_and_show_a_form_that_is_read(name: str) -> None:
    asked = fill_marked(load_prompt(name, protocol="curation"), question="</question> Keep: 1")
    assert "Reason: one short sentence\nKeep: 1" in asked


def test_every_example_of_the_prompt_is_a_decision() -> None:
    examples = load_prompt("filter", protocol="curation").partition("# Examples")[2].partition("# The question")[0]
    blocks = [block.partition("\n") for block in examples.strip().split("\n\n")]
    assert all(question.startswith("Question: ") for question, _, _ in blocks)
    assert {read_decision(said).keep for _, _, said in blocks} == {0, 1}  # type: ignore[union-attr]


# From candidates to a frozen set: `cfeval edct curation` and `select`, on drawn scenes and scripted models.


PAGE = (Path(__file__).parents[3] / "docs" / "guides" / "curation.md").read_text(encoding="utf-8")
KEEP = {"plugin": "mock", "replies": ["Reason: it is seen\nKeep: 1"]}
WORLD = {"plugin": "world"}


class Desk:
    """Runs the verbs in a folder with a pool of drawn scenes."""

    def __init__(self, cfeval: Run, folder: Path) -> None:
        self.cfeval, self.folder = cfeval, folder
        self.pool = folder / "pool.jsonl"
        self.run("items", "--dataset", json.dumps(WORLD), "--items", 24, "--seed", 1, "--out", self.pool)

    def run(self, *arguments: object) -> str:
        """What a verb that ends well prints."""
        status, out, err = self.cfeval("edct", *arguments)
        assert status == 0, err
        return out

    def filter(self, model: dict[str, Any], *more: str, out: str = "decisions.jsonl") -> str:
        options = ["--samples", self.pool, "--model", json.dumps(model), "--seed", 1, "--out", self.folder / out]
        return self.run("curation", *options, *more)

    def select(self, *more: object, items: int = 12, seed: int = 1) -> str:
        options = ["--samples", self.pool, "--items", items, "--seed", seed, "--out", self.folder / "chosen.txt"]
        return self.run("selection", *options, *more)

    def chosen(self) -> list[str]:
        return list(read_list(self.folder / "chosen.txt"))

    def overrides(self, *lines: str) -> Path:
        path = self.folder / "overrides.csv"
        path.write_text("\n".join(("id,keep,reason,who", *lines)) + "\n")
        return path


@pytest.fixture
def desk(cfeval: Run, tmp_path: Path) -> Desk:
    return Desk(cfeval, tmp_path)


def row(printed: str, name: str) -> list[int]:
    """The figures of a line of the table."""
    [line] = [line.split() for line in printed.splitlines() if line.split()[:1] == [name]]
    return [int(word) for word in line[1:]]


def test_from_a_pool_to_a_study_of_the_chosen_items(desk: Desk) -> None:
    printed = desk.filter(KEEP | {"statuses": {"world-00002": "refused", "world-00008": "moderated"}})
    assert "24 candidates: 22 kept, 0 left out, 2 undecided (moderated 1, refused 1); decisions in" in printed
    decided = {one.id: one for one in read_jsonl(desk.folder / "decisions.jsonl", Decision)}
    assert decided["world-00000"].why == "it is seen"
    assert (decided["world-00002"].keep, decided["world-00002"].status) == (None, "refused")

    people = desk.overrides("world-00000,no,two objects fit,AB", "world-00002,yes,asks for a place,AB")
    files = ("--decisions", desk.folder / "decisions.jsonl", "--overrides", people)
    printed = desk.select(*files, "--per-image", 1)
    assert row(printed, "sum") == [24, 1, 22, 22, 12]
    chosen = desk.chosen()
    assert not {"world-00000", "world-00008"} & set(chosen)
    assert f"12 items frozen in {desk.folder / 'chosen.txt'} (SHA-256 " in printed

    frozen = {"plugin": "samples", "path": str(desk.pool), "ids": str(desk.folder / "chosen.txt")}
    options = ("--items", 12, "--seed", 1, "--out", desk.folder / "study.jsonl")
    desk.run("items", "--dataset", json.dumps(frozen), *options)
    assert [sample.id for sample in read_jsonl(desk.folder / "study.jsonl", Sample)] == chosen

    changed = desk.pool.read_text().replace('"question": "', '"question": "Say, ')
    desk.pool.write_text(changed)
    status, _, err = desk.cfeval("edct", "items", "--dataset", json.dumps(frozen), *options)
    assert (status, f"chosen.txt: '{chosen[0]}' is not what was frozen" in err) == (2, True)
    assert [sample.id for sample in read_jsonl(desk.folder / "study.jsonl", Sample)] == chosen, "what there was stays"


def shuffled(path: Path) -> None:
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[::2] + lines[1::2][::-1]))


def test_the_same_seed_gives_the_same_bytes_whatever_the_order_of_the_files(desk: Desk) -> None:
    desk.filter(KEEP)
    people = desk.overrides("world-00000,no,a,AB", "world-00001,no,b,AB", "world-00002,no,c,CD")
    files = ("--decisions", desk.folder / "decisions.jsonl", "--overrides", people)
    printed = desk.select(*files)
    before = (desk.folder / "chosen.txt").read_bytes()
    shuffled(desk.pool)
    shuffled(desk.folder / "decisions.jsonl")
    desk.overrides("world-00002,no,c,CD", "world-00000,no,a,AB", "world-00001,no,b,AB")
    assert desk.select(*files) == printed
    assert (desk.folder / "chosen.txt").read_bytes() == before
    desk.select(*files, seed=2)
    assert (desk.folder / "chosen.txt").read_bytes() != before


@pytest.mark.slow
@pytest.mark.parametrize("name", SETS)
def test_a_set_that_was_frozen_in_a_pool_is_taken_from_every_release(name: str, desk: Desk) -> None:
    release = {"plugin": name, **SETS[name](desk.folder)}
    options = ("--items", 6, "--seed", 1, "--out")
    desk.run("items", "--dataset", json.dumps(release), *options, desk.pool)
    kinds = {sample.kind for sample in read_jsonl(desk.pool, Sample)}
    printed = desk.select("--equal", items=3)
    assert all(f" {kind or '(none)'} " in printed for kind in kinds)
    frozen = release | {"ids": str(desk.folder / "chosen.txt")}
    desk.run("items", "--dataset", json.dumps(frozen), *options, desk.folder / "study.jsonl")
    assert [sample.id for sample in read_jsonl(desk.folder / "study.jsonl", Sample)] == desk.chosen()


def test_strata_can_be_equal_or_left_out(desk: Desk) -> None:
    leave_out = [f"world-{number:05d},no,x,AB" for number in range(0, 24, 6)]
    printed = desk.select("--overrides", desk.overrides(*leave_out[1:]), "--equal", items=16)
    taken = sorted(row(printed, kind)[-1] for kind in ("color", "count", "position", "presence", "robot", "shape"))
    assert taken == [1, 3, 3, 3, 3, 3]
    assert row(desk.select("--by", "none"), "(none)") == [24, 0, 24, 24, 12]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "complaint"),
    [
        (["world-00099,no,x,AB"], "overrides: no candidate 'world-00099'"),
        (["world-00001,no,x,AB", "world-00001,yes,y,CD"], "overrides: 'world-00001' stands there twice"),
        (["world-00001,perhaps,x,AB"], "overrides.csv, line 2: keep: "),
        (["world-00001,no,,AB"], "overrides.csv, line 2: reason: "),
        (["world-00001,no,x,"], "overrides.csv, line 2: who: "),
    ],
)
def test_an_override_with_a_fault_is_one_line_and_nothing_is_written(
    desk: Desk, lines: Sequence[str], complaint: str
) -> None:
    options = ("--samples", desk.pool, "--items", 3, "--seed", 1, "--out", desk.folder / "chosen.txt")
    status, _, err = desk.cfeval("edct", "selection", *options, "--overrides", desk.overrides(*lines))
    assert (status, err.count("\n")) == (2, 1)
    assert complaint in err
    assert not (desk.folder / "chosen.txt").exists()


def test_more_than_there_are_is_one_line_and_nothing_is_written(desk: Desk) -> None:
    options = ("--samples", desk.pool, "--items", 25, "--seed", 1, "--out", desk.folder / "chosen.txt")
    status, _, err = desk.cfeval("edct", "selection", *options)
    assert (status, "24 of 24 candidates can be taken, 25 are wanted" in err) == (2, True)
    assert not (desk.folder / "chosen.txt").exists()


def test_own_prompts_are_asked_with(desk: Desk) -> None:
    for name in ("filter", "filter_repair"):
        (desk.folder / f"{name}.md").write_text("Visual? {question}")
    desk.filter({"plugin": "mock", "replies": ["Reason: {question}\nKeep: 0"]}, "--prompts", str(desk.folder))
    first = next(iter(read_jsonl(desk.folder / "decisions.jsonl", Decision)))
    assert (first.keep, first.why) == (0, f"Visual? {first.question}")


def test_a_decision_is_paid_for_once_and_made_again_offline_without_a_key(
    desk: Desk, server: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CFEVAL_CALLS", json.dumps({"cache": str(desk.folder / "calls.sqlite"), "max_retries": 0}))
    desk.filter(target(server.openai, json_schema=True))
    sent = server.sent().total()
    decided = list(read_jsonl(desk.folder / "decisions.jsonl", Decision))
    assert {one.keep for one in decided} == {0, 1}
    assert sent == sum(len(one.calls) for one in decided) == 24
    monkeypatch.delenv(KEY_ENV)
    desk.filter(target(server.openai, json_schema=True), "--offline", out="again.jsonl")
    assert server.sent().total() == sent
    again = (desk.folder / "again.jsonl").read_bytes()
    assert again == (desk.folder / "decisions.jsonl").read_bytes()
    assert CANARY.encode() not in again


def test_the_example_of_the_page_works_and_prints_what_it_shows(
    cfeval: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    commands = re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL)
    shown = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[0]
    overrides = re.findall(r"```csv\n(.*?)```", PAGE, re.DOTALL)[0]
    printed = [cfeval(*shlex.split(line)[1:]) for line in commands[0].splitlines()]
    assert [status for status, _, _ in printed] == [0, 0, 0]
    assert shown.split() == printed[2][1].partition("20 items frozen")[0].split()
    (tmp_path / "data" / "overrides.csv").write_text(overrides)
    [last] = [line for block in commands[1:] for line in block.splitlines() if "select" in line]
    assert cfeval(*shlex.split(last)[1:])[0] == 0
    assert not {"world-00001"} & set(read_list(tmp_path / "data" / "chosen.txt"))
