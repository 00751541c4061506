"""Where the study is, what its file says, and commands that can be pasted."""

import pytest

from tests.first_hour.person import Person
from tests.first_hour.stories import makes_a_study
from tests.loopback.site import Loopback


@pytest.mark.parametrize("command", ["check", "estimate", "doctor"])
def test_commands_about_a_study_take_its_folder(person: Person, provider: Loopback, command: str) -> None:
    makes_a_study(person, provider)
    outside = person.does(f"cfeval {command} mine").text
    inside = person.in_("mine").does(f"cfeval {command}").text
    assert outside.replace("mine/", "").split()[:8] == inside.replace("mine/", "").split()[:8]
    assert "params.yaml" in person.types(f"cfeval {command} photos").one_line()


def test_a_finished_study_is_looked_at_from_outside(person: Person, provider: Loopback) -> None:
    makes_a_study(person, provider)
    person.does("cfeval run mine --yes")
    assert "up to date" in person.does("cfeval status mine").text
    person.does("cfeval verify mine")
    person.does("cfeval report mine")
    rows = person.does("python3 -c \"import cfeval; print(cfeval.load('mine'))\"")
    assert rows.out


def test_printed_commands_can_be_pasted_whatever_the_name(person: Person, provider: Loopback) -> None:
    said = makes_a_study(person, provider, name="my photo's study")
    assert "6 of 6 scored" in person.pastes(said, "cfeval run", " --yes").text


def test_a_mistyped_folder_is_put_right(person: Person, provider: Loopback) -> None:
    makes_a_study(person, provider, name="my-study")
    assert "my-study" in person.types("cfeval run my-stduy --yes").one_line()
    assert "cfeval init" in person.types("cfeval run elsewhere --yes").one_line()


@pytest.mark.parametrize("value", ["1:30", "no", "on", "010", "0o10"])
def test_a_value_that_two_readers_would_read_differently_is_refused(
    person: Person, provider: Loopback, value: str
) -> None:
    makes_a_study(person, provider)
    params = person.folder / "mine/params.yaml"
    params.write_text(params.read_text().replace('question: "What is happening here?"', f"question: {value}"))
    line = person.types("cfeval check mine").one_line()
    assert "quotation marks" in line
    assert value in line


def test_a_file_that_grows_without_end_is_refused_at_once(person: Person) -> None:
    (person.folder / "bomb").mkdir()
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    (person.folder / "bomb/params.yaml").write_text("\n".join(lines))
    assert person.types("timeout 20 cfeval check bomb").status == 2


def test_a_dry_run_writes_nothing_of_ours(person: Person, provider: Loopback) -> None:
    makes_a_study(person, provider)
    inside = person.in_("mine")
    shown = inside.does("cfeval run --print").out.strip()
    before = inside.does("find . -path ./.snakemake -prune -o -type f -print | sort").out
    inside.does(f"{shown.replace(' -- all', '')} -n --config name=other -- all")
    assert inside.does("find . -path ./.snakemake -prune -o -type f -print | sort").out == before


def test_help_is_short_and_leads_on(person: Person) -> None:
    said = person.with_(COLUMNS="80").does("cfeval --help").out
    for command in ("init", "run", "report"):
        assert f" {command} " in said
    assert person.does("cfeval -h").out == person.does("cfeval --help").out
    assert person.does("python3 -m cfeval --version").out == person.does("cfeval --version").out
    assert max(map(len, said.splitlines())) <= 80
