"""`cfeval edct training-set`: from a study's results to a folder that trainers load."""

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import PIL.Image
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from cfeval import cli
from cfeval.edct.records import Condition
from cfeval.edct.training_set.cli import Layout, dataset_info, families, held_out, is_plain, line
from cfeval.edct.training_set.examples import Example, Message, examples
from tests.conftest import Run
from tests.edct.training_set.items import PROMPTS, trial
from tests.edct.verification.study import CHAINED, IMAGES, ITEMS, NULL, PLAIN, Study, edited
from tests.edct.verification.tamper import Results
from tests.tiny.vlms import checkpoint

OTHER = PLAIN.model_copy(update={"vlm": "n"})


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("study") / "results"
    Study(results)
    return results


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "set"


def arguments(results: Path, out: Path, *options: object, conditions: tuple[Condition, ...] = (PLAIN,)) -> list[str]:
    named = json.dumps([condition.model_dump() for condition in conditions])
    given = ("edct", "training-set", "--results", results, "--conditions", named, "--out", out, *options)
    return [str(argument) for argument in given]


def made(
    results: Path, out: Path, *options: object, conditions: tuple[Condition, ...] = (PLAIN,)
) -> dict[str, list[Any]]:
    """The lines of a set that is made now, by file."""
    assert cli.run(arguments(results, out, *options, conditions=conditions)) == 0
    return {file.name: [json.loads(line) for line in _lines(file)] for file in sorted(out.glob("*.jsonl"))}


def _lines(file: Path) -> list[str]:
    return [line for line in file.read_text().split("\n") if line]


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_a_set_holds_the_examples_and_each_image_once_under_its_hash(study: Path, out: Path) -> None:
    lines = made(study, out, "--held-out", 0)
    assert (len(lines["train.jsonl"]), lines["held-out.jsonl"]) == (4, [])
    images = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in (out / "images").iterdir()}
    assert all(name == f"{digest}.png" for name, digest in images.items())
    wanted = {IMAGES["a"].sha256, edited(PLAIN, "a", 1).sha256, edited(PLAIN, "g", 1).sha256}
    assert set(images.values()) == wanted
    assert {f"images/{name}" for name in images} == {path for line in lines["train.jsonl"] for path in line["images"]}
    source = json.loads(lines["train.jsonl"][0]["provenance"])
    assert (len(source["calls"]), len(source["tests"][0]["calls"])) == (2, 2)


def test_the_same_results_give_the_same_bytes(study: Path, tmp_path: Path) -> None:
    for layout in ("trl", "llama-factory"):
        for name in ("one", "two"):
            made(study, tmp_path / layout / name, "--layout", layout, "--teach", "all", conditions=(PLAIN, CHAINED))
        one, two = (contents(tmp_path / layout / name) for name in ("one", "two"))
        assert one == two
        assert not any(str(tmp_path).encode() in content for content in one.values())


@pytest.mark.slow
def test_no_image_stands_on_both_sides_and_both_are_served(tmp_path: Path) -> None:
    Study(tmp_path / "results", calls=False)
    for seed in range(6):
        lines = made(
            tmp_path / "results",
            tmp_path / f"{seed}",
            "--teach",
            "all",
            "--held-out",
            0.5,
            "--seed",
            seed,
            conditions=(PLAIN, NULL),
        )
        sides = [{path for line in of for path in line["images"]} for of in lines.values()]
        originals = [{json.loads(line["provenance"])["original"] for line in of} for of in lines.values()]
        assert not sides[0] & sides[1]
        assert not originals[0] & originals[1]


def test_pairs_come_from_two_targets_that_saw_the_same_edit(tmp_path: Path, out: Path) -> None:
    Study(tmp_path / "results", (PLAIN, OTHER), calls=False)
    results = Results(tmp_path / "results")
    results.alter("requeries", "a", 1, OTHER, answer="It is red still.")
    results.alter("scores", "a", 1, OTHER, pcs=0, ccs=0)
    [pair] = made(results.folder, out, "--teach", "contrast", "--held-out", 0, conditions=(PLAIN, OTHER))["train.jsonl"]
    assert pair["chosen"] == [{"role": "assistant", "content": [{"type": "text", "text": "It is blue now."}]}]
    assert pair["rejected"][0]["content"][0]["text"] == "It is red still."
    assert pair["images"] == [f"images/{edited(PLAIN, 'a', 1).sha256}.png"]


def test_only_verified_edits_and_only_right_answers_are_taken_if_that_is_asked_for(study: Path, tmp_path: Path) -> None:
    results = Results(Path(shutil.copytree(study, tmp_path / "results")))
    results.alter("scores", "a", verified=0)
    everything = made(results.folder, tmp_path / "1", "--held-out", 0)
    verified = made(results.folder, tmp_path / "2", "--held-out", 0, "--verified")
    right = made(results.folder, tmp_path / "3", "--held-out", 0, "--correct")
    items = [
        {json.loads(line["provenance"])["item"] for line in lines["train.jsonl"]}
        for lines in (everything, verified, right)
    ]
    assert items == [{"a", "g"}, {"g"}, {"a"}]
    assert "whose edit a verifier found right." in (tmp_path / "2" / "README.md").read_text()
    assert "whose answer about the original is known to be right." in (tmp_path / "3" / "README.md").read_text()


def test_items_that_failed_are_in_no_set(study: Path, out: Path) -> None:
    lines = made(study, out, "--teach", "all", conditions=(PLAIN, CHAINED, NULL))
    items = {json.loads(line["provenance"])["item"] for of in lines.values() for line in of}
    assert items == {"a", "g"} < set(ITEMS)


def test_people_s_words_are_taken_from_a_table(study: Path, tmp_path: Path, out: Path) -> None:
    table = tmp_path / "mine.csv"
    table.write_text(f"id,image,answer,explanation\na,{edited(PLAIN, 'a', 1).sha256}.png,Blue.,The car is.\n")
    lines = made(study, out, "--teach", "written", "--answers", table, "--held-out", 0)
    [line] = lines["train.jsonl"]
    assert [message["content"][-1]["text"] for message in line["messages"]][1::2] == ["Blue.", "The car is."]


@pytest.mark.slow
def test_shards_make_no_difference(study: Path, tmp_path: Path) -> None:
    Study(tmp_path / "results", shards=3)
    whole = made(study, tmp_path / "whole", "--held-out", 0)
    assert made(tmp_path / "results", tmp_path / "cut", "--held-out", 0, "--shards", 3) == whole


def test_the_card_counts_what_is_there_and_names_where_it_comes_from(study: Path, out: Path) -> None:
    made(study, out, "--held-out", 0)
    card = (out / "README.md").read_text()
    assert "| `train.jsonl` | 4 | 2 | 2 | 1 |" in card
    assert "- `d/m/w/edct-2025/e/j`" in card
    assert "  - split: train\n    path: train.jsonl\ntags:" in card
    assert "## Limits" in card
    assert "From 2 scored items and edits." in card


def test_an_ordinary_reader_of_json_lines_reads_a_set(study: Path, out: Path) -> None:
    made(study, out, "--held-out", 0, "--teach", "all", conditions=(PLAIN, CHAINED))
    table = pd.read_json(out / "train.jsonl", lines=True)
    assert list(table.columns) == ["images", "messages", "provenance"]
    assert table["provenance"].map(json.loads).map(len).nunique() == 1


@pytest.mark.slow
def test_the_reader_of_the_card_loads_a_set(study: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    made(study, out, "--held-out", 0)
    monkeypatch.chdir(out)
    data = datasets.load_dataset(str(out), cache_dir=str(out / "cache"))
    data = data.cast_column("images", datasets.List(datasets.Image()))
    assert data["train"][0]["images"][0].size == (10, 12)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_nothing_that_is_there_is_replaced(study: Path, out: Path, cfeval: Run, kind: str) -> None:
    mine = out if kind == "file" else out / "thesis.tex"
    mine.parent.mkdir(parents=True, exist_ok=True)
    mine.write_text("years of work")
    status, _, err = cfeval(*arguments(study, out))
    assert (status, "remove it or choose another folder" in err) == (2, True)
    assert mine.read_text() == "years of work"


def test_where_an_image_is_another_one_nothing_is_written(study: Path, tmp_path: Path, cfeval: Run) -> None:
    results = Results(Path(shutil.copytree(study, tmp_path / "results")))
    results.place("counterfactuals", "a-1.png", 250)
    status, _, err = cfeval(*arguments(results.folder, tmp_path / "set"))
    assert (status, "SHA-256 differs" in err, len(err.splitlines())) == (2, True, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--teach", "contrast"), "hold no example to teach `contrast`"),
        (("--teach", "written"), "--answers and `--teach written` go together"),
        (("--answers", "mine.csv"), "mine.csv: no such file"),
    ],
)
def test_what_cannot_be_made_is_one_line(
    study: Path, out: Path, cfeval: Run, options: tuple[str, ...], words: str
) -> None:
    status, _, err = cfeval(*arguments(study, out, *options))
    assert (status, words in err, len(err.splitlines())) == (2, True, 1)
    assert not out.exists()


# The lines are what trainers read: TRL's and LLaMA-Factory's, and the chat template of a vision-language model.


CONVERSATION = examples("consistent", [trial()], PROMPTS, ())[1]
ANSWERS, REASONS = (
    examples("contrast", [trial(), other], PROMPTS, ())[0]
    for other in (trial((0, 0), "Red."), trial((1, 0), explanation="It is a red car."))
)
ALL = {"conversation": CONVERSATION, "answers": ANSWERS, "explanations": REASONS}


def read(example: Example, layout: Layout) -> dict[str, Any]:
    content: dict[str, Any] = json.loads(line(example, layout))
    return content


def messages(content: dict[str, Any], reply: str = "chosen") -> list[Any]:
    """The whole conversation of a line in TRL's layout."""
    return list(content["messages"] if "messages" in content else [*content["prompt"], *content[reply]])


@pytest.mark.parametrize("example", ALL.values(), ids=ALL)
def test_trl_finds_a_placeholder_for_each_image_and_parts_everywhere(example: Example) -> None:
    content = read(example, "trl")
    assert content["images"] == [f"images/{example.image}.png"]
    for reply in ("chosen", "rejected"):
        said = messages(content, reply)
        assert [message["role"] for message in said] == (["user", "assistant"] * 2)[: len(said)]
        assert [[part["type"] for part in message["content"]] for message in said] == [
            ["image", "text"],
            *[["text"]] * (len(said) - 1),
        ]
    known = {"images", "provenance", "messages"}
    assert set(content) == (
        known if example is CONVERSATION else known - {"messages"} | {"prompt", "chosen", "rejected"}
    )


@pytest.mark.parametrize("example", ALL.values(), ids=ALL)
def test_llama_factory_finds_a_mark_for_each_image_and_turns_in_step(example: Example) -> None:
    content = read(example, "llama-factory")
    info = json.loads(dataset_info(example is not CONVERSATION, ["train.jsonl"]))["edct_train"]
    turns = content[info["columns"]["messages"]]
    whole = "".join(turn[info["tags"]["content_tag"]] for turn in turns)
    assert whole.count("<image>") == len(content[info["columns"]["images"]]) == 1
    roles = [turn[info["tags"]["role_tag"]] for turn in turns]
    assert roles == ([info["tags"]["user_tag"], info["tags"]["assistant_tag"]] * 2)[: len(turns)]
    assert len(turns) % 2 == (1 if info["ranking"] else 0)
    if info["ranking"]:
        replies = [content[info["columns"][name]] for name in ("chosen", "rejected")]
        assert [reply["role"] for reply in replies] == ["assistant"] * 2
        assert replies[0]["content"] != replies[1]["content"]


@pytest.mark.slow
@pytest.mark.parametrize("filled", [False, True], ids=["as it is", "columns filled with None"])
@pytest.mark.parametrize("example", ALL.values(), ids=ALL)
def test_the_chat_template_of_a_model_takes_the_messages(example: Example, filled: bool) -> None:
    from transformers import AutoProcessor

    said = messages(read(example, "trl"))
    for part in (part for message in said for part in message["content"]):
        if filled:  # as a table of columns gives them back
            part.setdefault("text", None)
        if part["type"] == "image":
            part["image"] = PIL.Image.new("RGB", (64, 64))
    processor = AutoProcessor.from_pretrained(checkpoint("qwen2_5_vl"))
    fed = processor.apply_chat_template(said, tokenize=True, return_dict=True, return_tensors="pt")
    text = processor.apply_chat_template(said, tokenize=False)
    assert fed["image_grid_thw"].shape == (1, 3)
    assert all(part["text"] in text for message in said for part in message["content"] if part["type"] == "text")


def test_provenance_is_one_text_that_holds_all_that_is_known() -> None:
    for example in ALL.values():
        for layout in ("trl", "llama-factory"):
            source = read(example, layout)["provenance"]
            assert isinstance(source, str)
            assert json.loads(source) == example.provenance.model_dump(mode="json")


@pytest.mark.parametrize("tag", ["<image>", "<video>", "<audio>"])
def test_a_text_with_a_mark_for_an_image_is_not_plain(tag: str) -> None:
    assert all(is_plain(example) for example in ALL.values())
    for other in (trial(answer=f"See {tag}."), trial(said_before=tag), trial(explanation=tag)):
        assert not all(is_plain(one) for one in examples("all", [other], PROMPTS, ()))
    [pair] = examples("contrast", [trial(), trial((0, 0), f"Red {tag}.")], PROMPTS, ())
    assert not is_plain(pair)


def test_text_of_any_script_stays_as_it_is() -> None:
    said = 'Zwei\n"rote" \u2028 車 \\ {x}'
    [_, edited] = examples("all", [trial(answer=said)], PROMPTS, ())
    [written] = [line(edited, "trl")]
    assert written.count("\n") == 1
    assert messages(json.loads(written))[1]["content"] == [{"type": "text", "text": said}]
    assert Message("assistant", said) in edited.turns


# No image stands on both sides, and what is held out depends on itself alone.


PAIRS = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), min_size=1, max_size=20)


@given(PAIRS)
def test_images_that_hang_together_are_one_family(pairs: list[tuple[int, int]]) -> None:
    found = families((f"{one:02}", f"{other:02}") for one, other in pairs)
    rows, columns = zip(*pairs, strict=True)
    _, labels = connected_components(coo_array((np.ones(len(pairs)), (rows, columns)), shape=(16, 16)), directed=False)
    for one in found:
        assert found[one] == min(other for other in found if labels[int(other)] == labels[int(one)])


@given(PAIRS)
def test_the_order_of_the_examples_does_not_matter(pairs: list[tuple[int, int]]) -> None:
    forth = families((str(one), str(other)) for one, other in pairs)
    assert forth == families((str(other), str(one)) for one, other in reversed(pairs))


def test_about_the_share_that_was_asked_for_is_held_out() -> None:
    names = [f"{number:064x}" for number in range(4000)]
    for share in (0, 0.1, 0.5):
        found = sum(held_out(name, share, 3) for name in names) / len(names)
        assert abs(found - share) <= 4 * (share * (1 - share) / len(names)) ** 0.5
    assert [held_out(name, 0.5, 1) for name in names] != [held_out(name, 0.5, 2) for name in names]
    assert all(held_out(name, 0.5, 1) for name in names if held_out(name, 0.1, 1))
