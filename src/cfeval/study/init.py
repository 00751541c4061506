"""`cfeval init`: create the folder of a study from options, or from answers on a terminal."""

import os
import re
import sys
from collections.abc import Mapping, Sequence
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
from cfeval.study.class_folders import image_set
from cfeval.study.classifiers import CLASSES, choose, class_list, missing_packages
from cfeval.study.models import LOCAL_EDITOR, SERVES, Model, Roles, model, roles, stays_local
from cfeval.study.recipients import recipient_lines
from cfeval.study.schema import keep_schema
from cfeval.vce.models.spelling import FORMS

Evaluation = Literal["edct", "vce", "cvqa"]
ITEMS = {"edct": 120, "vce": 4, "cvqa": 0}
_HELPERS = ("writer", "editor", "gate", "verifier", "judge")
READERS: Mapping[str, type[QuestionTablePlugin]] = {
    "whatsup": question_tables.WhatsUp,
    "counterbench": question_tables.CounterBench,
    "plain": question_tables.PlainTable,
}
"""Who reads a table of questions, the first whose columns it has."""
_PATHS = ("path", "questions", "images")
"""Options of sources that name files or folders."""


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
    _refuse_existing(place, dvc)
    named = _as_name(name or place.name)
    asked = _Asked(sys.stdin.isatty())
    given = {"writer": writer, "editor": editor, "gate": gate, "verifier": verifier}
    first_judge, *more_judges = judge or [""]
    given |= {"judge": first_judge}
    given |= {"reader": reader} if reader else {}
    if study != "edct":
        _refuse_other({**given, "repeats": repeats > 1, "wordings": wordings}, study)
    if len(set(judge or ())) < len(judge or ()):
        raise InputError("--judge names one judge twice; name each once")
    keys: list[str] = []
    notes: list[str] = []
    keyed: list[Model] = []
    more: dict[str, str] = {}
    flags = {"recursive": recursive, "strict": strict, "allow_outside": allow_outside}
    if study == "vce":
        own = image_set(_there(asked.images(images)), items, ITEMS["vce"], strict)
        if classes is None and (place / CLASSES).is_file():
            classes = place / CLASSES
        labels = _there(classes) if classes else None
        chosen = choose(own, model_ or (), architecture, labels, class_ or (), oracle or (), asked.answer)
        own, (explained, oracles) = chosen.images, chosen.specs_in(place)
        source = _beside(own.spec, place)
        params = texts.vce_params(named, source, explained, oracles, own.classes, own.images)
        more = {CLASSES: class_list(chosen.outputs)} if chosen.outputs else {}
        notes = [*own.notes, *chosen.notes, *missing_packages(chosen.explained, own.classes)]
        notes += [f"Wrote {CLASSES}: the outputs of your network, in this order; correct it if need be"] * bool(more)
    else:
        here = {**asked.source(study, images, question, questions), **_given(flags, study)}
        notes += _scanned(study, here)
        source = _beside(here, place)
        targets = {key: one.seen_from(place) for key, one in asked.targets(model_ or [], provider, base_url).items()}
        keyed = list(targets.values())
        if study == "edct":
            by = roles(keyed, given, asked.hosted_helpers(keyed[0], given), more_judges).seen_from(place)
            keyed += by.all()
            notes += _notes(targets, by)
            params = texts.edct_params(named, source, targets, by, items or ITEMS["edct"], repeats, wordings)
        else:
            cut = {"items": items} if items else {}
            params = texts.cvqa_params(named, {**source, **cut}, targets)
        keys = list(dict.fromkeys(one.key_env for one in keyed if one.key_env))
    data = [source[key] for key in _PATHS if key in source]
    notes += [*_packages(keyed), *recipient_lines(parse(parse_yaml(params, folder / PARAMS), str(folder / PARAMS)))]
    _write(place, named, study, params, keys, data if dvc else None, more)
    _tell(folder, keys, notes)


class _Asked:
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
            return {"plugin": _reader_of(file), "path": str(file)} | ({"images": str(_there(images))} if images else {})
        if questions:
            one = {"question": question} if question else {}
            return {"plugin": "files", "path": str(_there(questions)), **one}
        folder = _there(self.images(images))
        if folder.is_file():
            return {"plugin": "files", "path": str(folder), **({"question": question} if question else {})}
        said = question or self._ask("Question about every image", "--question TEXT, or --questions FILE")
        return {"plugin": "files", "path": str(folder), "question": said}

    def targets(self, given: Sequence[str], provider: str, base_url: str) -> dict[str, Model]:
        """The models under test, by the names that they get."""
        what = "Model to test (PROVIDER/MODEL, such as openrouter/google/gemini-2.5-flash or ollama/llava)"
        found = [model(text, provider, base_url) for text in given or [self._ask(what, "--model PROVIDER/MODEL")]]
        named: dict[str, Model] = {}
        for one in found:
            number = sum(key == one.name or key.startswith(f"{one.name}-") for key in named)
            named[f"{one.name}-{number + 1}" if one.name in named else one.name] = one
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


def _refuse_other(given: Mapping[str, object], study: Evaluation) -> None:
    """Refuse options that only a study of explanations has (InputError)."""
    if odd := [name for name, value in given.items() if value]:
        raise InputError(f"--{odd[0]} is for --study edct, and this is a study of {study}; leave it out")


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


def _reader_of(path: Path) -> str:
    """The plugin that reads a table of questions, by the columns of its first row."""
    columns = next((set(row) for _, row in rows_of(path, (path.parent,))), set())
    return next(name for name, plugin in READERS.items() if plugin.columns <= columns)


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


def _as_name(text: str) -> str:
    """A name that a folder of results may have."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("_.-")[:60] or "study"


def _refuse_existing(place: Path, dvc: bool) -> None:
    ensure_writable(place / "params.yaml")
    for file in ("params.yaml", *(["dvc.yaml"] if dvc else [])):
        if (place / file).exists():
            raise InputError(f"{place / file} already exists; edit it, or choose another folder: cfeval init DIR")


def _write(
    place: Path,
    name: str,
    study: Evaluation,
    params: str,
    keys: Sequence[str],
    data: Sequence[str] | None,
    more: Mapping[str, str],
) -> None:
    """Write what is not there yet; a user's own README or .gitignore stays.

    Args:
        place: the study's folder.
        name: its name.
        study: the evaluation.
        params: its parameters.
        keys: the variables of keys that it needs.
        data: for DVC, the files and folders that it reads; None: no files of DVC's.
        more: further files.
    """
    files = {
        **more,
        "params.yaml": params,
        ".gitignore": texts.IGNORED if data is None else texts.DVC_IGNORED,
        ".env.example": texts.env_example(keys),
        "README.md": texts.readme(name, study),
    }
    if data is not None:
        files |= {"dvc.yaml": texts.dvc_stages(name, study, data), ".dvcignore": texts.DVC_OVERLOOKED}
        versioned = any((above / ".git").exists() for above in (place, *place.parents))
        files |= {".dvc/config": texts.DVC_CONFIG if versioned else texts.DVC_CONFIG_WITHOUT_GIT}
        files |= {".dvc/.gitignore": texts.DVC_OWN_IGNORED}
    for file, text in files.items():
        if not (place / file).exists():
            write_text(place / file, text)
    keep_schema(place)


def _notes(targets: Mapping[str, Model], by: Roles) -> list[str]:
    """What to know about the models that a study uses beside those under test."""
    itself = "The model under test also judges itself; a different judge is better: --judge PROVIDER/MODEL"
    return [*([itself] if by.judge in targets.values() else []), *filter(None, [texts.editor_note(by.editor)])]


def _packages(models: Sequence[Model]) -> list[str]:
    """Which extras these models need that are not installed."""
    needed = dict.fromkeys(entry.extra for entry in models if entry.extra and not extras.installed(entry.extra))
    return [f"These models need pip install 'cfeval[{','.join(needed)}]'"] if needed else []


def _tell(folder: Path, keys: Sequence[str], notes: Sequence[str]) -> None:
    for line in notes:
        print(line)
    if missing := [key for key in keys if not os.environ.get(key)]:
        print(f"Keys: set {' and '.join(missing)}, or put them into {folder / '.env'} (see .env.example)")
    print(f"Wrote {folder / PARAMS}. Review it, then run:")
    print(f"  {cfeval('run', folder)}")
