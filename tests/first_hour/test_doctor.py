"""Servers that cannot work are known before anything is spent; slow ones are not taken for dead."""

import pytest

from tests.first_hour.person import Person
from tests.first_hour.stories import makes_a_study
from tests.loopback.site import Loopback

QUESTION = 'cfeval init mine --images photos --question "What is it?" --model '


def test_a_real_model_that_reads_texts_alone_is_refused_before_the_study(
    person: Person, provider: Loopback, llama: str
) -> None:
    person.does(f"{QUESTION}llama-cpp/smollm2@{llama} --editor other/painter@{provider.openai}")
    for command in ("cfeval doctor mine", "cfeval run mine --yes"):
        said = person.types(command)
        assert said.status == 2
        assert "image" in said.text
        assert "smollm2" in said.text


@pytest.mark.parametrize("wrong", ["", "/v2", "/api"])
def test_an_address_that_is_not_quite_right_is_found(person: Person, provider: Loopback, wrong: str) -> None:
    makes_a_study(person, provider)
    params = person.folder / "mine/params.yaml"
    params.write_text(params.read_text().replace(f"{provider.origin}/v1", f"{provider.origin}{wrong}"))
    said = person.types("cfeval doctor mine")
    assert said.status == 2
    assert "/v1" in said.text


def test_a_study_that_works_is_told_so_model_by_model(person: Person, provider: Loopback) -> None:
    makes_a_study(person, provider)
    said = person.does("cfeval doctor mine").text
    for model in ("vlm-a", "writer", "judge"):
        assert model in said


def test_a_slow_check_is_slow_and_no_fault(person: Person, provider: Loopback) -> None:
    makes_a_study(person, provider)
    provider.latency = 3.0
    said = person.types("cfeval doctor mine --seconds 1")
    provider.latency = 0.0
    assert "slow" in said.text
    assert said.status == 0
