"""The stages go through files of any length, in any order, and say in one line what does not fit together."""

import os
import resource
import shutil
import tracemalloc
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from inspect import unwrap
from io import StringIO
from pathlib import Path

import pytest

from cfeval import cli
from cfeval.core import record
from cfeval.core.files import atomic_writer
from cfeval.core.shards import atomic_records_with_images, whole_or_shards
from cfeval.core.streams import StreamingLookup
from cfeval.edct.stages import baselines, checks, counterfactuals, instructions, verdicts
from tests.conftest import Run
from tests.edct.stages.stages import MODELS, OUTPUTS, READS, Stages, staged

FEW, MANY = 40, 140
AN_ITEM = 1000
"""Bytes; a stage that held what it reads would take from two to ten times as many an item."""
NOT_LOOKED_UP = {("instructions", "samples"), ("verdicts", "counterfactuals")}
"""Only uncited edits, and judges that look at images, need these."""
LOOKED_UP = [(stage, name) for stage in READS for name in READS[stage][1:] if (stage, name) not in NOT_LOOKED_UP]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all stages of five items, made once; not to be changed."""
    folder: Path = tmp_path_factory.mktemp("stages") / "study"

    def run(*arguments: object) -> tuple[int, str, str]:
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()) as err:
            status = cli.run([str(argument) for argument in arguments])
        return status, out.getvalue(), err.getvalue()

    staged(folder, 5, run).run_all()
    return folder


@pytest.fixture
def done(finished: Path, tmp_path: Path, cfeval: Run) -> Stages:
    """All stages of five items."""
    return Stages(shutil.copytree(finished, tmp_path / "study"), cfeval)


@pytest.fixture
def small_measures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows, pieces and batches that few items fill."""
    for function, measure in (
        (StreamingLookup.__init__, 32),
        (unwrap(atomic_writer), 2048),
        (unwrap(atomic_records_with_images), 2048),
    ):
        monkeypatch.setattr(function, "__defaults__", (measure,))
    for stage in (baselines, checks, counterfactuals, instructions, verdicts):
        monkeypatch.setattr(stage, "BATCH", 16)


def peak(stages: Stages, stage: str) -> int:
    """The memory that a stage takes at most, in bytes, imports left out.

    The lesser of two runs: a table of the interpreter's own (of interned names) may double in one of them.
    """
    return min(peak_of_a_run(stages, stage) for _ in range(2))


def peak_of_a_run(stages: Stages, stage: str) -> int:
    Path(f"{stages.file(stage)}{record.ENDING}").unlink(missing_ok=True)  # or nothing would be done
    tracemalloc.start()
    try:
        assert stages.run(stage)[0] == 0
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.usefixtures("small_measures")
@pytest.mark.slow
def test_no_stage_holds_more_the_more_items_there_are(tmp_path: Path, cfeval: Run) -> None:
    staged(tmp_path / "imports", 3, cfeval).run_all()
    few, many = staged(tmp_path / "few", FEW, cfeval), staged(tmp_path / "many", MANY, cfeval)
    peaks = {stage: (peak(few, stage), peak(many, stage)) for stage in OUTPUTS}
    grown = {stage: more - less for stage, (less, more) in peaks.items()}
    assert {stage: size for stage, size in grown.items() if size > AN_ITEM * (MANY - FEW)} == {}


@pytest.mark.parametrize(("stage", "name"), LOOKED_UP)
def test_the_order_of_a_file_in_which_things_are_looked_up_changes_nothing(done: Stages, stage: str, name: str) -> None:
    turned, before = done.file(name), done.content(stage)
    turned.write_text("".join(reversed(turned.read_text().splitlines(keepends=True))))
    assert done.run(stage)[0] == 0
    assert done.content(stage) == before


@pytest.mark.parametrize(("stage", "name"), LOOKED_UP)
def test_files_of_two_runs_are_one_line_and_nothing_is_written(
    done: Stages, tmp_path: Path, stage: str, name: str
) -> None:
    short, out = done.file(name), tmp_path / "out" / "x.jsonl"
    short.write_text("".join(short.read_text().splitlines(keepends=True)[:-1]))
    status, said = done.run(stage, out)
    line = said.splitlines()[-1]
    assert (status, "Traceback" in said) == (2, False)
    assert f"{short}: no record of 'i4'" in line
    assert line.endswith("give the files of one and the same run")
    assert [path for path in out.parent.rglob("*") if path.is_file()] == []


@pytest.mark.slow
@pytest.mark.parametrize(("stage", "name"), [(stage, name) for stage in READS for name in READS[stage]])
def test_a_file_that_is_not_there_is_told_at_once(done: Stages, tmp_path: Path, stage: str, name: str) -> None:
    file, out = done.file(name), tmp_path / "out" / "x.jsonl"
    file.unlink()
    assert done.run(stage, out, **_broken(stage)) == (2, f"cfeval: {file}: no such file\n")
    file.mkdir()
    assert done.run(stage, out) == (2, f"cfeval: {file}: is a folder, a file is needed\n")
    assert [path for path in out.parent.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("stage", MODELS)
def test_a_broken_line_is_told_before_a_model_is_asked(done: Stages, tmp_path: Path, stage: str) -> None:
    with done.file(READS[stage][0]).open("a") as stream:
        stream.write("{}\n")
    lines = len(done.file(READS[stage][0]).read_text().splitlines())
    out = tmp_path / "out" / "x.jsonl"
    status, said = done.run(stage, out, **_broken(stage))
    assert (status, len(said.splitlines())) == (2, 1)
    assert f"line {lines}: " in said
    assert not out.parent.exists()


def _broken(stage: str) -> dict[str, object]:
    """Options of a model that ends the run when it is asked."""
    return {"crash_on": [f"i{n}" for n in range(5)]} if stage in MODELS else {}


def test_files_without_records_give_files_without_records(tmp_path: Path, cfeval: Run) -> None:
    stages = staged(tmp_path / "study", 0, cfeval).run_all()
    assert {stage: stages.content(stage).count(b"\n") for stage in OUTPUTS} == dict.fromkeys(OUTPUTS, 0) | {"scores": 1}


def test_an_output_may_not_take_the_place_of_what_it_is_made_from(done: Stages) -> None:
    before = done.content("requeries")
    said = f"cfeval: --out: {done.file('requeries')} is named twice; choose another name\n"
    assert done.run("verdicts", done.file("requeries")) == (2, said)
    assert done.content("requeries") == before


def test_a_step_in_a_copied_folder_leaves_the_original_alone(done: Stages, tmp_path: Path, cfeval: Run) -> None:
    assert done.run("verdicts")[0] == 0
    copied = Stages(shutil.copytree(done.folder, tmp_path / "copied"), cfeval)
    before = done.content("verdicts")
    assert copied.run("verdicts")[0] == 0
    assert done.content("verdicts") == copied.content("verdicts") == before


def test_a_pipe_is_refused_for_it_is_read_once(done: Stages) -> None:
    pipe = done.file("baselines")
    pipe.unlink()
    os.mkfifo(pipe)
    status, said = done.run("instructions")
    assert status == 2
    assert said == f"cfeval: {pipe}: a pipe, and it is read more than once; write it to a file and name that\n"


MANY = 1_200
"""Shards, whose numbers have four digits, the first ones too."""


@pytest.fixture
def few_handles() -> Iterator[None]:
    """No more than forty files may be open beside those that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(list(Path("/dev/fd").iterdir())) + 40, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.slow
@pytest.mark.usefixtures("few_handles")
def test_samples_are_cut_into_more_than_a_thousand_shards(tmp_path: Path, cfeval: Run) -> None:
    source = staged(tmp_path / "study", 50, cfeval).file("samples")
    out = tmp_path / "cut.jsonl"
    assert _generate(cfeval, source, out, MANY)[0] == 0
    files = whole_or_shards(tmp_path / "cut.jsonl")
    assert [file.name for file in files] == [f"{n:04d}.jsonl" for n in range(MANY)]
    assert sum(file.read_text().count("\n") for file in files) == 50
    assert all(file.with_suffix("").is_dir() for file in files)
    assert {path.name for path in tmp_path.iterdir()} == {"study", "cut", "cut.jsonl.made.json"}


def test_a_failed_filing_of_shards_leaves_nothing_and_a_former_one_as_it_was(tmp_path: Path, cfeval: Run) -> None:
    good = staged(tmp_path / "good", 9, cfeval).file("samples")
    bad = staged(tmp_path / "bad", 9, cfeval).file("samples")
    with bad.open("a") as stream:
        stream.write(bad.read_text().splitlines(keepends=True)[0])
    out = tmp_path / "out" / "cut.jsonl"
    status, said = _generate(cfeval, bad, out, 3)
    assert (status, said) == (2, "cfeval: two items have the id 'i0'; ids must differ\n")
    assert list(out.parent.iterdir()) == []
    assert _generate(cfeval, good, out, 3)[0] == 0
    before = {path: path.read_bytes() for path in out.parent.rglob("*") if path.is_file()}
    del before[out.with_name("cut.jsonl.made.json")]
    assert _generate(cfeval, bad, out, 3)[0] == 2
    assert {path: path.read_bytes() for path in out.parent.rglob("*") if path.is_file()} == before


def _generate(cfeval: Run, source: Path, out: Path, shards: int) -> tuple[int, str]:
    dataset = f'{{"plugin": "samples", "path": "{source}"}}'
    status, _, said = cfeval(
        *("edct", "items", "--dataset", dataset, "--items", 100, "--seed", 1, "--shards", shards, "--out", out)
    )
    return status, said
