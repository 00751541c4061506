"""`cfeval init`: create the folder of a study from options, or from answers on a terminal."""

import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cfeval.config import parse
from cfeval.core import extras
from cfeval.core.errors import InputError
from cfeval.core.files import ensure_writable, write_text
from cfeval.core.folder import PARAMS, cfeval
from cfeval.core.yaml_files import parse_yaml
from cfeval.cvqa.plugins import question_tables
from cfeval.cvqa.plugins.question_sets import CsvPlugin, CsvQuestions
from cfeval.cvqa.plugins.question_tables import QuestionTable, QuestionTablePlugin
from cfeval.datasets.files import Files, Plugin
from cfeval.datasets.pairs.rows import rows_of
from cfeval.study import texts
from cfeval.study.classifiers import CLASSES, Chosen, choose, class_list, image_set, missing_packages
from cfeval.study.components import recipient_lines
from cfeval.study.models import LOCAL_EDITOR, SERVES, Model, Roles, model, roles, stays_local
from cfeval.study.schema import keep_schema
from cfeval.vce.models.spelling import FORMS

Evaluation = Literal["edct", "vce", "cvqa"]
ITEMS = {"edct": 120, "vce": 4, "cvqa": 0}
_HELPERS = ("writer", "editor", "gate", "verifier", "judge")
# Who reads a table of questions, the first whose columns it has.
READERS: Mapping[str, type[QuestionTablePlugin]] = {
    "whatsup": question_tables.WhatsUp,
    "counterbench": question_tables.CounterBench,
    "plain": question_tables.PlainTable,
}
# Options of sources that name files or folders.
_PATHS = ("path", "questions", "images")


def run(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", help="The study's folder; it is made.")] = Path(),
    study: Annotated[
        Evaluation,
        typer.Option(help="edct: explanations of a VLM; vce: what a classifier sees; cvqa: what-if questions."),
    ] = "edct",
    images: Annotated[Path | None, typer.Option(help="Folder of images; vce: with a folder for each class.")] = None,
    question: Annotated[str, typer.Option(help="Asked about every image.")] = "",
    questions: Annotated[
        Path | None,
        typer.Option(help="Own questions: CSV or JSONL with `image` and `question`; cvqa: also `answer`."),
    ] = None,
    model_: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            help="Model to test, such as ollama/llava, as PROVIDER/MODEL or PROVIDER/MODEL@URL; vce: a classifier, "
            f"{FORMS}; repeatable.",
        ),
    ] = None,
    architecture: Annotated[
        str, typer.Option(help="vce: the network of --model state_dict:FILE, by its name in torchvision, or timm:NAME.")
    ] = "",
    provider: Annotated[str, typer.Option(help="Provider of the models to test, where their names have none.")] = "",
    base_url: Annotated[str, typer.Option(help="Their address, such as http://localhost:8000/v1.")] = "",
    writer: Annotated[
        str,
        typer.Option(
            help="Who writes the edits; as --model. Empty: a local model itself, else its provider's or OpenRouter's."
        ),
    ] = "",
    editor: Annotated[
        str,
        typer.Option(
            help="Who edits images: openrouter/MODEL, openai/MODEL, diffusers/OWNER/NAME, inpaint/OWNER/CLIPSEG …"
        ),
    ] = "",
    gate: Annotated[
        str, typer.Option(help="Who must see an edit before it counts; as --model. Empty: the writer, if named.")
    ] = "",
    verifier: Annotated[str, typer.Option(help="Who checks the edits; as --model. Empty: the judge, if named.")] = "",
    judge: Annotated[
        list[str] | None,
        typer.Option(
            help="Who judges the texts; as --model. Repeatable: the first also judges the controls, and the table "
            "`agreement` compares all."
        ),
    ] = None,
    reader: Annotated[
        str,
        typer.Option(
            help="Another model that also answers about edited images; as --model. Edits that do not change its answer "
            "count against nobody. Empty: none."
        ),
    ] = "",
    repeats: Annotated[
        int,
        typer.Option(min=1, help="How often each model is tested, each time with other seeds: the table `repeats`."),
    ] = 1,
    wordings: Annotated[
        bool,
        typer.Option(
            "--wordings", help="Ask each model in a second wording, too: the tables `card` and `comparisons`."
        ),
    ] = False,
    items: Annotated[
        int | None, typer.Option(min=1, help="Items of the dataset, at most; vce: images of each class.")
    ] = None,
    name: Annotated[str, typer.Option(help="The study's name; empty: the folder's.")] = "",
    classes: Annotated[
        Path | None,
        typer.Option(
            help="vce: the outputs of an own network in their order, a name a line; empty: the folders' names."
        ),
    ] = None,
    class_: Annotated[
        list[str] | None,
        typer.Option("--class", help="vce: FOLDER=CLASS, where a folder is not called after its class; repeatable."),
    ] = None,
    oracle: Annotated[
        list[str] | None,
        typer.Option(
            help="vce: a classifier that is asked about every counterfactual, as --model; repeatable. `none`: nobody. "
            "Empty: one of another family, where it is here."
        ),
    ] = None,
    recursive: Annotated[bool, typer.Option("--recursive", help="Also images in subfolders.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Refuse images that cannot be read.")] = False,
    allow_outside: Annotated[
        bool, typer.Option("--allow-outside", help="Also images outside the folder, which rows or links name.")
    ] = False,
    dvc: Annotated[bool, typer.Option("--dvc", help="Also DVC's files, to version and share results.")] = False,
) -> None:
    """Create a study: a folder with params.yaml and the files it needs.

    On a terminal, it asks for what the options leave open. `cfeval run` then runs the study.
    """
    place = folder.absolute()
    ensure_writable(place / "params.yaml")
    for file in ("params.yaml", *(["dvc.yaml"] if dvc else [])):
        if (place / file).exists():
            raise InputError(f"{place / file} already exists; edit it, or choose another folder: cfeval init DIR")
    # A name that a folder of results may have.
    named = re.sub(r"[^A-Za-z0-9_.-]+", "-", name or place.name).strip("_.-")[:60] or "study"
    answers = Answers(sys.stdin.isatty())
    first_judge, *more_judges = judge or [""]
    given = {"writer": writer, "editor": editor, "gate": gate, "verifier": verifier, "judge": first_judge}
    given |= {"reader": reader} if reader else {}
    of_edct = {**given, "repeats": repeats > 1, "wordings": wordings}
    if study != "edct" and (odd := [name for name, value in of_edct.items() if value]):
        raise InputError(f"--{odd[0]} is for --study edct, and this is a study of {study}; leave it out")
    if len(set(judge or ())) < len(judge or ()):
        raise InputError("--judge names one judge twice; name each once")
    if study == "vce":
        own = image_set(_there(answers.images(images)), items, ITEMS["vce"], strict)
        if classes is None and (place / CLASSES).is_file():
            classes = place / CLASSES
        labels = _there(classes) if classes else None
        chosen = choose(own, model_ or (), architecture, labels, class_ or (), oracle or (), answers.answer)
        draft = _vce_draft(named, chosen, place)
    else:
        flags = {"recursive": recursive, "strict": strict, "allow_outside": allow_outside}
        source = {**answers.source(study, images, question, questions), **_given(flags, study)}
        notes, source = _scanned(study, source), _beside(source, place)
        targets = answers.targets(model_ or [], provider, base_url)
        targets = {key: target.seen_from(place) for key, target in targets.items()}
        first = next(iter(targets.values()))
        if study == "edct":
            hosted = answers.hosted_helpers(first, given)
            helpers = roles(list(targets.values()), given, hosted, more_judges).seen_from(place)
            params = texts.edct_params(named, source, targets, helpers, items or ITEMS["edct"], repeats, wordings)
            notes += _helper_notes(targets, helpers)
            draft = _Draft(params, source, notes, [*targets.values(), *helpers.all()])
        else:
            cut = {"items": items} if items else {}
            params = texts.cvqa_params(named, {**source, **cut}, targets)
            draft = _Draft(params, source, notes, list(targets.values()))
    lacking = [model.extra for model in draft.models if model.extra and not extras.installed(model.extra)]
    if needed := dict.fromkeys(lacking):
        draft.notes.append(f"These models need pip install 'cfeval[{','.join(needed)}]'")
    draft.notes += recipient_lines(parse(parse_yaml(draft.params, folder / PARAMS), str(folder / PARAMS)))
    _write(place, named, study, draft, dvc)
    _print_end(folder, draft)


@dataclass
class _Draft:
    """A study before it is written.

    Attributes:
        params: the text of params.yaml.
        source: the dataset, set of questions or of images, with paths as seen from the study's folder.
        notes: what to print about it.
        models: those that answer, write, edit, check and judge.
        files: further files by name.
    """

    params: str
    source: Mapping[str, Any]
    notes: list[str]
    models: Sequence[Model] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def keys(self) -> list[str]:
        """The environment variables of the keys that its models need."""
        return list(dict.fromkeys(model.key_env for model in self.models if model.key_env))


def _vce_draft(name: str, chosen: Chosen, place: Path) -> _Draft:
    images, (explained, oracles) = chosen.images, chosen.specs_in(place)
    source = _beside(images.spec, place)
    notes = [*images.notes, *chosen.notes, *missing_packages(chosen.explained, images.classes)]
    files = {CLASSES: class_list(chosen.outputs)} if chosen.outputs else {}
    if files:
        notes.append(f"Wrote {CLASSES}: the outputs of your network, in this order; correct it if need be")
    params = texts.vce_params(name, source, explained, oracles, images.classes, images.images)
    return _Draft(params, source, notes, files=files)


def _helper_notes(targets: Mapping[str, Model], helpers: Roles) -> Iterator[str]:
    if helpers.judge in targets.values():
        yield "The model under test also judges itself; a different judge is better: --judge PROVIDER/MODEL"
    if note := texts.editor_note(helpers.editor):
        yield note


class Answers:
    """What the options say, and on a terminal what its user answers where they say nothing."""

    def __init__(self, terminal: bool) -> None:
        self.terminal = terminal

    def images(self, given: Path | None) -> Path:
        """The folder of images."""
        return given or Path(self._ask("Folder of images", "--images FOLDER"))

    def source(self, study: Evaluation, images: Path | None, question: str, questions: Path | None) -> dict[str, str]:
        """The dataset, or the set of questions, without the paths made relative."""
        if study == "cvqa":
            file = _there(questions or Path(self._ask("Table of questions", "--questions FILE")))
            if question_tables.is_published(file):
                return {"plugin": "csv", "questions": str(file), "images": str(_there(self.images(images)))}
            columns = next((set(row) for _, row in rows_of(file, (file.parent,))), set())  # of the first row
            reader = next(name for name, plugin in READERS.items() if plugin.columns <= columns)
            return {"plugin": reader, "path": str(file)} | ({"images": str(_there(images))} if images else {})
        if questions:
            fixed = {"question": question} if question else {}
            return {"plugin": "files", "path": str(_there(questions)), **fixed}
        folder = _there(self.images(images))
        if folder.is_file():
            return {"plugin": "files", "path": str(folder), **({"question": question} if question else {})}
        question = question or self._ask("Question about every image", "--question TEXT, or --questions FILE")
        return {"plugin": "files", "path": str(folder), "question": question}

    def targets(self, given: Sequence[str], provider: str, base_url: str) -> dict[str, Model]:
        """The models under test, by the names that they get."""
        what = "Model to test (PROVIDER/MODEL, such as openrouter/google/gemini-2.5-flash or ollama/llava)"
        models = [model(text, provider, base_url) for text in given or [self._ask(what, "--model PROVIDER/MODEL")]]
        named: dict[str, Model] = {}
        for target in models:
            number = sum(key == target.name or key.startswith(f"{target.name}-") for key in named)
            named[f"{target.name}-{number + 1}" if target.name in named else target.name] = target
        return named

    def hosted_helpers(self, target: Model, given: Mapping[str, str]) -> bool:
        """Whether helpers that no option names are hosted ones although the model under test is local."""
        open_roles = [role for role in _HELPERS if not given[role] and not given.get(SERVES.get(role, ""), "")]
        if not self.terminal or not stays_local(target) or not open_roles:
            return False
        print(f"{target.model} is local. Nobody is named as {', '.join(open_roles)}.")
        itself = ["the model itself"] * (open_roles != ["editor"])
        local = " and ".join([*itself, *([f"the editor {LOCAL_EDITOR.name}"] if "editor" in open_roles else [])])
        question = f"Use {local}? Otherwise, models at OpenRouter receive images and texts."
        return not typer.confirm(question, default=True)

    def answer(self, question: str, suggested: str, otherwise: str) -> str:
        """What the user answers; InputError, `otherwise`, where there is no terminal."""
        if not self.terminal:
            raise InputError(otherwise)
        return str(typer.prompt(question, default=suggested or None)).strip()

    def _ask(self, what: str, option: str) -> str:
        if not self.terminal:
            raise InputError(
                f"{what.partition(' (')[0].lower()}: not given, and there is no terminal to ask; give {option}"
            )
        return str(typer.prompt(what)).strip()


def _given(flags: Mapping[str, bool], study: Evaluation) -> dict[str, bool]:
    """The options of a data set that are set; InputError where this one has no such option."""
    given = {name: True for name, value in flags.items() if value}
    if study == "cvqa" and (odd := [name for name in given if name != "allow_outside"]):
        raise InputError(f"--{odd[0]} is for edct and vce; questions name their images in one folder")
    return given


def _scanned(study: Evaluation, source: Mapping[str, Any]) -> list[str]:
    """What a study's data set holds and what is left out of it; InputError where nothing can be used."""
    options = {name: value for name, value in source.items() if name != "plugin"}
    if source["plugin"] in READERS:
        return _scanned_table(READERS[source["plugin"]].model_validate(options).build())
    if study == "cvqa":
        questions = CsvQuestions(CsvPlugin.model_validate(options))
        rows, faults = questions.places().values(), questions.faults
        with_image = sum(questions.image_of(row) is not None for row in rows)
        if not with_image:
            raise InputError(f"{source['images']}: no image of any row of {source['questions']} is there")
        lost = [f"{len(faults)} malformed ({faults[0]})"] if faults else []
        lost += [f"{len(rows) - with_image} without an image"] if with_image < len(rows) else []
        return [f"{source['questions']}: {with_image} rows{'; left out: ' if lost else ''}{', '.join(lost)}"]
    files = Files(Plugin.model_validate(options))
    used, others = files.scan()
    files.refuse_losses(used, others)
    return [f"{source['path']}: {files.summary(used, others)}"]


def _scanned_table(table: QuestionTable) -> list[str]:
    rows, missing = len(table.items()), table.missing_images()
    if rows == len(missing):
        raise InputError(f"{missing[0]}; no image of any row can be read")
    lost = [f"{len(table.faults)} unusable ({table.faults[0]})"] if table.faults else []
    lost += [f"{len(missing)} without an image ({missing[0]})"] if missing else []
    alone = sum(item.original is None for _, item in table.items().values())
    notes = [f"{table.options.path}: {rows - len(missing)} rows{'; left out: ' if lost else ''}{', '.join(lost)}"]
    if alone:
        which = "No row has" if alone == rows else f"{alone} of {rows} rows do not have"
        notes.append(f"{which} a question without the if: of these there is an accuracy, and no drop")
    return notes


def _there(path: Path) -> Path:
    if not path.exists():
        raise InputError(f"{path}: no such file or folder")
    return path


def _beside(source: Mapping[str, Any], place: Path) -> dict[str, Any]:
    """A source with its paths as seen from the study's folder."""
    return {**source, **{key: os.path.relpath(source[key], place) for key in _PATHS if key in source}}


def _write(place: Path, name: str, study: Evaluation, draft: _Draft, dvc: bool) -> None:
    """Write what is not there yet, with `dvc` DVC's files too; a user's own README or .gitignore stays."""
    files = {
        **draft.files,
        "params.yaml": draft.params,
        ".gitignore": texts.DVC_IGNORED if dvc else texts.IGNORED,
        ".env.example": texts.env_example(draft.keys),
        "README.md": texts.readme(name, study),
    }
    if dvc:
        data = [draft.source[key] for key in _PATHS if key in draft.source]
        in_git = any((above / ".git").exists() for above in (place, *place.parents))
        files |= {
            "dvc.yaml": texts.dvc_stages(name, study, data),
            ".dvcignore": texts.DVC_OVERLOOKED,
            ".dvc/config": texts.DVC_CONFIG if in_git else texts.DVC_CONFIG_WITHOUT_GIT,
            ".dvc/.gitignore": texts.DVC_OWN_IGNORED,
        }
    for file, text in files.items():
        if not (place / file).exists():
            write_text(place / file, text)
    keep_schema(place)


def _print_end(folder: Path, draft: _Draft) -> None:
    for line in draft.notes:
        print(line)
    if missing := [key for key in draft.keys if not os.environ.get(key)]:
        print(f"Keys: set {' and '.join(missing)}, or put them into {folder / '.env'} (see .env.example)")
    print(f"Wrote {folder / PARAMS}. Review it, then run:")
    print(f"  {cfeval('run', folder)}")
