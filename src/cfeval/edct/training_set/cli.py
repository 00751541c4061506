"""The verb that makes a training set: lines, images, and a card that says what is in it and what it is not.

Layouts, as trainers read them:

trl            TRL and all that follow it: a message's content is a list of parts `image` and `text`, the images stand
               in the column `images`; pairs have `prompt`, `chosen` and `rejected`.
llama-factory  LLaMA-Factory's `sharegpt` with OpenAI's names: a message's content is a text in which `<image>` stands
               for the image; pairs have `messages`, and one message each in `chosen` and `rejected`.

Of the examples that are held out, all that share an image, whole or edited, stand on one side.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cfeval.core.cli_options import PromptFolder
from cfeval.core.errors import InputError, OutputError
from cfeval.core.files import ensure_writable, fresh_folder
from cfeval.core.images import Image, load
from cfeval.core.jsonl import read_csv
from cfeval.core.record import MOST_SHARDS
from cfeval.core.records import Status
from cfeval.edct.files import ConditionFiles, condition_path, conversation_prompts
from cfeval.edct.options import Conditions, conditions_of
from cfeval.edct.records import Condition
from cfeval.edct.stages.baselines import Prompts
from cfeval.edct.training_set.examples import Example, Message, Teach, Trial, Written, examples

Layout = Literal["trl", "llama-factory"]
# What trainers take for an image or a sound wherever it stands in a text.
TAGS = ("<image>", "<video>", "<audio>")
TRAIN, HELD_OUT = "train.jsonl", "held-out.jsonl"


def is_plain(example: Example) -> bool:
    """Whether no text of an example holds what trainers take for an image."""
    turns = [*example.turns, *(turn for turn in (example.chosen, example.rejected) if turn)]
    return not any(tag in turn.text for tag in TAGS for turn in turns)


def image_path(image: str) -> str:
    """Where an image lies in the set, by its hash."""
    return f"images/{image}.png"


def line(example: Example, layout: Layout) -> str:
    """An example as a JSON line; `provenance` is JSON in a text, so that the column has one type whatever is in it."""
    first, *later = example.turns
    content: dict[str, Any] = {
        "images": [image_path(example.image)],
        "messages": [_message(first, layout, shows=True), *(_message(turn, layout) for turn in later)],
        "provenance": _json(example.provenance.model_dump(mode="json")),
    }
    if example.chosen and example.rejected:
        chosen, rejected = _message(example.chosen, layout), _message(example.rejected, layout)
        if layout == "trl":
            content |= {"prompt": content.pop("messages"), "chosen": [chosen], "rejected": [rejected]}
        else:
            content |= {"chosen": chosen, "rejected": rejected}
    return _json(content) + "\n"


def _message(turn: Message, layout: Layout, shows: bool = False) -> dict[str, Any]:
    if layout == "llama-factory":
        return {"role": turn.role, "content": f"{TAGS[0]}{turn.text}" if shows else turn.text}
    image = [{"type": "image"}] if shows else []
    return {"role": turn.role, "content": [*image, {"type": "text", "text": turn.text}]}


def dataset_info(pairs: bool, files: Sequence[str]) -> str:
    """What LLaMA-Factory reads to find the files: `dataset_info.json`."""
    columns = {"messages": "messages", "images": "images"}
    columns |= {"chosen": "chosen", "rejected": "rejected"} if pairs else {}
    tags = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant"}
    entries = {
        entry_name(file): {
            "file_name": file,
            "formatting": "sharegpt",
            "ranking": pairs,
            "columns": columns,
            "tags": tags,
        }
        for file in files
    }
    return json.dumps(entries, indent=2) + "\n"


def entry_name(file: str) -> str:
    """The name of a file's dataset in `dataset_info.json`."""
    return f"edct_{file.removesuffix('.jsonl').replace('-', '_')}"


def _json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, sort_keys=True)


def families(images: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The family of each image, named by the least hash in it.

    Args:
        images: pairs of hashes that belong together: an image and what was made of it.
    """
    parent: dict[str, str] = {}

    def root(image: str) -> str:
        while parent.setdefault(image, image) != image:
            image = parent[image]
        return image

    for name, other in images:
        least, most = sorted((root(name), root(other)))
        parent[most] = least
    return {image: root(image) for image in parent}


def held_out(family: str, share: float, seed: int) -> bool:
    """Whether a family is held out: a hash of its name, so that a family more moves no other."""
    digest = hashlib.sha256(f"{seed}\x1f{family}".encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


SPLITS = {TRAIN: "train", HELD_OUT: "test"}
# How to open images, by their hashes.
Images = dict[str, Callable[[], Image]]


@dataclass(frozen=True)
class Made:
    """How a set was made.

    `scored` counts the items and edits that passed the filters, `left_out` the examples of which a text holds what
    trainers take for an image.
    """

    teach: Teach
    layout: Layout
    conditions: Sequence[Condition]
    verified: bool
    correct: bool
    share: float
    seed: int
    scored: int
    left_out: int


def run(
    results: Annotated[Path, typer.Option(help="Folder of the study's results, such as results/edct.")],
    conditions: Conditions,
    out: Annotated[Path, typer.Option(help="Folder to make; it appears whole or not at all.")],
    teach: Annotated[Teach, typer.Option(help="What the examples are to teach; see above.")] = "consistent",
    layout: Annotated[Layout, typer.Option(help="The layout of the lines: whose trainers read them.")] = "trl",
    verified: Annotated[bool, typer.Option("--verified", help="Only edits that a verifier found right.")] = False,
    correct: Annotated[
        bool, typer.Option("--correct", help="Only items whose answer about the original is known to be right.")
    ] = False,
    answers: Annotated[
        Path | None, typer.Option(help="For `written`: a CSV with the columns id, image, answer, explanation.")
    ] = None,
    share: Annotated[float, typer.Option("--held-out", min=0, max=0.9, help="Share of images to hold out.")] = 0.1,
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is held out.")] = 0,
    shards: Annotated[int, typer.Option(min=1, max=MOST_SHARDS, help="Into how many files each stage is cut.")] = 1,
    prompts: PromptFolder = "",
) -> None:
    """Make a fine-tuning set of counterfactual items: conversations or preference pairs, with their images.

    consistent: conversations about original and counterfactual images that stood every test (CCS 1; under a control,
    nothing moved). contrast: pairs of replies about the same counterfactual image that a score tells apart. written:
    conversations in words that people wrote. all: every scored conversation, to choose from. Nobody knows which answer
    an edit makes right; README.md in the folder says what the set is and is not.
    """
    ensure_writable(out)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):  # it would be replaced, and may be anyone's
        raise OutputError(f"{out}: there is something already; remove it or choose another folder")
    named = list(dict.fromkeys(conditions_of(conditions)))
    images: Images = {}
    trials = [
        trial
        for condition in named
        for trial in _trials(ConditionFiles(results, condition, shards), images)
        if (not verified or trial.score.verified == 1) and (not correct or trial.score.correct == 1)
    ]
    written = read_csv(answers, Written) if answers else []
    if bool(answers) != (teach == "written"):
        raise InputError("--answers and `--teach written` go together: name both or neither")
    taught = examples(teach, trials, Prompts(*conversation_prompts(prompts)), written)
    plain = [example for example in taught if is_plain(example)]
    if not plain:
        raise InputError(f"{len(trials)} scored items and edits hold no example to teach `{teach}`; see --help")
    family = families((example.original, example.image) for example in plain)
    sides: dict[str, list[Example]] = {TRAIN: [], HELD_OUT: []}
    for example in plain:
        sides[HELD_OUT if held_out(family[example.image], share, seed) else TRAIN].append(example)
    made = Made(teach, layout, named, verified, correct, share, seed, len(trials), len(taught) - len(plain))
    _write(out, sides, made, images)
    print(f"{out}: {', '.join(f'{len(side)} examples in {file}' for file, side in sides.items())}; see README.md in it")


def _trials(files: ConditionFiles, images: Images) -> Iterator[Trial]:
    samples = {sample.id: (sample, folder) for sample, folder in files.samples()}
    baselines, instructions = files.baselines(), files.instructions()
    made = {(record.id, record.edit): (record, folder) for record, folder in files.counterfactuals()}
    checks, requeries, verdicts = files.checks(), files.requeries(), files.verdicts()
    for score in sorted(files.scores(), key=attrgetter("id", "edit")):
        key = (score.id, score.edit)
        if score.status != Status.OK:
            continue
        (sample, whole), (edit, changed) = samples[score.id], made[key]
        assert edit.image is not None, "what is scored has an image"
        images.setdefault(sample.image.sha256, partial(load, whole, sample.image))
        images.setdefault(edit.image.sha256, partial(load, changed, edit.image))
        yield Trial(
            sample=sample,
            before=baselines[score.id],
            told=instructions[key],
            made=edit,
            check=checks[key],
            after=requeries[key],
            judged=verdicts[key].calls,
            score=score,
        )


def _write(out: Path, sides: Mapping[str, Sequence[Example]], made: Made, images: Images) -> None:
    with fresh_folder(out) as folder:
        (folder / "images").mkdir()
        for file, examples_of_side in sides.items():
            (folder / file).write_text(
                "".join(line(example, made.layout) for example in examples_of_side), encoding="utf-8"
            )
            for image in {example.image for example in examples_of_side}:
                (folder / image_path(image)).write_bytes(images[image]().png)
        (folder / "README.md").write_text(card(made, sides), encoding="utf-8")
        if made.layout == "llama-factory":
            text = dataset_info(made.teach == "contrast", [file for file in sides if sides[file]])
            (folder / "dataset_info.json").write_text(text, encoding="utf-8")


def card(made: Made, sides: Mapping[str, Sequence[Example]]) -> str:
    """The card as Markdown; `sides` are the examples by file."""
    import jinja2

    source = resources.files(__package__).joinpath("card.md.j2").read_text(encoding="utf-8")
    template = jinja2.Template(source, undefined=jinja2.StrictUndefined, keep_trailing_newline=True)
    files = [
        {
            "name": name,
            "split": SPLITS[name],
            "entry": entry_name(name),
            "examples": len(examples_of_side),
            "originals": sum(example.image == example.original for example in examples_of_side),
            "images": len({example.original for example in examples_of_side}),
        }
        for name, examples_of_side in sides.items()
    ]
    return str(
        template.render(made=made, files=files, conditions=[condition_path(condition) for condition in made.conditions])
    )
