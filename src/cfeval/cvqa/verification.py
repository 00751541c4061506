"""Check that the results of the study belong together, offline: images, questions, answers, calls and scores.

The calls to models outside that a study's records came from: one archive, which replays them without a key.
"""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path

from cfeval.core.cli_options import StudyFile, read_study_params
from cfeval.core.errors import InputError
from cfeval.core.images import fault_of, folder_of
from cfeval.core.jsonl import read_jsonl
from cfeval.core.records import Status
from cfeval.core.shards import shard_files
from cfeval.core.streams import StreamingLookup
from cfeval.core.vouching import Fault, report_links, vouched
from cfeval.cvqa.files import Results
from cfeval.cvqa.records import Answer, CvqaScore, Draft, QuestionPair, Reading, Review
from cfeval.cvqa.stages.scores import scores
from cfeval.cvqa.step_params import CallsParams
from cfeval.inference.cli import Archive, CacheFile, calls_named, opened
from cfeval.inference.remote import archive
from cfeval.inference.remote.archive import export
from cfeval.inference.remote.cache_db import StoredCall
from cfeval.inference.remote.request import Response

# Where the workflow puts the calls of a study, under its results.
ARCHIVE = Path("calls", "calls.zip")


def verify(
    results: Path, calls: Path | None = None, cache: Path | None = None, limit: int = 20, tables: Iterable[Fault] = ()
) -> None:
    """Check every file of the study's results against those that it rests on, and print what does not fit.

    Images are those that their records name, answers are to the set's own questions, scores follow from questions
    and answers, every call that a record names is in the archive or the cache and whole, and a program's steps name no
    call that its record does not. Records (`X.made.json`), where there are any, name the files as they are.

    Args:
        results: the study's folder, such as results/cvqa.
        calls: the archive of the calls; None: calls/calls.zip of the results.
        cache: a response cache to look for calls in, besides.
        limit: how many faults to print.
        tables: what was found when the tables were made again.

    Raises:
        InputError: there are no answers, or something does not fit.
    """
    answered = sorted((results / "answers").rglob("*.jsonl"))
    if not answered:
        raise InputError(f"{results}: no answers; name the folder that holds questions/, answers/ and scores/")
    stored = dict(_stored(results, calls or results / ARCHIVE, cache))
    kinds = (
        ("images", _images(results)),
        ("calls", _calls(results, answered, stored)),
        ("scores", _scores(results, answered)),
        ("records", ((str(file), fault) for file, fault in vouched(results).faults(answered))),
        ("tables", tables),
    )
    report_links(results, len(answered), kinds, limit)


def _images(results: Path) -> Iterator[Fault]:
    kinds: dict[str, type[QuestionPair] | type[Draft]] = {"questions": QuestionPair, "drafts": Draft}
    for folder, kind in kinds.items():
        for file in sorted((results / folder).rglob("*.jsonl")):
            for record in read_jsonl(file, kind):
                refs = record.all_images if isinstance(record, QuestionPair) else (record.image,)
                for ref in refs:
                    yield f"{file}, item '{record.id}'", fault_of(folder_of(file), ref)


def _calls(results: Path, answered: Iterable[Path], stored: dict[str, StoredCall]) -> Iterator[Fault]:
    """The calls of every record: kept, whole, and of a chat's reply the one that says what the record says."""
    kinds: dict[str, type[Draft | Review | Reading]] = {"drafts": Draft, "reviews": Review, "readings": Reading}
    for folder, kind in kinds.items():
        for file in sorted((results / folder).rglob("*.jsonl")):
            for record in read_jsonl(file, kind):
                yield from _kept(f"{file}, item '{record.id}'", record.calls, stored)
    for file in answered:
        for answer in read_jsonl(file, Answer):
            where = f"{file}, item '{answer.id}', {answer.side}"
            yield from _kept(where, answer.calls, stored)
            if answer.program is not None:
                steps = {key for step in answer.program.trace for key in step.calls}
                lost = steps - set(answer.calls)
                yield where, "a step names a call that its record does not" if lost else ""
            elif answer.status == Status.OK and answer.calls and answer.calls[-1] in stored:
                reply_text = Response.from_json(stored[answer.calls[-1]].reply, None).text
                yield where, "" if answer.text in reply_text else "its text is not in the reply that its call brought"


def _kept(where: str, named: Iterable[str], stored: dict[str, StoredCall]) -> Iterator[Fault]:
    for key in named:
        yield where, "" if key in stored else f"its call {key[:12]}… is not among the calls"


def _scores(results: Path, answered: Iterable[Path]) -> Iterator[Fault]:
    for file in answered:
        name = file.relative_to(results / "answers")
        scored, shard = results / "scores" / name, name.parts[2:]
        questions = (results / "questions" / name.parts[0]).joinpath(*shard) if shard else None
        source = questions or results / "questions" / f"{name.parts[0]}.jsonl"
        try:
            pairs = StreamingLookup(source, QuestionPair, lambda pair: pair.id)
            made = scores(pairs, read_jsonl(file, Answer))
            for remade, stored in zip_longest(made, read_jsonl(scored, CvqaScore)):
                score = remade or stored
                assert score is not None, "the longer of both goes on"
                fault = "" if remade == stored else "does not follow from its question and answer"
                yield f"{scored}, item '{score.id}', {score.side}", fault
        except InputError as error:
            yield str(scored), str(error)


def _stored(results: Path, zipped: Path, cache: Path | None) -> Iterator[tuple[str, StoredCall]]:
    """The calls that records name and that can be had, each checked against its key and seal."""
    named = calls_named(
        path for path in (results / stage for stage in ("drafts", "reviews", "answers", "readings")) if path.is_dir()
    )
    yield from ((call.key, call) for call, _ in archive.read(zipped) if call.key in named)
    for call in opened(cache).calls(named) if cache else ():
        if fault := call.fault():
            raise InputError(f"{cache}: call {call.key} {fault}; restore it with `cfeval cache import`")
        yield call.key, call


def run_calls(study: StudyFile, out: Archive, results: Results = Path("results/cvqa"), cache: CacheFile = None) -> None:
    """Write the calls that a study's records name into one archive, which replays them on another machine.

    A call that the cache lacks is taken from the archive that is there.
    """
    params = read_study_params(study, CallsParams)
    places = [results / stage / name for name in params.builds for stage in ("drafts", "reviews")]
    places += [results / "answers" / condition.set / condition.solver for condition in params.conditions]
    places += [
        results / "readings" / name / condition.set / condition.solver
        for name in params.readers
        for condition in params.conditions
    ]
    files = [file for place in places for file in shard_files(place.with_name(f"{place.name}.jsonl"), params.shards)]
    print(f"{export(opened(cache, new=True), calls_named(dict.fromkeys(files)), out)} calls in {out}")
