"""`ro-crate-metadata.json`: what a bundle holds, as a Workflow Run RO-Crate tells it.

Specifications: RO-Crate 1.1, Workflow RO-Crate 1.0, Process Run Crate and Workflow Run Crate 0.5. It is written here
and not by the library `rocrate`, which puts the time of its run into each file; a test has it validated. Nor is it
written by `snakemake-report-plugin-rocrate` (its source of July 2026 was read, not run), which uses that library: it
tells of Snakemake's own records of the jobs, on which nothing here rests, with their start and end times, so that equal
studies would not give equal bytes; and it knows packages from conda files, which the rules here have not.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from cfeval import __version__

NAME = "ro-crate-metadata.json"
WORKFLOW = "Snakefile"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": ("Process Run Crate", "0.5"),
    "https://w3id.org/ro/wfrun/workflow/0.5": ("Workflow Run Crate", "0.5"),
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": ("Workflow RO-Crate", "1.0"),
}
_SNAKEMAKE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
_FORMATS = {
    ".csv": "text/csv",
    ".html": "text/html",
    ".json": "application/json",
    ".jsonl": "application/jsonl",
    ".md": "text/markdown",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".tex": "application/x-tex",
    ".txt": "text/plain",
    ".yaml": "application/yaml",
    ".zip": "application/zip",
}


@dataclass(frozen=True)
class Facts:
    """What the crate says of more than files: its date (ISO 8601), the terms of its use, and what is evaluated."""

    date: str
    licence: str
    evaluations: Sequence[str]
    redacted: bool = False


def crate(
    facts: Facts, used: Iterable[str], made: Iterable[str], folders: Iterable[str], others: Iterable[str]
) -> bytes:
    """The file.

    Args:
        facts: about the bundle.
        used: paths of the files that the run took: parameters, prompts, published figures.
        made: paths of what it made.
        folders: folders of images that it made, each with a slash at its end.
        others: paths of the other files.
    """
    taken, results, apart = sorted(used), [*sorted(made), *sorted(folders)], sorted(set(others) - {WORKFLOW})
    parts = [WORKFLOW, *taken, *results, *apart]
    left_out = " Texts and images are left out; their hashes are in full-manifest-sha256.txt." if facts.redacted else ""
    graph = [
        {
            "@id": NAME,
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": [{"@id": "https://w3id.org/ro/crate/1.1"}, {"@id": list(PROFILES)[2]}],
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": f"Audit bundle: {', '.join(facts.evaluations)}",
            "description": f"A counterfactual evaluation by cfeval, from its items to its tables.{left_out}",
            "datePublished": facts.date,
            "license": facts.licence,
            "conformsTo": [{"@id": profile} for profile in PROFILES],
            "mainEntity": {"@id": WORKFLOW},
            "mentions": [{"@id": "#run"}],
            "hasPart": [{"@id": quote(path)} for path in parts],
        },
        {
            "@id": WORKFLOW,
            "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
            "name": "The workflow of cfeval",
            "programmingLanguage": {"@id": _SNAKEMAKE},
            "version": __version__,
        },
        _run(facts, taken, results),
        *(_part(path) for path in parts[1:]),
        *_context(),
    ]
    content = {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}
    return f"{json.dumps(content, indent=1, ensure_ascii=False)}\n".encode()


def _run(facts: Facts, taken: Sequence[str], results: Sequence[str]) -> dict[str, Any]:
    return {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"Run of {', '.join(facts.evaluations)}",
        "instrument": {"@id": WORKFLOW},
        "object": [{"@id": quote(path)} for path in taken],
        "result": [{"@id": quote(path)} for path in results],
        "actionStatus": {"@id": "http://schema.org/CompletedActionStatus"},
    }


def _part(path: str) -> dict[str, Any]:
    if path.endswith("/"):
        return {"@id": quote(path), "@type": "Dataset", "name": f"The images in {path}"}
    entity = {"@id": quote(path), "@type": "File", "name": path}
    media_type = _FORMATS.get(PurePosixPath(path).suffix)
    return {**entity, "encodingFormat": media_type} if media_type else entity


def _context() -> Iterable[dict[str, Any]]:
    """What the other entities refer to."""
    language = {"@id": _SNAKEMAKE, "@type": "ComputerLanguage", "name": "Snakemake"}
    yield {
        **language,
        "identifier": "https://doi.org/10.1093/bioinformatics/bts480",
        "url": "https://snakemake.github.io",
    }
    for url, (name, version) in PROFILES.items():
        yield {"@id": url, "@type": "CreativeWork", "name": name, "version": version}
