"""The steps that see a whole study: its tables with their headline figures, its figures, the calls that it rests on."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from cfeval.core.cli_options import OutFolder, StudyFile, read_study_params
from cfeval.core.errors import InputError, nearest
from cfeval.core.jsonl import read_csv, read_jsonl
from cfeval.core.package import carried
from cfeval.edct.asked import PAIRS, AskedPairs, AskedTable, AskedTables, Conditions
from cfeval.edct.exam.table import exam_error
from cfeval.edct.exam.verdict import ExamError
from cfeval.edct.files import STAGES, ConditionFiles, stage_files
from cfeval.edct.options import Results
from cfeval.edct.pairs.measures import PublishedPairs, notes
from cfeval.edct.pairs.records import PairVerdict, pair_files, verdict_files
from cfeval.edct.tables import FIGURES, TABLES
from cfeval.edct.tables.conditions import metrics
from cfeval.edct.tables.scores import Published, TableData, material
from cfeval.inference.cli import Archive, CacheFile, calls_named, opened
from cfeval.inference.remote.archive import export
from cfeval.report.files import Figures, TablesFolder, draw_figures, write_metrics, write_table

# The papers' published figures.
REFERENCE = ("data/reference/edct-2025.csv", "data/reference/edct-bench-2026.csv")
# Published figures of sets of given pairs.
PAIR_REFERENCE = "data/reference/pairs.csv"
_NAME_CALLS = [stage for stage in STAGES if stage not in ("items", "scores")]


def run_tables(study: StudyFile, out: OutFolder, results: Results = Path("results/edct")) -> None:
    """Make the study's tables: CSV with every column, Markdown and LaTeX for readers; and headline figures as JSON.

    They are made of scores; `gate` of counterfactuals, `pairs` of verdicts. A table without a condition is empty.
    """
    request = read_study_params(study, AskedTables)
    if unknown := [name for name in (*request.tables, *request.metrics) if name not in TABLES]:
        raise InputError(f"{study}: unknown table '{unknown[0]}'; {nearest(unknown[0], TABLES)}")
    exams = {  # refused before any score is read
        name: {judge: exam_error(Path(path), judge, shown.examined.get(judge)) for judge, path in shown.exams.items()}
        for name, shown in request.tables.items()
    }
    for name, table_request in request.tables.items():
        table = TABLES[name].load()
        rows = table.rows(table_request.conditions, _made_from(name, table_request, request, results, exams[name]))
        write_table(out / f"edct_{name}", table.row, rows, table.render(rows))
    if request.pairs:
        _pair_table(request.pairs, request, results, out / f"edct_{PAIRS}")
    write_metrics("edct", TABLES, request.metrics, metrics, out, "metrics.json")


def _made_from(
    name: str, table: AskedTable, study: AskedTables, results: Path, exams: Mapping[str, ExamError]
) -> TableData:
    among = table.conditions + table.beside
    files = {condition: ConditionFiles(results, condition, study.shards) for condition in among}
    of_edits = TABLES[name].made_of == "counterfactuals"
    return material(
        {} if of_edits else {condition: some.scores() for condition, some in files.items()},
        counterfactuals={
            condition: (record for record, _ in some.counterfactuals()) for condition, some in files.items() if of_edits
        },
        how=study.interval,
        failed_edits=table.failed_edits,
        published=[line for file in REFERENCE for line in read_csv(carried(file), Published)],
        test_targets=list(table.test_targets),
        known=table.known,
        exams=exams,
        expected=table.expected,
        judge_error=list(table.judge_error),
        repeats=table.repeats,
        compared_with=table.compared_with,
        all_pairs=table.all_pairs,
    )


def _pair_table(table: AskedPairs, study: AskedTables, results: Path, out: Path) -> None:
    from cfeval.edct.pairs.table import PairData, PairRow, render, rows  # most studies have none

    def verdicts(files: Iterable[Path]) -> list[PairVerdict]:
        return [record for file in files for record in read_jsonl(file, PairVerdict)]

    data = PairData(
        {condition: verdicts(verdict_files(results, condition, study.shards)) for condition in table.conditions},
        study.interval,
        list(table.test_targets),
        table.expected,
        read_csv(carried(PAIR_REFERENCE), PublishedPairs),
        table.sets,
    )
    made = rows(table.conditions, data)
    write_table(out, PairRow, made, render(made, notes(data.published, data.sets)))


def run_figures(tables: TablesFolder, figure: Figures, out: OutFolder) -> None:
    """Draw figures of the study from its tables (PNG, SVG and PDF)."""
    draw_figures("edct", FIGURES, TABLES, figure, tables, out)


def run_calls(study: StudyFile, out: Archive, results: Results = Path("results/edct"), cache: CacheFile = None) -> None:
    """Write the calls that a study's records name into one archive, which replays them on another machine.

    A call that the cache lacks is taken from the archive that is there.
    """
    request = read_study_params(study, Conditions)
    files: dict[Path, None] = {}
    for condition in request.conditions:
        for stage in _NAME_CALLS:
            files |= dict.fromkeys(stage_files(results, stage, condition, request.shards))
    for pair_condition in request.pairs:
        files |= dict.fromkeys(pair_files(results, pair_condition, request.shards))
    print(f"{export(opened(cache, new=True), calls_named(files), out)} calls in {out}")
