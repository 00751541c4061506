import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import fingerprint
import sources
from sources import Sources

Change = Callable[[str, str], None]

MEMORY = "state/sources.json"
FILES = {
    "pkg/__init__.py": '"""The package."""\n',
    "pkg/verb.py": 'from pkg.shared import twice\n\n\ndef run(x: int) -> int:\n    """Run."""\n    return twice(x)\n',
    "pkg/shared.py": "def twice(x):\n    return x * 2\n",
    "pkg/late.py": "VALUE = 1\n",
    "pkg/lazy.py": "def run():\n    from .late import VALUE\n\n    return VALUE\n",
    "pkg/other.py": "X = 1\n",
    "pkg/ring_a.py": "import pkg.ring_b\n",
    "pkg/ring_b.py": "import pkg.ring_a\n",
}


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Change]:
    """A small project; returns what rewrites one of its files, after which it is read as a new process would."""

    def write(name: str, text: str) -> None:
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        begin_anew()

    def begin_anew() -> None:
        monkeypatch.setattr(
            fingerprint, "PROJECT", Sources(tmp_path / "src", memory=tmp_path / "state" / "sources.json")
        )
        fingerprint.code.cache_clear()

    for name, text in FILES.items():
        write(name, text)
    yield write
    fingerprint.code.cache_clear()


@pytest.mark.parametrize(
    "text",
    [
        '"""Another docstring."""\n' + FILES["pkg/verb.py"],
        FILES["pkg/verb.py"].replace('"""Run."""', '"""Run, in other words."""'),
        FILES["pkg/verb.py"].replace('    """Run."""\n', ""),
        FILES["pkg/verb.py"].replace("twice(x)", "twice(  x  )  # a remark"),
    ],
    ids=["module docstring", "function docstring", "no docstring", "comment and blanks"],
)
def test_what_does_not_run_does_not_count(package: Change, text: str) -> None:
    before = fingerprint.code("pkg.verb")
    package("pkg/verb.py", text)
    assert fingerprint.code("pkg.verb") == before


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("pkg/verb.py", "twice(x)", "twice(x) + 0"),
        ("pkg/verb.py", "x: int", "x: float"),
        ("pkg/shared.py", "2", "3"),
        ("pkg/shared.py", "2", "'2'"),
        ("pkg/__init__.py", '"""The package."""', "X = 1"),
    ],
)
def test_what_runs_counts(package: Change, file: str, old: str, new: str) -> None:
    before = fingerprint.code("pkg.verb")
    package(file, FILES[file].replace(old, new))
    assert fingerprint.code("pkg.verb") != before


def test_modules_that_are_not_imported_do_not_count(package: Change) -> None:
    before = fingerprint.code("pkg.verb")
    package("pkg/other.py", "X = 2\n")
    assert fingerprint.code("pkg.verb") == before


def test_imports_inside_functions_count(package: Change) -> None:
    before = fingerprint.code("pkg.lazy")
    package("pkg/late.py", "VALUE = 2\n")
    assert fingerprint.code("pkg.lazy") != before


def test_imports_in_a_ring_end(package: Change) -> None:
    before = fingerprint.code("pkg.ring_a")
    package("pkg/ring_b.py", "import pkg.ring_a\n\nX = 1\n")
    assert fingerprint.code("pkg.ring_a") != before


def test_sources_that_are_remembered_are_not_parsed(package: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fingerprint.code("pkg.verb", "pkg.lazy")
    fingerprint.PROJECT.remember()
    package("pkg/other.py", "X = 2\n")
    parsed: list[str] = []
    parse = sources.parsed
    monkeypatch.setattr(sources, "parsed", lambda content, name: parsed.append(name) or parse(content, name))
    fingerprint.PROJECT.remember()
    assert fingerprint.code("pkg.verb", "pkg.lazy") == before
    assert parsed == ["pkg/other.py"]


def test_an_edited_source_counts_whatever_is_remembered(package: Change) -> None:
    before = fingerprint.code("pkg.verb")
    fingerprint.PROJECT.remember()
    package("pkg/shared.py", FILES["pkg/shared.py"].replace("2", "3"))
    assert fingerprint.code("pkg.verb") != before
    package("pkg/shared.py", FILES["pkg/shared.py"])
    assert fingerprint.code("pkg.verb") == before


@pytest.mark.parametrize("damage", ["cut", "swapped", "foreign", "folder", "of an older version"])
def test_a_damaged_memory_changes_no_fingerprint(package: Change, tmp_path: Path, damage: str) -> None:
    before = fingerprint.code("pkg.verb")
    fingerprint.PROJECT.remember()
    memory = tmp_path / MEMORY
    text = memory.read_text()
    tree = fingerprint.PROJECT["pkg.shared"].tree
    if damage == "folder":
        memory.unlink()
        memory.mkdir()
    else:
        shown = {"cut": text[:-9], "swapped": text.replace(tree, "0" * 64), "foreign": "\x00\n{"}
        memory.write_text(shown.get(damage, f"{'0' * 64}\n{text.partition(chr(10))[2]}"))
    package("pkg/other.py", "X = 2\n")
    fingerprint.PROJECT.remember()
    assert fingerprint.code("pkg.verb") == before


def test_a_broken_module_that_nothing_imports_is_no_concern(package: Change) -> None:
    before = fingerprint.code("pkg.verb")
    package("pkg/other.py", "def (\n")
    fingerprint.PROJECT.remember()
    assert fingerprint.code("pkg.verb") == before


def test_a_process_that_compares_nothing_reads_nothing(package: Change, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fingerprint, "COMPARED", False)
    assert fingerprint.code("pkg.verb") == fingerprint.texts("nowhere") == ""


def test_an_unknown_module_is_an_error(package: Change) -> None:
    with pytest.raises(ModuleNotFoundError, match=r"pkg\.nowhere"):
        fingerprint.code("pkg.nowhere")


def test_the_order_of_modules_does_not_count(package: Change) -> None:
    assert fingerprint.code("pkg.verb", "pkg.lazy") == fingerprint.code("pkg.lazy", "pkg.verb")


def test_a_stage_depends_on_its_study_and_records() -> None:
    reached = fingerprint.PROJECT.reached("cfeval.cli.edct.judge", "cfeval.backends.judges.scripted")
    assert {"cfeval.studies.edct.verdicts", "cfeval.records.edct", "cfeval.backends.judges.base"} <= reached
    assert "cfeval.cli.edct.edit" not in reached


def test_templates_count_by_name_and_content(tmp_path: Path) -> None:
    (tmp_path / "answer.md").write_text("{question}")
    before = fingerprint.texts(tmp_path)
    (tmp_path / "answer.md").write_text("{question}!")
    changed = fingerprint.texts(tmp_path)
    (tmp_path / "answer.md").rename(tmp_path / "explain.md")
    assert len({before, changed, fingerprint.texts(tmp_path)}) == 3


def test_the_command_prints_a_fingerprint() -> None:
    module = "cfeval.cli.edct.score"
    printed = subprocess.run([sys.executable, fingerprint.__file__, module], text=True, capture_output=True, check=True)
    assert printed.stdout.strip() == fingerprint.code(module)


def test_empty_fields_do_not_count() -> None:
    fields = "".join(sources.serialized(sources.parsed(b"def f(a, *, b=None):\n    return [a, None, ..., 'x']\n")))
    assert "type_params" not in fields
    assert "decorator_list" not in fields
    assert "Constant()" in fields


CONVERSING = {"baseline", "requery"}
MODEL_VERBS = ("generate", "baseline", "instruct", "edit", "requery", "judge", "check", "score")


@pytest.mark.parametrize("verb", MODEL_VERBS)
def test_only_the_verbs_that_converse_have_the_conversation_in_their_fingerprint(verb: str) -> None:
    reached = fingerprint.PROJECT.reached(f"cfeval.cli.edct.{verb}")
    assert ("cfeval.studies.edct.conversation" in reached) == (verb in CONVERSING)


@pytest.mark.parametrize("verb", MODEL_VERBS)
def test_no_verb_of_the_study_has_how_calls_travel_in_its_fingerprint(verb: str) -> None:
    reached = fingerprint.PROJECT.reached(f"cfeval.cli.edct.{verb}")
    assert not {module for module in reached if module.startswith(("cfeval.calls", "cfeval.params"))}
