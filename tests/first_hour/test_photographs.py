"""Folders of photographs as people have them."""

import os

from tests.first_hour.person import Person
from tests.first_hour.stories import makes_a_study, page
from tests.loopback.site import Loopback


def test_what_cannot_be_read_is_left_out_and_said_everywhere(person: Person, provider: Loopback) -> None:
    photos = person.folder / "photos"
    whole = (photos / "IMG_0000.jpg").read_bytes()
    (photos / "broken.jpg").write_bytes(whole[: len(whole) // 2])
    (photos / "empty.png").touch()
    (photos / "phone.jxl").write_bytes(b"\xff\x0a" + bytes(64))
    (photos / "older").mkdir()
    (photos / "older/IMG_0001.jpg").write_bytes(whole)
    said = makes_a_study(person, provider).text
    for text in (said, person.types("cfeval doctor mine").text):
        assert "broken.jpg" in text
        assert "empty.png" in text
        assert "JXL" in text
        assert "subfolder" in text
    ran = person.does("cfeval run mine --yes")
    assert "6 of 6 scored" in ran.text
    assert "broken.jpg" in page(person)


def test_a_strict_study_refuses_an_unreadable_image(person: Person, provider: Loopback) -> None:
    makes_a_study(person, provider)
    (person.folder / "photos/IMG_0003.jpg").write_bytes(b"no image at all")
    params = person.folder / "mine/params.yaml"
    params.write_text(params.read_text().replace("plugin: files,", "plugin: files, strict: true,"))
    assert "IMG_0003.jpg" in person.types("cfeval run mine --yes").text
    assert person.typed[-1].status != 0
    assert not any(b"image" in str(entry).encode() for entry in provider.log if "chat" in str(entry))


def test_no_readable_image_is_refused_at_once(person: Person, provider: Loopback) -> None:
    for file in (person.folder / "photos").iterdir():
        file.write_bytes(b"")
    tried = person.types(f'cfeval init mine --images photos --question "What?" --model vllm/vlm-a@{provider.openai}')
    assert "photos" in tried.one_line()
    assert not (person.folder / "mine").exists()


def test_a_row_that_names_a_file_elsewhere_is_refused(person: Person, provider: Loopback) -> None:
    person.does("cp photos/IMG_0000.jpg private.jpg; mkdir set; cp photos/IMG_0001.jpg set/a.jpg")
    (person.folder / "set/rows.csv").write_text("image,question\na.jpg,What is it?\n../private.jpg,What is it?\n")
    server = provider.openai
    person.types(f"cfeval init mine --questions set/rows.csv --model vllm/vlm-a@{server}")
    ran = person.types("cfeval run mine --yes")
    assert "private.jpg" in ran.text + person.typed[-2].text
    assert ran.status != 0
    assert provider.log == []


def test_classes_of_ones_own_folders_are_explained_at_init(person: Person) -> None:
    for name in ("cat", "dog"):
        os.renames(person.folder / f"photos/IMG_000{int(name == 'dog')}.jpg", person.folder / f"pets/{name}/a.jpg")
    said = person.does("cfeval init pets-study --study vce --images pets")  # the core cannot load a classifier
    assert "need pip install 'cfeval[vce]'" in said.text
    assert "`cfeval check` says whether they know the classes cat, dog" in said.text
    assert "cfeval[vce]" in person.types("cfeval check pets-study").one_line()
