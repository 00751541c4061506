"""Build the audit bundle of a study: everything that its tables rest on, in one archive whose bytes follow from it.

`ro-crate-metadata.json` says what it holds, as a Workflow Run RO-Crate. Specifications: RO-Crate 1.1, Workflow RO-Crate
1.0, Process Run Crate and Workflow Run Crate 0.5. It is written here and not by the library `rocrate`, which puts the
time of its run into each file; a test has it validated. Nor is it written by `snakemake-report-plugin-rocrate` (its
source of July 2026 was read, not run), which uses that library: it tells of Snakemake's own records of the jobs, on
which nothing here rests, with their start and end times, so that equal studies would not give equal bytes; and it knows
packages from conda files, which the rules here have not.
"""

import csv
import hashlib
import io
import json
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote

from cfeval import __version__
from cfeval.config import Params
from cfeval.core.errors import InputError
from cfeval.core.files import write_bytes_by
from cfeval.core.jsonl import parse_line
from cfeval.core.package import carried
from cfeval.core.record import STUDY, Step
from cfeval.core.records import failed
from cfeval.cvqa import verification as cvqa
from cfeval.edct.asked import PAIRS
from cfeval.edct.files import condition_path, conditions_in, stage_files, stage_records
from cfeval.edct.records import Condition, Score
from cfeval.edct.tables import TABLES
from cfeval.edct.verification import cli as edct
from cfeval.edct.verification.chain import START, ChainLine, hash_of, head_after
from cfeval_audit.bundle.contents import (
    ABOUT,
    FULL,
    MANIFEST,
    UsedFile,
    about_json,
    head_of,
    manifest_text,
    may_stay,
    outputs_of,
    result_files,
    used_file_may_stay,
    used_files,
)
from cfeval_audit.bundle.stored_zip import PIECE, Source, write

CRATE = "ro-crate-metadata.json"
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
            "@id": CRATE,
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
    language = {"@id": _SNAKEMAKE, "@type": "ComputerLanguage", "name": "Snakemake"}
    yield {
        **language,
        "identifier": "https://doi.org/10.1093/bioinformatics/bts480",
        "url": "https://snakemake.github.io",
    }
    for url, (name, version) in PROFILES.items():
        yield {"@id": url, "@type": "CreativeWork", "name": name, "version": version}


LEFT_OUT = "left out"
"""What is written instead of a reason."""


def redacted_scores(file: Path) -> bytes:
    """A score file of edct (CSV) with its reasons left out; empty where it has none and can stay as it is."""
    with file.open(encoding="utf-8", newline="") as stream:
        rows = csv.DictReader(stream)
        content = io.StringIO()
        writer = csv.DictWriter(content, rows.fieldnames or (), lineterminator="\n")
        writer.writeheader()
        changed = False
        for row in rows:
            if row.get("reason"):
                row["reason"], changed = LEFT_OUT, True
            writer.writerow(row)
    return content.getvalue().encode() if changed else b""


def score_faults(results: Path, chain: Path) -> Iterator[str | None]:
    """What is wrong with each score of a redacted bundle; empty where nothing is, None where its reason is left out.

    The heads of the chain are those of its lines, and each score's record has the hash that its line names.
    """
    head = START
    rows: dict[str, Iterator[Score]] = {}
    with chain.open(encoding="utf-8") as lines, ExitStack() as opened:
        for number, text in enumerate(lines, start=1):
            line = parse_line(chain, number, text, ChainLine)
            head = head_after(head, line)
            if line.head != head:
                yield f"{chain.name}, line {number}: its head is not that of its lines"
            yield _score_fault(line, rows, results, opened)
        for condition, rest in rows.items():
            if next(rest, None) is not None:
                yield f"scores/{condition}: a score of which {chain.name} has no line"


def _scores(files: Sequence[Path]) -> Generator[Score, None, None]:
    for file in files:
        yield from stage_records("scores", file)


def _score_fault(line: ChainLine, rows: dict[str, Iterator[Score]], results: Path, opened: ExitStack) -> str | None:
    condition = condition_path(line)
    if condition not in rows:
        shards = conditions_in(results).get(Condition(**{name: getattr(line, name) for name in Condition.model_fields}))
        files = stage_files(results, "scores", line, shards) if shards else []
        rows[condition] = opened.enter_context(closing(_scores(files)))
    score = next(rows[condition], None)
    place = f"scores/{condition}, item '{line.id}', edit {line.edit}"
    if score is None or (score.id, score.edit, score.status) != (line.id, line.edit, line.status):
        return f"{place}: not the score that the chain has there"
    if failed(score) and score.reason == LEFT_OUT:
        return None
    return "" if hash_of(score) == line.score else f"{place}: not the score whose hash the chain has"


def only_score_tables(step: Step, results: Mapping[str, str]) -> Step:
    """A step that made the tables of edct, as if it had been asked for those alone that are made of scores.

    Args:
        step: any step that made tables.
        results: the evaluations by their folders of results.
    """
    study = step["options"].get(STUDY)
    if step["options"].get("") != ["edct", "tables"] or not isinstance(study, dict):
        return step
    of_scores = {name for name, table in TABLES.items() if table.made_of == "scores"}
    tables = {name: table for name, table in study.get("tables", {}).items() if name in of_scores}
    metrics = [name for name in study.get("metrics", ()) if name in tables]
    options = {name: value for name, value in study.items() if name != PAIRS} | {"tables": tables, "metrics": metrics}
    files = {f"edct_{name}" for name in tables}
    if metrics == study.get("metrics", []):
        files.add("metrics")
    within = tuple(f"{folder}/" for folder in results)
    return {
        **step,
        "options": {**step["options"], STUDY: options},
        "inputs": {
            path: sha for path, sha in step["inputs"].items() if not path.startswith(within) or may_stay(path, results)
        },
        "outputs": {path: sha for path, sha in step["outputs"].items() if PurePosixPath(path).stem in files},
    }


# A line of hashes for each score of edct (`cfeval verify --out`).
CHAIN = "chain-edct.jsonl"
# The folders of results whose records name the model that answered.
ANSWERS = frozenset({"baselines", "requeries", "pair_baselines", "answers"})
NO_LICENCE = "None is granted by this bundle; ask whoever made it."
_WORKFLOW = ("Snakefile", "workflow/rules", "workflow/progress.py")


@dataclass(frozen=True)
class Study:
    """What a bundle is built from; paths are relative to the working folder."""

    params: Params
    results: Mapping[str, str]
    """The evaluations by their folders of results."""
    records: Sequence[str]
    """The records of its steps."""
    parameters: Mapping[str, Path]
    """The parameter files, by their paths in the bundle."""
    date: str
    """ISO 8601."""
    licence: str = NO_LICENCE


@dataclass(frozen=True, slots=True)
class _File:
    content: bytes | str
    size: int
    crc: int
    sha256: str


def build(study: Study, out: Path, redact: bool = False) -> str:
    """Check the study's records, then write the bundle; the same study and date give the same bytes.

    No more than the names and hashes of files is in memory, and the largest shard of the records that are checked.

    Args:
        study: what to take.
        out: the archive.
        redact: leave texts and images out; their hashes stay.

    Returns:
        The bundle's head: the hash of its manifest.

    Raises:
        InputError: something is missing or does not fit together.
    """
    with TemporaryDirectory(prefix="cfeval-bundle-") as folder:
        chain = _checked(study, Path(folder, CHAIN))
        used, made = used_files(study.records), outputs_of(study.records)
        files = _whole(study, used, made, chain)
        if redact:
            files = _redacted(study, used, made, files)
        listed = manifest_text({name: file.sha256 for name, file in files.items()})
        files = {MANIFEST: _of_bytes(listed.encode()), **dict(sorted(files.items()))}

        def write_archive(part: Path) -> None:
            with part.open("wb") as stream:
                write(stream, (Source(name, file.content, file.size, file.crc) for name, file in files.items()))

        write_bytes_by(out, write_archive)
    return head_of(listed)


def _checked(study: Study, chain: Path) -> list[tuple[str, Path]]:
    """Check the records of each evaluation; returns the chain, where there is one."""
    chains = []
    for folder, evaluation in study.results.items():
        if evaluation == "edct" and any(
            Path(folder, name).is_dir() for name in ("verdicts", "scores", "pair_verdicts")
        ):
            edct.verify(Path(folder), "", None, None, None, "", 0.0, "{}", None, chain, 20)
            chains = [(CHAIN, chain)]
        elif evaluation == "cvqa":
            cvqa.verify(Path(folder))
    return chains


def _whole(
    study: Study, used_by_steps: Sequence[UsedFile], outputs: Sequence[str], chain: Sequence[tuple[str, Path]]
) -> dict[str, _File]:
    used = {**study.parameters, **{file.place: file.source for file in used_by_steps}}
    made = [*result_files(outputs), *study.records]
    files = {name: _of_file(str(path)) for name, path in used.items()}
    files |= {name: _of_file(name) for name in made}
    files |= {name: _of_file(str(path)) for name, path in (*_carried(), *chain)}
    archives = [name for name in made if name.endswith("/calls/calls.zip")]
    answers = [name for name in made if name.endswith(".jsonl") and not ANSWERS.isdisjoint(name.split("/"))]
    files[ABOUT] = _of_bytes(about_json(study.params, study.records, archives, answers, study.date))
    files[CRATE] = _crate(study, outputs, files, used)
    return files


def _crate(
    study: Study, outputs: Sequence[str], files: Iterable[str], used: Iterable[str], redact: bool = False
) -> _File:
    """The description of the bundle: record files one by one, images by their folders."""
    folders = [path for path in outputs if path.endswith("/")]
    of_results = tuple(f"{folder}/" for folder in study.results)
    listed = {path for path in outputs if not path.endswith("/")} | set(study.records)
    in_bundle = set(files)
    made = listed & in_bundle
    others = {name for name in in_bundle - made - set(used) if not name.startswith(of_results)}
    image_folders = [] if redact else [folder for folder in folders if Path(folder).is_dir()]
    facts = Facts(study.date, study.licence, sorted(set(study.results.values())), redact)
    return _of_bytes(crate(facts, in_bundle & set(used), made, image_folders, others))


def _redacted(
    study: Study, used_by_steps: Sequence[UsedFile], outputs: Sequence[str], files: Mapping[str, _File]
) -> dict[str, _File]:
    used = {file.place for file in used_by_steps if used_file_may_stay(file)} | study.parameters.keys()
    apart = {file.place for file in used_by_steps} - used
    of_results = tuple(f"{folder}/" for folder in study.results)
    kept = {
        name: file
        for name, file in files.items()
        if (may_stay(name, study.results) if name.startswith(of_results) else name not in apart)
    }
    for folder, evaluation in study.results.items():
        if evaluation == "edct":
            scores = [name for name in kept if name.startswith(f"{folder}/scores/") and name.endswith(".csv")]
            kept |= {name: _of_bytes(content) for name in scores if (content := redacted_scores(Path(name)))}
    whole = manifest_text({name: file.sha256 for name, file in files.items()})
    kept[FULL] = _of_bytes(whole.encode())
    kept[CRATE] = _crate(study, outputs, [name for name in kept if name != CRATE], used, redact=True)
    return kept


def _carried() -> Iterator[tuple[str, Path]]:
    """The workflow of cfeval; of a checkout its lock and licence too."""
    for name in _WORKFLOW:
        source = carried(name)
        for path in sorted(source.rglob("*.smk")) if source.is_dir() else [source]:
            yield (f"{name}/{path.relative_to(source).as_posix()}" if source.is_dir() else name), path
    for name in ("requirements.lock", "LICENSE"):
        path = carried("Snakefile").parent / name
        if path.is_file():
            yield name, path


def _of_bytes(content: bytes) -> _File:
    return _File(content, len(content), zlib.crc32(content), hashlib.sha256(content).hexdigest())


def _of_file(path: str) -> _File:
    sha256, size, crc = hashlib.sha256(), 0, 0
    try:
        with open(path, "rb") as stream:  # noqa: PTH123 (a path object for each of many files is memory)
            while piece := stream.read(PIECE):
                sha256.update(piece)
                size, crc = size + len(piece), zlib.crc32(piece, crc)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; run the study to its end first") from None
    return _File(path, size, crc, sha256.hexdigest())
