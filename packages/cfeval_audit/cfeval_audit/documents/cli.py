"""`cfeval audit documents`."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from cfeval.core.files import ensure_writable, write_text
from cfeval.core.folder import Folder, Name, ParamsFiles, study_in
from cfeval.study.whole import whole
from cfeval_audit.bundle.cli import valid_jobs
from cfeval_audit.documents.forms import DOCUMENTS
from cfeval_audit.documents.parts import Facts, load_facts


def documents(facts: Facts) -> Iterator[tuple[str, str]]:
    """Each document's name, and its text as Markdown."""
    for name, (title, parts) in DOCUMENTS.items():
        sections = (f"## {heading}\n\n{_paragraphs(part(facts))}" for heading, part in parts)
        yield name, "\n\n".join([f"# {title}", _ABOUT, *sections]) + "\n"


_ABOUT = (
    "Made by cfeval from the records of one evaluation. Places marked `[TO BE STATED: …]` are for what the run cannot "
    "know. This text makes no claim that a law or standard is met."
)


def run(
    out: Annotated[Path, typer.Option(help="Folder to write into.")],
    folder: Folder = Path(),
    params: ParamsFiles = None,
    name: Name = "",
) -> None:
    """Write documents for regulators and registries about an evaluation of explanations, as far as the run knows.

    Markdown: Annex IV (2) (g), Annex XI and Article 13 of the EU AI Act, the practices of NIST AI 800-2, an Eval
    Factsheet, a model card's section, an evaluation card. What only a person can state is marked. No document claims
    that a law or standard is met. Outdated results are refused.
    """
    with study_in(folder, params) as files:
        study = whole(files, name)
        made = list(documents(load_facts(study.params, study.root)))
        valid_jobs(study, ["edct"])
    for file, text in made:
        ensure_writable(out / f"{file}.md")
        write_text(out / f"{file}.md", text)
    places = sum(text.count("[TO BE STATED: ") - 1 for _, text in made)
    print(f"{len(made)} documents in {out}; {places} places are marked for you to fill in")


def _paragraphs(parts: Iterator[str]) -> str:
    """Paragraphs, with the lines of a list together."""
    text = ""
    for part in parts:
        listed = part.startswith("- ") and text.rpartition("\n")[2].startswith("- ")
        text += ("\n" if listed else "\n\n") * bool(text) + part
    return text
