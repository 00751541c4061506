"""Runs that fail, are slow, are stopped, or have nothing more to ask."""

import json
import time
from pathlib import Path

from tests.first_hour.person import Person, hang_up
from tests.first_hour.stories import KEY, any_role, gateway, goes_by, makes_a_study, page
from tests.loopback.conversation import Conversation
from tests.loopback.site import Loopback

INIT = 'cfeval init mine --images photos --question "What is happening here?" --model openrouter/lab/vlm-a'


def test_missing_items_are_explained_with_an_example_and_a_remedy(person: Person) -> None:
    def muddled(conversation: Conversation) -> str:
        judged = any(mark in conversation.prompt for mark in ("NCC", "ANSWER_MOVED"))
        return "I would rather not put a number on that." if judged else any_role(conversation)

    with gateway({"pro": muddled}) as server:
        person = person.with_(OPENROUTER_API_KEY=KEY)
        person.does(INIT)
        goes_by(person, server)
        ran = person.types("cfeval run mine --yes --no-probe")  # which would have found the judge out
    end = "\n".join(ran.out.splitlines()[-6:])
    assert "edct: 26 of 27 results have no score" in end, "where nothing changed, no judge is asked"
    assert "26 at the judge (unparsable)" in end
    assert 'said "I would rather not put a number on that."' in end
    assert "What to do: read `raw` in the record" in end


def test_calls_that_time_out_are_said(person: Person, provider: Loopback) -> None:
    makes_a_study(person, provider)
    params = person.folder / "mine/params.yaml"
    params.write_text(params.read_text() + "calls: {timeout: 2}\n")
    provider.slow_one_in, provider.slow = 40, 3.0
    ran = person.types("cfeval run mine --yes")
    assert "timed out" in ran.text
    assert "calls.timeout" in ran.text


def test_tables_are_made_again_while_the_models_are_away(person: Person, provider: Loopback) -> None:
    makes_a_study(person, provider)
    person.does("cfeval run mine --yes")
    table = person.folder / "mine/results/mine/edct/tables/edct_table1.csv"
    before = table.read_bytes()
    sent = len(provider.log)
    provider.held = lambda _: True
    for file in (person.folder / "mine/results/mine/edct").glob("tables*"):
        person.does(f"rm -r '{file}'")
    person.does("rm -r mine/results/mine/edct/verdicts")
    ran = person.does("cfeval run mine --yes --offline")
    assert "up to date" not in ran.text.splitlines()[0]
    assert table.read_bytes() == before
    assert len(provider.log) == sent
    provider.held = lambda _: False


def test_a_closed_terminal_loses_no_call_in_flight(person: Person, provider: Loopback) -> None:
    makes_a_study(person, provider)
    provider.latency = 0.7
    running = person.starts("cfeval run mine --yes")
    until = time.monotonic() + 60
    while len([entry for entry in provider.log if "chat" in str(entry)]) < 8 and time.monotonic() < until:
        time.sleep(0.1)
    hang_up(running)
    provider.latency = 0.0
    stats = json.loads(person.in_("mine").does("cfeval cache stats --json").out)
    assert sum(row["lost"] or 0 for row in stats) == 0
    assert sum(row["sent"] for row in stats) >= 8
    assert "6 of 6 scored" in person.does("cfeval run mine --yes").text


def test_a_page_is_there_while_the_run_is_on(person: Person, provider: Loopback) -> None:
    makes_a_study(person, provider)
    provider.latency = 0.5
    with person.starts("cfeval run mine --yes") as running:
        while not list((person.folder / "mine").rglob("baselines/**/*.jsonl")) and running.poll() is None:
            time.sleep(0.5)
        with person.starts("cfeval report mine --live") as following:
            assert following.stdout is not None
            live = (person.folder / following.stdout.readline().strip()).read_text(encoding="utf-8")
            provider.latency = 0.0
            assert running.communicate(timeout=300)[0]
            assert "report: mine/results/mine/edct/report/index.html" in following.communicate(timeout=60)[0]
    assert running.returncode == 0
    assert "nfinished" in live
    assert "nfinished" not in page(person)
    person.does("cfeval verify mine")


def test_a_script_gets_json(person: Person, provider: Loopback) -> None:
    makes_a_study(person, provider)
    content = json.loads(person.does("cfeval run mine --yes --json").out)
    assert "vlm-a" in json.dumps(content)
    assert Path(person.folder, content["report"]).is_file()
