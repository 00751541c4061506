"""The tutorial as its reader goes through it: the wheel alone, an empty folder, and what the package itself serves."""

from pathlib import Path

from tests.first_hour.person import Person
from tests.test_docs_run import follow_tutorial, practice_server


def test_the_tutorial_works_from_the_wheel_in_an_empty_folder(installed: Path, person: Person) -> None:
    reader = person.with_(BROWSER="true")
    with practice_server([str(installed / "bin/cfeval")], reader.folder, reader.environment) as address:
        follow_tutorial(lambda command: reader.does(command).out, address)
