"""Build the audit bundle of a study: everything that its tables rest on, in one archive whose bytes follow from it."""

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from cfeval.config import Params
from cfeval.core.errors import InputError
from cfeval.core.files import write_bytes_by
from cfeval.core.package import carried
from cfeval.cvqa import verification as cvqa
from cfeval.edct.verification import cli as edct
from cfeval_audit.bundle import crate
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
from cfeval_audit.bundle.redaction import redacted_scores
from cfeval_audit.bundle.stored_zip import PIECE, Source, write

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
    """Every file but the manifest."""
    used = {**study.parameters, **{file.place: file.source for file in used_by_steps}}
    made = [*result_files(outputs), *study.records]
    files = {name: _of_file(str(path)) for name, path in used.items()}
    files |= {name: _of_file(name) for name in made}
    files |= {name: _of_file(str(path)) for name, path in (*_carried(), *chain)}
    archives = [name for name in made if name.endswith("/calls/calls.zip")]
    answers = [name for name in made if name.endswith(".jsonl") and not ANSWERS.isdisjoint(name.split("/"))]
    files[ABOUT] = _of_bytes(about_json(study.params, study.records, archives, answers, study.date))
    files[crate.NAME] = _crate(study, outputs, files, used)
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
    facts = crate.Facts(study.date, study.licence, sorted(set(study.results.values())), redact)
    return _of_bytes(crate.crate(facts, in_bundle & set(used), made, image_folders, others))


def _redacted(
    study: Study, used_by_steps: Sequence[UsedFile], outputs: Sequence[str], files: Mapping[str, _File]
) -> dict[str, _File]:
    """The files without texts and images, and the manifest of all."""
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
    kept[crate.NAME] = _crate(study, outputs, [name for name in kept if name != crate.NAME], used, redact=True)
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
