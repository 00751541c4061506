"""Targets by WordNet: nltk reads the same files and is asked the same questions."""

import itertools
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest

from cfeval.core.errors import InputError
from cfeval.vce import wordnet
from cfeval.vce.stages.targets import nearest_classes, path_similarity, synsets_of
from tests.tiny.wordnet import TREE, write_wordnet


@pytest.fixture
def nouns(tmp_path: Path) -> wordnet.WordNet:
    return wordnet.load_wordnet(write_wordnet(tmp_path / "corpora" / "wordnet"))


def nltks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """NLTK's reader of the same files; it wants files for other parts of speech too, and its data folder to know."""
    import nltk  # type: ignore[import-untyped]
    from nltk.corpus.reader.wordnet import WordNetCorpusReader  # type: ignore[import-untyped]

    folder = tmp_path / "corpora" / "wordnet"
    for name in WordNetCorpusReader._FILES:
        (folder / name).touch()
    (folder / "lexnames").write_text("".join(f"{number:02d}\tnoun.any\t1\n" for number in range(45)))
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    monkeypatch.setattr(WordNetCorpusReader, "map_wn", lambda *_: None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return WordNetCorpusReader(nltk.data.find("corpora/wordnet"), None)


def test_path_similarity_is_nltks(tmp_path: Path, nouns: wordnet.WordNet, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = nltks(tmp_path, monkeypatch)
    synsets = synsets_of(list(TREE), nouns)
    for first, second in itertools.product(TREE, repeat=2):
        theirs = reader.synsets(first, "n")[0].path_similarity(reader.synsets(second, "n")[0])
        assert path_similarity(synsets[first], synsets[second], nouns) == pytest.approx(theirs), (first, second)
    for stream in reader._data_file_map.values():
        stream.close()


def test_the_nearest_come_first_and_ties_in_the_order_of_the_classes(nouns: wordnet.WordNet) -> None:
    classes = ["honey", "bee", "ant", "hamster", "Tabby", "gadget"]
    near = nearest_classes("Tabby", synsets_of(classes, nouns), nouns, 3)
    assert [(one.name, one.similarity) for one in near] == [
        ("hamster", pytest.approx(1 / 3)),
        ("bee", pytest.approx(1 / 5)),
        ("ant", pytest.approx(1 / 5)),
    ]
    with pytest.raises(InputError, match="class 'gadget': WordNet has no such noun"):
        nearest_classes("gadget", synsets_of(classes, nouns), nouns, 3)


def test_the_files_are_found_in_nltks_data_packed_or_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_wordnet(tmp_path / "corpora" / "wordnet")
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    unpacked = wordnet.load_wordnet()
    with zipfile.ZipFile(tmp_path / "corpora" / "wordnet.zip", "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"wordnet/{file.name}")
            file.unlink()
    folder.rmdir()
    assert wordnet.load_wordnet() == unpacked
    assert unpacked.synset("ANT ") == unpacked.synset("ant")


def test_files_that_are_missing_or_broken_are_one_line_that_says_how_to_get_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NLTK_DATA", raising=False)
    monkeypatch.setattr(wordnet, "_places", lambda: [tmp_path])
    monkeypatch.setattr(wordnet, "_DEBIAN", tmp_path)
    with pytest.raises(InputError, match=r"no WordNet on this machine; .*nltk.downloader wordnet"):
        wordnet.load_wordnet()
    with pytest.raises(InputError, match=r"no data.noun and index.noun there .*nltk.downloader"):
        wordnet.load_wordnet(tmp_path)
    folder = write_wordnet(tmp_path / "own")
    (folder / "data.noun").write_text("00001000 03 n zz what\n")
    with pytest.raises(InputError, match="is broken; get it again"):
        wordnet.load_wordnet(folder)
