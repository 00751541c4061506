"""A key in `.env`, files of one's own beside it, and one item through the whole study."""

from tests.first_hour.person import Person
from tests.first_hour.stories import KEY, gateway, goes_by, makes_a_study, page
from tests.loopback.site import Loopback

INIT = (
    'cfeval init mine --images photos --question "What is happening here?" --model openrouter/google/gemini-2.5-flash'
)


def test_a_key_in_env_and_files_of_ones_own_stop_nothing(person: Person) -> None:
    with gateway() as server:
        said = person.does(INIT)
        assert "OPENROUTER_API_KEY" in said.text
        assert "OPENROUTER_API_KEY" in person.types("cfeval run mine --yes").text
        person.does("cp mine/.env.example mine/.env")
        person.does(f"sed -i 's/^OPENROUTER_API_KEY=.*/OPENROUTER_API_KEY={KEY}/' mine/.env")
        goes_by(person, server)
        person.does("echo 'ask Kim about the licence' > mine/notes.txt; cp photos/IMG_0000.jpg mine/draft.jpg")
        ran = person.does("cfeval run mine --yes")
        assert "6 of 6 scored" in ran.text
        person.does("echo 'a line more' >> mine/notes.txt; echo '# a comment' >> mine/.env")
        before = len(server.log)
        again = person.does("cfeval run mine --yes")
        assert "up to date" in again.text
        assert len(server.log) == before
    assert "gemini-2.5-flash" in page(person)
    assert KEY not in "".join(reply.text for reply in person.typed)
    assert person.types(f"grep -rl --exclude=.env {KEY} mine").out == ""


def test_one_photograph_goes_through_a_study_that_init_wrote(person: Person, provider: Loopback) -> None:
    makes_a_study(person, provider)
    tried = person.in_("mine").does('cfeval try ../photos/IMG_0001.jpg "What is happening here?"')
    for step in ("answer", "explanation", "edit", "verdict"):
        assert step in tried.text
    assert "PCS" in tried.text
    [shown] = (person.folder / "mine").rglob("both.png")
    assert shown.stat().st_size > 1000
