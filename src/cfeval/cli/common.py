"""What several verbs share: options, and opening what the stages pass on."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from cfeval.backends import registry
from cfeval.errors import InputError, nearest
from cfeval.io import pictures
from cfeval.io.atomic import ensure_writable
from cfeval.io.following import Following
from cfeval.io.pictures import Picture
from cfeval.io.prompts import load_prompt
from cfeval.io.records import read_jsonl
from cfeval.protocols.rules import RULES
from cfeval.records.common import Record
from cfeval.records.edct import Baseline, Check, Counterfactual, Instruction, Sample

R = TypeVar("R", bound=Record)


def _writable(path: Path) -> Path:
    ensure_writable(path)
    return path


def _file(path: Path) -> Path:
    """Refuse what is not there before a model is loaded, and what can be read only once: files are read again."""
    if not path.is_file():
        if path.exists() and not path.is_dir():
            raise InputError(f"{path}: a pipe, and it is read more than once; write it to a file and name that")
        raise InputError(f"{path}: {'is a folder, a file is needed' if path.is_dir() else 'no such file'}")
    return path


def _known_protocol(name: str) -> str:
    if name not in RULES:
        raise InputError(f"--protocol: unknown protocol '{name}'; {nearest(name, RULES)}")
    return name


PARAMS = Path("params.yaml")
"""The parameter file where none is named."""
SamplesFile = Annotated[
    Path,
    typer.Option(
        "--samples", callback=_file, help="Samples (JSONL); their pictures lie in the folder or archive beside."
    ),
]
BaselineFile = Annotated[Path, typer.Option("--baseline", callback=_file, help="Baseline conversations (JSONL).")]
InstructionsFile = Annotated[Path, typer.Option("--instructions", callback=_file, help="Edit instructions (JSONL).")]
CounterfactualsFile = Annotated[
    Path,
    typer.Option(
        "--counterfactuals",
        callback=_file,
        help="Counterfactuals (JSONL); their pictures lie in the folder or archive beside.",
    ),
]
ChecksFile = Annotated[Path, typer.Option("--checks", callback=_file, help="Checks of the counterfactuals (JSONL).")]
RequeryFile = Annotated[
    Path, typer.Option("--requery", callback=_file, help="Conversations about the counterfactuals (JSONL).")
]
VerdictsFile = Annotated[Path, typer.Option("--verdicts", callback=_file, help="Verdicts (JSONL).")]
Out = Annotated[Path, typer.Option("--out", callback=_writable, help="File to write; it appears whole or not at all.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the study.")]
ParamsFiles = Annotated[
    list[Path] | None,
    typer.Option("--params", help="Parameter file (params.yaml); several are merged in order, as by --configfile."),
]
PromptFolder = Annotated[str, typer.Option("--prompts", help="Folder with own prompt templates; empty: the package's.")]
Protocol = Annotated[
    str,
    typer.Option(
        "--protocol",
        callback=_known_protocol,
        help="The protocol: edct-2025, edct-bench-2026, null-edit or placebo-edit.",
    ),
]
Offline = Annotated[
    bool, typer.Option("--offline", help="Answer from the response store alone: nothing is sent, no key is needed.")
]
Shards = Annotated[
    int, typer.Option("--shards", min=1, max=999, help="Into how many files; above 1, OUT becomes a folder.")
]
Archive = Annotated[
    bool, typer.Option("--archive", help="Put the pictures into one file, OUT.zip, in the place of the folder OUT.")
]
Cut = Annotated[
    int | None,
    typer.Option("--cut", min=1, max=999, help="Into how many shards each file is cut; else all that lie there."),
]
VlmSpec = Annotated[str, typer.Option("--vlm", help="The target model, as JSON: its backend and options.")]


def build(family: str, text: str, option: str) -> Any:
    """Build the backend that the command line describes as JSON: the key `backend` and the plug-in's options.

    Raises:
        InputError: not such JSON, or no such plug-in or option.
    """
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{option}: not JSON ({error.msg} at character {error.pos})") from None
    if not isinstance(content, dict) or not isinstance(content.get("backend"), str):
        raise InputError(f"""{option}: a backend is JSON such as '{{"backend": "world", "persona": "grounded"}}'""")
    return registry.build(family, content)


def build_if_asked(family: str, text: str, option: str, protocol: str) -> Any:
    """The same for a writer or editor; None under a protocol that edits nothing and asks neither."""
    return None if RULES[protocol].edits == "none" else build(family, text, option)


def heed(offline: bool) -> None:
    """Let the response store alone answer, if that is asked for.

    The settings are imported by name, so that the fingerprints of the verbs (workflow/fingerprint.py) leave out how
    calls travel: no result depends on it.
    """
    if offline:
        settings = import_module("cfeval.calls.settings")
        settings.use(settings.settings().model_copy(update={"offline": True}))


def conversation_prompts(folder: str) -> tuple[str, str]:
    """The templates of the two turns, question and reason."""
    source = Path(folder) if folder else None
    answer, explain = (load_prompt(name, protocol="conversation", folder=source) for name in ("answer", "explain"))
    return answer, explain


def sound(path: Path, kind: type[R]) -> int:
    """How many records a file holds, each read once: a line that is none is told before any work is done."""
    return sum(1 for _ in read_jsonl(path, kind))


def samples_by_id(path: Path) -> Following[str, Sample]:
    """The samples of a file."""
    return Following(path, Sample, lambda record: record.id)


def baselines_by_id(path: Path) -> Following[str, Baseline]:
    """The baseline conversations of a file."""
    return Following(path, Baseline, lambda record: record.id)


def instructions_by_edit(path: Path) -> Following[tuple[str, int], Instruction]:
    """The instructions of a file by item and edit."""
    return Following(path, Instruction, lambda record: (record.id, record.edit))


def made_by_edit(path: Path) -> Following[tuple[str, int], Counterfactual]:
    """The counterfactuals of a file by item and edit."""
    return Following(path, Counterfactual, lambda record: (record.id, record.edit))


def checks_by_edit(path: Path) -> Following[tuple[str, int], Check]:
    """The checks of a file by item and edit."""
    return Following(path, Check, lambda record: (record.id, record.edit))


def originals(samples: Path) -> Callable[[Sample], Picture]:
    """How to open a sample's picture."""
    folder = pictures.folder_of(samples)
    return lambda sample: pictures.load(folder, sample.image)


def edited(counterfactuals: Path) -> Callable[[Counterfactual], Picture]:
    """How to open a counterfactual's picture."""
    folder = pictures.folder_of(counterfactuals)

    def open_one(record: Counterfactual) -> Picture:
        assert record.image is not None, "only a counterfactual with status ok is opened"
        return pictures.load(folder, record.image)

    return open_one
