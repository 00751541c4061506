"""Check that the results of a study belong together, offline: from image to score, item by item."""

import functools
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from cfeval.core.errors import InputError
from cfeval.core.files import atomic_writer, ensure_writable
from cfeval.core.images import fault_of, folder_of, names_in
from cfeval.core.jsonl import read_jsonl, record_line
from cfeval.core.record import ENDING
from cfeval.core.vouching import Fault, vouched
from cfeval.edct.files import STAGES, condition_path, conditions_in, stage_files, stage_records
from cfeval.edct.options import conditions_of, exam_errors, interval_of
from cfeval.edct.protocols.rules import RULES
from cfeval.edct.records import Condition, Score
from cfeval.edct.verification.chain import (
    ChainLine,
    ConditionRecords,
    Link,
    StoredCalls,
    call_links,
    calls_of,
    chain,
    image_links,
    is_whole,
    kept_links,
    on_disk,
    text_links,
)
from cfeval.edct.verification.pairs import (
    PairShelf,
    pair_links,
    pair_shelves,
    pair_table_links,
    pair_text_links,
    read_pair_table,
    read_table,
    table_links,
)
from cfeval.edct.verification.stages import stage_links
from cfeval.inference.cli import opened
from cfeval.inference.remote import archive

# Where the workflow puts the calls of a study, under its results.
ARCHIVE = Path("calls", "calls.zip")
_ADVICE = {
    "records": "restore the file and its record, or make it and what follows from it again by snakemake",
    "calls": "name the archive or cache that holds it, unchanged, by --calls or --cache",
    "tables": "make the table again from these scores",
    "kept": "find out what changed it since the chain was kept",
}
_UNRECORDED = f"without records: no X{ENDING} ties these files to what they were made from, as snakemake's results have"
# So many files are kept in memory, because the next condition may share them.
_SHARED = 2 * len(STAGES)
_RESTORE = "restore the file, or make it and what follows from it again"


class Tally:
    """Counts links by kind, and prints what is wrong with each, up to a limit."""

    def __init__(self, limit: int) -> None:
        self.links: Counter[str] = Counter()
        self.faults = 0
        self._limit = limit

    def add(self, kind: str, where: object, links: Iterable[Link]) -> None:
        """Count some links."""
        number = 0
        for link in links:
            number += 1
            if link.fault:
                self.faults += 1
                item, edit = link.key
                place = f"{where}" + f", item '{item}'" * bool(item) + f", edit {edit}" * bool(edit)
                if self.faults <= self._limit:
                    print(f"FAIL {' '.join(f'{place}: {link.fault}; {_ADVICE.get(kind, _RESTORE)}'.split())}")
                elif self.faults == self._limit + 1:
                    print("FAIL … and more; see --limit")
        if number:
            self.links[kind] += number

    @contextmanager
    def unreadable(self, kind: str, where: object) -> Iterator[None]:
        """Count a file that cannot be read in this block as a fault."""
        try:
            yield
        except InputError as error:
            self.add(kind, where, [Link(kind, ("", 0), str(error))])


def verify(
    results: Path,
    conditions: str,
    calls: Path | None,
    cache: Path | None,
    table: Iterable[Path] | None,
    interval: str,
    failed_edits: float,
    exams: str,
    kept: Path | None,
    out: Path | None,
    limit: int,
    again: Iterable[Fault] = (),
) -> None:
    """Check results of edct from image to score; the arguments are the options of `cfeval verify`.

    `again` is what was found when the tables were made again, file by file.

    Raises:
        CfevalError: something does not fit, or cannot be read; then no chain is written.
    """
    if out:
        ensure_writable(out)
    if calls and not calls.is_file():
        raise InputError(f"--calls: no file {calls}")
    listed = list(table or ())
    of_pairs = {file: shown for file in listed if (shown := read_pair_table(file)) is not None}
    tables = {file: read_table(file) for file in listed if file not in of_pairs}
    settings = interval_of(interval) if interval else None
    errors = exam_errors(exams)
    wanted = conditions_of(conditions) if conditions else None
    tally, done, scores = Tally(limit), set[Path](), list[Score]()
    with on_disk() as stored, _chain_file(out) as add:
        zipped = calls or results / ARCHIVE
        with tally.unreadable("calls", zipped):
            for call, _ in archive.read(zipped):  # each checked against its key and seal
                stored.add(call)
        pairs: list[PairShelf] = []
        with tally.unreadable("files", "a file"):
            pairs = [] if conditions else list(pair_shelves(results))
        checker = _Checker(stored, cache, done, tally)
        for shelf in pairs:
            checker.check(
                shelf.files, shelf.records, partial(pair_links, shelf=shelf), partial(pair_text_links, shelf=shelf)
            )
        checked = _checked(_conditions(results, wanted, tally, bool(pairs)), checker, scores if tables else None)
        number, head, chained, kept_lines = 0, "", set[str](), list[ChainLine]()
        for line in chain(checked):
            number, head = number + 1, line.head
            chained.add(condition_path(line))
            add(line)
            kept_lines += [line] if kept else []
        if not conditions and not tally.faults:
            _name_others(results, done)
        for file, fault in vouched(results).faults(done):
            tally.add("records", file, [Link("records", ("", 0), fault)])
        for place, fault in again:
            tally.add("tables", place, [Link("tables", ("", 0), fault)])
        for file, (name, rows) in tables.items():
            tally.add("tables", file, table_links(name, rows, scores, settings, failed_edits, errors))
        for file, shown in of_pairs.items():
            tally.add("tables", file, pair_table_links(shown, pairs, settings))
        if kept:
            tally.add("kept", kept, _kept(kept, kept_lines, wanted))
        print(_totals(results, tally, len(chained), number, pairs))
        if tally.faults:
            nothing = "; no chain is written" if out else ""
            faults = f"{tally.faults} of {tally.links.total():,} links do not hold; see above{nothing}"
            raise InputError(f"{results}: {faults}")
        fine = "fine" if tally.links["records"] else f"fine, but {_UNRECORDED}"
        ending = f"the chain's head is {head}" if number else "given pairs have no chain"
        print(f"{fine}; {ending}")


def _name_others(results: Path, done: Collection[Path]) -> None:
    others = [file for stage in STAGES for file in sorted((results / stage).rglob("*.jsonl")) if file not in done]
    if others:
        rest = f"{len(others)} files, such as {others[0]}"
        print(f"not looked at, since no condition with verdicts rests on them: {rest}")


def _totals(results: Path, tally: Tally, conditions: int, number: int, pairs: Sequence[PairShelf]) -> str:
    given = len({shelf.condition for shelf in pairs}), sum(len(shelf.records["pair_verdicts"]) for shelf in pairs)
    pair_text = f"{given[0]} conditions of given pairs, {given[1]:,} verdicts; " if pairs else ""
    links = ", ".join(f"{kind} {count:,}" for kind, count in tally.links.items())
    return f"{results}: {conditions} conditions, {number:,} items and edits; {pair_text}links: {links}"


@contextmanager
def _chain_file(out: Path | None) -> Iterator[Callable[[ChainLine], None]]:
    """Yields the function that adds a line; the file appears where all is well at the end, if one is wanted."""
    if out is None:
        yield lambda _: None
        return
    with atomic_writer(out) as add:
        yield lambda line: add(record_line(line))


@dataclass(frozen=True)
class _Checker:
    """Looks at the links of every file once: those of which a file of another condition was looked at are left out."""

    stored: StoredCalls
    cache: Path | None
    done: set[Path]
    tally: Tally

    def check(
        self,
        files: Mapping[str, Path],
        records: Mapping[str, Sequence[Any]],
        links: Callable[[str], Iterable[Link]],
        text_links: Callable[..., Iterable[Link]],
    ) -> None:
        """Count the links of some files, all by stage, and add the files to `done`."""
        new = {stage: file for stage, file in files.items() if file not in self.done}
        self.done.update(new.values())
        if self.cache:
            named = {key for stage in new for record in records[stage] for key in calls_of(record)}
            # Keep those calls of a response cache that records name.
            for call in opened(self.cache).calls(named):
                fault = call.fault()
                self.tally.add("calls", self.cache, [Link("calls", ("", 0), fault and f"call {call.key} {fault}")])
                if not fault:
                    self.stored.add(call)
        for stage, file in new.items():
            self.tally.add(stage, file, links(stage))
            self.tally.add("calls", file, call_links(stage, records[stage], self.stored))
            self.tally.add("texts", file, text_links(stage, stored=self.stored))
            folder, there = folder_of(file), list[str]()
            with suppress(OSError):  # each image of a folder that cannot be read tells so
                there = [name for name in names_in(folder) if name.endswith(".png")]
            look = functools.cache(partial(fault_of, folder))
            self.tally.add("images", file, image_links(stage, records[stage], look, there))


def _checked(
    conditions: Iterable[tuple[Mapping[str, Path], ConditionRecords]], checker: _Checker, scores: list[Score] | None
) -> Iterator[ConditionRecords]:
    """Yields the records of each condition after its links were looked at, and adds its scores to `scores`."""
    for files, records in conditions:
        by_stage = {stage: getattr(records, stage) for stage in files}
        checker.check(files, by_stage, partial(stage_links, records=records), partial(text_links, records=records))
        if scores is not None:
            scores.extend(records.scores)
        yield records


def _conditions(
    results: Path, wanted: Sequence[Condition] | None, tally: Tally, pairs: bool
) -> Iterator[tuple[Mapping[str, Path], ConditionRecords]]:
    """The files and records of each condition, or of each shard of it; a file that cannot be read is a fault."""
    shards_of = conditions_in(results, may_be_none=pairs)
    chosen = list(shards_of if wanted is None else dict.fromkeys(wanted))
    for condition in chosen:
        if condition not in shards_of:
            raise InputError(
                f"{results}: no verdicts and no scores of the condition {condition_path(condition)}; see --conditions"
            )
        if condition.protocol not in RULES:
            raise InputError(
                f"{condition_path(condition)}: no protocol '{condition.protocol}'; allowed: {', '.join(RULES)}"
            )
    records = functools.lru_cache(_SHARED)(lambda stage, file: list(stage_records(stage, file)))
    broken = set[str]()
    for condition in chosen:
        for number in range(shards_of[condition]):
            files = {stage: stage_files(results, stage, condition, shards_of[condition])[number] for stage in STAGES}
            try:
                by_stage = {stage: records(stage, file) for stage, file in files.items()}
                yield files, ConditionRecords(condition, **by_stage)
            except InputError as error:
                if str(error) not in broken:
                    broken.add(str(error))
                    tally.add("files", "a file", [Link("files", ("", 0), str(error))])


def _kept(file: Path, lines: Sequence[ChainLine], conditions: Sequence[Condition] | None) -> Iterator[Link]:
    """The links to a chain that was kept; of its lines, those of the conditions that are checked."""
    kept = list(read_jsonl(file, ChainLine))
    yield Link("kept", ("", 0), "" if is_whole(kept) else "the kept chain was changed: a head is not that of its lines")
    checked = {condition_path(condition) for condition in (kept if conditions is None else conditions)}
    yield from kept_links([line for line in kept if condition_path(line) in checked], lines)
