"""`about.json`: which code, packages and models made a study, as far as its records and calls say."""

import ast
import importlib.metadata
import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cfeval import __version__
from cfeval.config import Params
from cfeval.core.package import PACKAGE
from cfeval.core.registry import GROUP
from cfeval.inference.remote import archive
from cfeval.inference.remote.request import Response
from cfeval_audit.bundle.contents import steps_of

NAME = "about.json"
SECTIONS = {"edct": ("datasets", "pair_sets"), "cvqa": ("question_sets",), "vce": ("image_sets",)}
"""By evaluation: the sections of params.yaml whose plugins read data of others."""
UNKNOWN = "not known to cfeval"


def about(params: Params, records: Iterable[str], archives: Iterable[str], said: Iterable[str], date: str) -> bytes:
    """The file.

    Args:
        params: of the study.
        records: of its steps.
        archives: of its calls.
        said: its record files (JSONL) that say which model answered.
        date: when the bundle was made.
    """
    content = {
        "format": 1,
        "cfeval": __version__,
        "code": revision(),
        "date": date,
        "packages": packages(records),
        "calls": list(called(archives)),
        "answered": list(answered(said)),
        "licences": {"cfeval": "Apache-2.0", **licences(params)},
    }
    return f"{json.dumps(content, indent=1, ensure_ascii=False)}\n".encode()


def revision() -> dict[str, Any]:
    """The commit of cfeval's checkout, and whether its files were changed; both None for an installed package."""
    checkout = PACKAGE.parents[1]
    if not (checkout / ".git").exists() or shutil.which("git") is None:
        return {"revision": None, "changed": None}

    def git(*words: str) -> str:
        done = subprocess.run(["git", "-C", str(checkout), *words], capture_output=True, text=True, check=False)
        return done.stdout.strip()

    changed = git("status", "--porcelain", "--", "src", "Snakefile", "workflow", "requirements.lock")
    return {"revision": git("rev-parse", "HEAD") or None, "changed": bool(changed)}


def packages(records: Iterable[str]) -> dict[str, list[str]]:
    """Python and the packages that steps ran with: each version that a record names."""
    found: dict[str, set[str]] = {}
    for step in steps_of(records):
        for name, version in step["packages"].items():
            found.setdefault(name, set()).add(str(version))
    return {name: sorted(versions) for name, versions in sorted(found.items())}


def called(archives: Iterable[str]) -> Iterator[dict[str, Any]]:
    """How many calls went to each model outside, and what name it gave itself in its replies."""
    found: Counter[tuple[str, str, str, str]] = Counter()
    for path in archives:
        for call, _ in archive.read(Path(path)):
            found[call.api, _host(call.base_url), call.model, Response.from_json(call.reply, None).model] += 1
    for (api, host, model, reported), number in sorted(found.items()):
        yield {"api": api, "host": host, "model": model, "reported": reported, "calls": number}


def answered(files: Iterable[str]) -> Iterator[dict[str, Any]]:
    """How many records of each file name which model, as it names itself."""
    for path in files:
        found: Counter[str] = Counter()
        with Path(path).open(encoding="utf-8") as lines:
            found.update(str(json.loads(line).get("model") or "") for line in lines if line.strip())
        for model, number in sorted(found.items()):
            if model:
                yield {"file": path, "reported": model, "records": number}


def licences(params: Params) -> dict[str, str]:
    """The terms of the datasets, as the readers that come with cfeval state them."""
    found = {}
    for evaluation, sections in SECTIONS.items():
        for section in sections:
            for name, spec in (getattr(getattr(params, evaluation), section, None) or {}).items():
                found[f"{evaluation}.{section}.{name}"] = _licence(section, spec.plugin)
    return found


def _licence(family: str, plugin: str) -> str:
    """The line `License:` of the module of a plugin, which is not imported."""
    points = importlib.metadata.entry_points(group=f"{GROUP}{family}", name=plugin)
    spec = next((find_spec(point.module) for point in points), None)
    if spec is None or not spec.origin or not Path(spec.origin).is_file():
        return UNKNOWN
    told = ast.get_docstring(ast.parse(Path(spec.origin).read_text(encoding="utf-8"))) or ""
    lines = [line.partition("License:")[2].strip() for line in told.splitlines() if "License:" in line]
    return lines[0] if lines else UNKNOWN


def _host(base_url: str) -> str:
    return urlsplit(base_url).hostname or ""
