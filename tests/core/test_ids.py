import re
import unicodedata
from collections.abc import Mapping

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from cfeval.core.ids import LONGEST, check_id, ids_of
from cfeval.core.records import ItemId
from cfeval.datasets.pairs.rows import pair_ids

NAMES = st.text(min_size=1, max_size=40)
ANY_NAMES = st.one_of(st.text(), st.text(st.characters(categories=["L", "M", "N", "Cs"])), st.text("aAbB.-_ ()é字"))


FILLERS = "\u115f\u1160\u3164\uffa0"


def made(*names: str) -> dict[str, str]:
    return ids_of({name: name for name in names}, 80, "image")


def folded(name: str) -> str:
    return unicodedata.normalize("NFC", name).casefold()


@given(st.sets(ANY_NAMES, max_size=12))
@example({"照片", "图片"})
@example({"🙂", "🙃", "🙂\ufe0f"})
@example({"é", "e\u0301", "É"})
@example({"straße", "strasse", "STRASSE"})
@example({"\udce9", "image"})
def test_any_names_get_ids_that_are_safe_and_told_apart_whatever_case(names: set[str]) -> None:
    for ids in (made(*names), pair_ids(names)):
        assert [check_id(item) for item in ids.values()] == list(ids.values())
        assert len({folded(item) for item in ids.values()}) == len(names)
        assert all(len(f"{item}.before.png".encode()) < 255 for item in ids.values())
        assert not any(set(item) & set('/\\:*?"<>|\0\n ') for item in ids.values())


@given(st.sets(ANY_NAMES, max_size=8), ANY_NAMES)
def test_another_file_changes_no_id_but_one_that_it_would_share(names: set[str], further: str) -> None:
    alone, beside = made(*names), made(*names, further)
    shared = folded(made(further)[further])
    for name in names:
        assert alone[name] == beside[name] or folded(alone[name]) == shared


@given(
    st.text(
        st.characters(categories=["Lu", "Ll", "Lo", "Nd"], exclude_characters=FILLERS),
        min_size=1,
        max_size=20,
    )
)
@example("照片")
@example("café")
@example("हिन्दी")
def test_letters_of_any_script_stay(name: str) -> None:
    assert made(name)[name] == unicodedata.normalize("NFC", name)


@given(st.text(st.characters(max_codepoint=126, min_codepoint=32), min_size=1, max_size=80))
def test_a_name_of_ascii_has_the_id_it_always_had(name: str) -> None:
    before = re.sub(r"[^A-Za-z0-9._-]+", "-", name).lstrip("._-") or "image"
    assert made(name)[name] == before
    assert pair_ids([name])[name] == (re.sub(r"[^A-Za-z0-9_-]+", "-", name).strip("-_") or "pair")


@pytest.mark.parametrize(
    ("names", "ids"),
    [
        ({"a/照片.png": "照片", "b": "b"}, ["照片", "b"]),
        ({"IMG 1.png": "IMG 1", "IMG-1.png": "IMG-1", "IMG_1.png": "IMG_1"}, ["IMG-1-", "IMG-1-", "IMG_1"]),
        ({"A.png": "A", "a.png": "a"}, ["A-", "a-"]),
        ({"🙂.png": "🙂"}, ["image-"]),
    ],
)
def test_names_that_would_share_an_id_have_a_hash_behind_it(names: Mapping[str, str], ids: list[str]) -> None:
    for item, begin in zip(ids_of(names, 80, "image").values(), ids, strict=True):
        assert re.fullmatch(f"{begin}[0-9a-f]{{8}}" if begin.endswith("-") else begin, item)


@pytest.mark.parametrize(
    "text", ["", ".a", "-a", "a b", "../a", "a/b", "a\n", "é\u200b", "\u0301a", "字" * 34, "\ud83d", "a" * 101]
)
def test_what_is_no_file_name_is_no_id(text: str) -> None:
    with pytest.raises(ValueError, match=rf"cannot be a file name; use 1 to {LONGEST} letters"):
        check_id(text)
    with pytest.raises(ValidationError):
        TypeAdapter(ItemId).validate_python(text)
