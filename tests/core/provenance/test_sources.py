"""What a function rests on: every definition that it names, and no other."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from cfeval.core.provenance import outside, sources
from cfeval.core.provenance.hashes import Hashes
from cfeval.core.provenance.sources import Closure, Sources

Write = Callable[..., None]
Look = Callable[[str], Closure]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes modules of a package by the project's name, in a folder of its own."""
    monkeypatch.setattr(sources, "ROOT", tmp_path)
    (tmp_path / "cfeval").mkdir()
    (tmp_path / "cfeval" / "__init__.py").write_text("")

    def written(**modules: str) -> None:
        for name, text in modules.items():
            file = tmp_path.joinpath("cfeval", *name.split("__")).with_suffix(".py")
            file.parent.mkdir(exist_ok=True)
            (file.parent / "__init__.py").touch()
            file.write_text(text)

    return written


@pytest.fixture
def look(write: Write) -> Look:
    """What a root of that package rests on, read from disk now."""
    return lambda root: Sources(None, Hashes()).closure(f"cfeval.{root}")


STAGE = '''
"""A stage."""
from cfeval.helper import halve, TABLE
from cfeval import other as o
import numpy as np

UNUSED = 1

def run(path: str, n: "int" = 2) -> float:
    """Its help."""
    # a comment
    return halve(np.float64(n)) + o.add(n) + TABLE[0]
'''
HELPER = "TABLE = [1]\nSPARE = 2\n\ndef halve(x):\n    return x / 2\n\ndef spare(x):\n    return SPARE * x\n"
OTHER = "def add(n):\n    return n + 1\n\ndef sub(n):\n    return n - 1\n"


@pytest.fixture
def before(write: Write, look: Look) -> Closure:
    write(step=STAGE, helper=HELPER, other=OTHER)
    return look("step:run")


def test_modules_and_packages_that_it_names_are_known(before: Closure) -> None:
    assert {"cfeval.step", "cfeval.helper", "cfeval.other"} <= set(before.modules)
    assert "numpy" in before.packages


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a comment", "# another"),
        ("Its help.", "Other help."),
        ("path: str", "path: bytes"),
        ("-> float", "-> int"),
        ("UNUSED = 1", "UNUSED = 2"),
    ],
)
def test_what_changes_no_result_changes_no_hash(before: Closure, write: Write, look: Look, old: str, new: str) -> None:
    assert old in STAGE
    write(step=STAGE.replace(old, new))
    assert look("step:run").code == before.code


@pytest.mark.parametrize(
    ("module", "text", "old", "new"),
    [
        ("step", STAGE, "= 2) ->", "= 3) ->"),
        ("step", STAGE, "TABLE[0]", "TABLE[-1]"),
        ("step", STAGE, "np.float64", "np.float32"),
        ("helper", HELPER, "x / 2", "x / 3"),
        ("helper", HELPER, "TABLE = [1]", "TABLE = [2]"),
        ("other", OTHER, "n + 1", "n + 2"),
        ("step", STAGE, "import halve, TABLE", "import spare as halve, TABLE"),
    ],
)
def test_what_can_change_a_result_changes_the_hash(
    before: Closure, write: Write, look: Look, module: str, text: str, old: str, new: str
) -> None:
    assert old in text
    write(**{module: text.replace(old, new)})
    assert look("step:run").code != before.code


@pytest.mark.parametrize(
    ("module", "text", "old", "new"),
    [
        ("helper", HELPER, "SPARE * x", "SPARE + x"),
        ("helper", HELPER, "SPARE = 2", "SPARE = 3"),
        ("other", OTHER, "- 1", "- 2"),
    ],
)
def test_neighbours_that_it_does_not_name_are_none_of_its_affairs(
    before: Closure, write: Write, look: Look, module: str, text: str, old: str, new: str
) -> None:
    write(**{module: text.replace(old, new)})
    assert look("step:run").code == before.code


def test_a_moved_file_costs_nothing(before: Closure, write: Write, look: Look) -> None:
    write(step=STAGE.replace("cfeval.helper", "cfeval.rooms.helper"), rooms__helper=HELPER)
    assert look("step:run").code == before.code


def test_two_functions_of_one_name_are_told_apart_by_where_the_name_points(write: Write, look: Look) -> None:
    write(one="def f():\n    return 1\n", two="def f():\n    return 2\n")
    write(step="from cfeval.one import f\nfrom cfeval.two import f as g\n\ndef run():\n    return f(), g(), f\n")
    here = look("step:run").code
    write(step="from cfeval.two import f\nfrom cfeval.one import f as g\n\ndef run():\n    return f(), g(), f\n")
    assert look("step:run").code != here


def test_a_name_is_followed_through_a_module_that_hands_it_on(write: Write, look: Look) -> None:
    write(deep="def f():\n    return 1\n", door="from cfeval.deep import f\n")
    write(step="from cfeval.door import f\n\ndef run():\n    return f()\n")
    here = look("step:run").code
    write(deep="def f():\n    return 2\n")
    assert look("step:run").code != here


def test_imports_within_a_function_count(write: Write, look: Look) -> None:
    write(deep="def f():\n    return 1\n\ndef g():\n    return 1\n")
    write(step="def run():\n    from cfeval.deep import f\n    import torch.nn as nn\n    return f(nn.ReLU)\n")
    here = look("step:run")
    assert "torch" in here.packages
    write(deep="def f():\n    return 2\n\ndef g():\n    return 1\n")
    assert look("step:run").code != here.code
    write(deep="def f():\n    return 1\n\ndef g():\n    return 2\n")
    assert look("step:run").code == here.code


def test_statements_that_run_on_import_count_and_so_does_a_module_as_a_whole(write: Write, look: Look) -> None:
    write(deep="KINDS = {}\nKINDS['a'] = 1\n\ndef f():\n    return KINDS\n\ndef g():\n    return 1\n")
    write(step="from cfeval import deep\n\ndef run(name):\n    return getattr(deep, name)()\n")
    here = look("step:run").code
    write(deep="KINDS = {}\nKINDS['a'] = 1\n\ndef f():\n    return KINDS\n\ndef g():\n    return 2\n")
    assert look("step:run").code != here
    write(step="from cfeval.deep import f\n\ndef run():\n    return f()\n")
    narrow = look("step:run").code
    write(deep="KINDS = {}\nKINDS['a'] = 2\n\ndef f():\n    return KINDS\n\ndef g():\n    return 2\n")
    assert look("step:run").code != narrow


def test_fields_of_a_record_count_and_their_descriptions_do_not(write: Write, look: Look) -> None:
    record = "class Row(Base):\n    '''A row.'''\n    n: int = Field(1, description='Items.')\n"
    write(rows=f"from pydantic import BaseModel as Base, Field\n\n{record}")
    write(step="from cfeval.rows import Row\n\ndef run():\n    return Row()\n")
    here = look("step:run").code
    write(rows=f"from pydantic import BaseModel as Base, Field\n\n{record.replace('Items.', 'How many.')}")
    assert look("step:run").code == here
    write(rows=f"from pydantic import BaseModel as Base, Field\n\n{record}    m: int = 0\n")
    assert look("step:run").code != here


def test_the_wording_of_an_error_that_ends_the_run_is_no_part_and_its_condition_is(write: Write, look: Look) -> None:
    text = "from cfeval.core.errors import ParamsError\n\n"
    text += "def run(n):\n    if n < 1:\n        raise ParamsError('too few')\n"
    write(step=text, core__errors="class ParamsError(Exception):\n    pass\n")
    here = look("step:run").code
    write(step=text.replace("too few", "at least one"))
    assert look("step:run").code == here
    write(step=text.replace("n < 1", "n < 2"))
    assert look("step:run").code != here


def test_where_an_input_error_ends_the_run_is_told_by_definition(
    write: Write, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "from cfeval.core.errors import InputError\n\ndef run(n):\n    raise InputError('bad')\n"
    write(step=text + text.partition("\n\n")[2].replace("run", "parse"))
    monkeypatch.setattr(outside, "FATAL_IN", ("cfeval.step:run",))
    here = [look(f"step:{name}").code for name in ("run", "parse")]
    write(step=(text + text.partition("\n\n")[2].replace("run", "parse")).replace("bad", "worse"))
    there = [look(f"step:{name}").code for name in ("run", "parse")]
    assert [one == other for one, other in zip(here, there, strict=True)] == [True, False]


def test_code_outside_every_plan_is_not_looked_at(write: Write, look: Look) -> None:
    write(io__progress="def track(x):\n    return x\n")
    write(step="from cfeval.core.progress import track\n\ndef run(x):\n    return track(x)\n")
    here = look("step:run").code
    write(io__progress="def track(x):\n    print(x)\n    return x\n")
    assert look("step:run").code == here


def test_a_memory_gives_the_same_and_is_void_once_a_file_has_changed(write: Write, tmp_path: Path) -> None:
    memory = tmp_path / "memory.json"

    def remembered() -> str:
        found = Sources(memory, Hashes())
        code = found.closure("cfeval.step:run").code
        found.remember()
        return code

    write(step=STAGE, helper=HELPER, other=OTHER)
    first = remembered()
    assert memory.is_file()
    assert remembered() == first
    write(helper=HELPER.replace("x / 2", "x / 4"))
    assert remembered() != first
    memory.write_text("{")
    write(helper=HELPER)
    assert remembered() == first


def test_a_memory_counts_for_a_copy_of_the_code_and_is_void_where_the_copy_differs(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(step=STAGE, helper=HELPER, other=OTHER)
    memory = tmp_path / "memory.json"
    found: list[tuple[str, bool]] = []
    for name, text in (("one", HELPER), ("other", HELPER), ("third", HELPER.replace("x / 2", "x / 4"))):
        shutil.copytree(tmp_path / "cfeval", tmp_path / name / "cfeval")
        (tmp_path / name / "cfeval/helper.py").write_text(text)
        monkeypatch.setattr(sources, "ROOT", tmp_path / name)
        its = Sources(memory, Hashes())
        found.append((its.closure("cfeval.step:run").code, bool(its._modules)))
        its.remember()
    assert found[1] == (found[0][0], False), "nothing was parsed again"
    assert found[2][0] != found[0][0]


def test_bytes_that_were_executed_count_in_the_place_of_those_on_disk(write: Write, tmp_path: Path) -> None:
    write(step=STAGE, helper=HELPER, other=OTHER)
    other = str(tmp_path / "cfeval" / "other.py")
    disk = Sources(None, Hashes()).closure("cfeval.step:run").code
    ran = Sources(None, Hashes(), {other: OTHER.replace("n + 1", "n + 9").encode()}).closure("cfeval.step:run").code
    assert ran != disk
    assert Sources(None, Hashes(), {other: OTHER.encode()}).closure("cfeval.step:run").code == disk


def test_a_root_that_is_not_there_is_an_error(look: Look) -> None:
    with pytest.raises(ModuleNotFoundError):
        look("nowhere:run")
