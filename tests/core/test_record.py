"""A step as a function that remembers: what it keeps and makes again, what it records, and what it refuses."""

import json
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from importlib import import_module, invalidate_caches
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from cfeval.core import hashes, loaded_code, record
from cfeval.core.errors import InputError
from cfeval.core.hashes import Hashes

STEP = ["edct", "checks", "--in", "data/in.jsonl", "--plugin", '{"plugin": "mine", "n": 1}', "--out", "results/b.jsonl"]
RECORD = Path("results/b.jsonl.made.json")
CACHED = (loaded_code.version_of, loaded_code._installed, loaded_code._distributions, record._hashes)
Work = Callable[[], object]
MODULE = '"""Computes."""\n\nimport foreign\n\nHELP = dict(help="A number.", value=1)\n\n\ndef run():\n    """Run."""\n'


class Desk:
    """A folder with all that a step is given; every call is as one of a new process."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self._patch = folder, monkeypatch
        self.work: list[Work] = [write]
        self.status = 0

    def call(self, *words: str) -> int:
        """Run the step, or another command."""
        self.begin()
        return record.call(list(words) or STEP, self._run)

    def begin(self) -> None:
        """Forget what a process knows of packages, and load the module that there is now."""
        for cached in CACHED:
            cached.cache_clear()
        sys.modules.pop("mine", None)
        invalidate_caches()
        names = ("cfeval.core.sampling", *["mine"] * Path("code/mine.py").exists())
        loaded = {name: import_module(name) for name in names} | {"foreign": ModuleType("foreign")}
        its = SimpleNamespace(**vars(sys) | {"modules": loaded})
        self._patch.setattr(loaded_code, "sys", its)
        self._patch.setattr(loaded_code, "BEGAN", time.time_ns())

    def _run(self, words: list[str]) -> int:
        self.words = words
        for work in self.work:
            work()
        return self.status

    def noted(self) -> list[str]:
        """What was done so far."""
        return [line.split()[0] for line in Path("steps.log").read_text().splitlines()]

    def install(self, version: str) -> None:
        """Install the package that the module imports."""
        shutil.rmtree(self.folder / "site", ignore_errors=True)
        about = self.folder / f"site/foreign-{version}.dist-info"
        about.mkdir(parents=True)
        (self.folder / "site/foreign.py").write_text("X = 1\n")
        (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: foreign\nVersion: {version}\n")
        (about / "top_level.txt").write_text("foreign\n")


def write() -> None:
    """What the step does when all goes well."""
    record.uses("data/prompt.md", "data/nowhere.md")
    Path("results/b").mkdir(parents=True, exist_ok=True)
    for name in ("1.png", "2.png"):
        Path("results/b", name).write_bytes(name.encode())
    Path("results/b.jsonl").write_text(Path("data/in.jsonl").read_text() + Path("data/prompt.md").read_text())


@pytest.fixture(autouse=True)
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    folder = tmp_path / "study"
    (folder / "data").mkdir(parents=True)
    monkeypatch.chdir(folder)
    Path("data/in.jsonl").write_text("{}\n")
    Path("data/prompt.md").write_text("Say.\n")
    (folder / "code").mkdir()
    Path("code/mine.py").write_text(MODULE)
    kept = [path for path in sys.path if "site-packages" not in path]  # looking through all packages takes a second
    monkeypatch.setattr(sys, "path", [str(folder / "code"), str(folder / "site"), *kept])
    monkeypatch.setattr(loaded_code, "_ours", lambda: frozenset({"cfeval", "mine"}))
    monkeypatch.setenv(record.COUNTER, str(folder / "steps.log"))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # tests edit a module more than once a second
    desk = Desk(folder, monkeypatch)
    desk.install("1.0")
    yield desk
    monkeypatch.undo()
    sys.modules.pop("mine", None)
    for cached in CACHED:
        cached.cache_clear()


def steps() -> list[dict[str, dict[str, str]]]:
    """What the record says."""
    return json.loads(RECORD.read_text())["steps"]


def test_a_step_says_what_it_was_made_from_and_no_time_and_no_place(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert desk.call() == 0
    [step] = steps()
    assert step["options"]["--plugin"] == {"plugin": "mine", "n": 1}
    assert step["inputs"].keys() == {"data/in.jsonl", "data/prompt.md", "data/nowhere.md"}
    assert step["inputs"]["data/nowhere.md"] is None, "were it there, it might have been read"
    assert step["outputs"].keys() == {"results/b.jsonl", "results/b/"}
    assert step["code"].keys() == {"cfeval.core.sampling", "mine"}
    assert step["packages"] == {"foreign": "1.0", "python": f"{sys.version_info.major}.{sys.version_info.minor}"} | {
        name: version for name, version in step["packages"].items() if name not in ("foreign", "python")
    }
    text = RECORD.read_text()
    assert str(desk.folder) not in text
    elsewhere = desk.folder.parent / "elsewhere"
    shutil.copytree(desk.folder, elsewhere, ignore=shutil.ignore_patterns("results", ".cfeval"))
    monkeypatch.chdir(elsewhere)
    assert desk.call(*STEP[:2], *STEP[4:6], "--in", str(elsewhere / "data/in.jsonl"), *STEP[6:]) == 0
    assert RECORD.read_text() == text, "wherever the study lies, and in whatever order it is told"


def test_what_holds_is_kept_and_looks_new(desk: Desk) -> None:
    desk.call()
    os.utime("results/b.jsonl", (1, 1))
    desk.work = [lambda: pytest.fail("it ran")]
    assert desk.call() == desk.call(*STEP, "--offline") == 0
    assert Path("results/b.jsonl").stat().st_mtime > 1e9, "Snakemake wants to see that something happened"
    assert desk.noted() == ["made", "kept", "kept"]
    assert record.Records().reason(STEP) is None


def in_place(name: str) -> None:
    """Change a byte of a file; size and time are restored."""
    path = Path(name)
    stat = path.stat()
    with path.open("r+b") as file:
        file.write(b"X")
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))


CHANGES: dict[str, tuple[Callable[[Desk], object], str]] = {
    "an input": (lambda _: in_place("data/in.jsonl"), "data/in.jsonl has changed"),
    "a prompt": (lambda _: Path("data/prompt.md").write_text("Tell.\n"), "data/prompt.md has changed"),
    "a file that was not there": (lambda _: Path("data/nowhere.md").write_text("Now.\n"), "data/nowhere.md is new"),
    "an output": (lambda _: in_place("results/b.jsonl"), "results/b.jsonl has changed"),
    "no output": (lambda _: Path("results/b.jsonl").unlink(), "results/b.jsonl is missing"),
    "an image": (lambda _: in_place("results/b/1.png"), "results/b/ has changed"),
    "no image": (lambda _: Path("results/b/1.png").unlink(), "results/b/ has changed"),
    "one image more": (lambda _: Path("results/b/3.png").write_text("3"), "results/b/ has changed"),
    "a module": (
        lambda _: Path("code/mine.py").write_text(MODULE.replace("value=1", "value=2")),
        "code has changed: mine",
    ),
    "no module": (lambda _: Path("code/mine.py").unlink(), "code has changed: mine"),
    "a package": (lambda desk: desk.install("2.0"), "foreign is 2.0, was 1.0"),
    "no package": (lambda desk: shutil.rmtree(desk.folder / "site"), "foreign is not installed, was 1.0"),
    "no record": (lambda _: RECORD.unlink(), "no b.jsonl.made.json"),
    "a broken record": (lambda _: RECORD.write_text("["), "no b.jsonl.made.json"),
    "a record of nothing": (lambda _: RECORD.write_text('{"steps": [{}]}'), "no b.jsonl.made.json"),
}


@pytest.mark.parametrize(("change", "why"), CHANGES.values(), ids=CHANGES)
def test_what_does_not_hold_is_told_and_made_again(desk: Desk, change: Callable[[Desk], object], why: str) -> None:
    desk.call()
    change(desk)
    desk.begin()
    assert record.Records().reason(STEP) == why
    assert desk.call() == 0
    assert desk.noted() == ["made", "made"]
    assert record.Records().reason(STEP) is None


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ([*STEP, "--n", "2"], "--n: was None, is 2"),
        ([word.replace('"n": 1', '"n": 2') for word in STEP], "--plugin: n changed"),
        ([*STEP[:2], *STEP[4:]], "--in: was data/in.jsonl, is None"),
        ([*STEP, "--flag"], "--flag: was None, is []"),
    ],
)
def test_another_option_is_told_and_made(desk: Desk, words: list[str], why: str) -> None:
    desk.call()
    assert record.Records().reason(words) == why
    assert desk.call(*words) == 0
    assert desk.noted() == ["made", "made"]
    assert len(steps()) == 1


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ('"""Computes."""', '"""Does it."""', True),
        ('    """Run."""', '    """Go."""', True),
        ("import foreign", "import foreign  # as it must", True),
        ('help="A number."', 'help="How many."', True),
        ("value=1", "value=1.0", False),
        ("def run", "def ran", False),
    ],
)
def test_words_about_code_are_no_part_of_it(desk: Desk, old: str, new: str, same: bool) -> None:
    desk.call()
    before = RECORD.read_bytes()
    Path("code/mine.py").write_text(MODULE.replace(old, new))
    assert (record.Records().reason(STEP) is None) is same
    desk.call()
    assert desk.noted()[-1] == ("kept" if same else "made")
    assert (RECORD.read_bytes() == before) is same


def test_a_second_edit_within_a_second_is_not_taken_for_the_first(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python would run the bytecode of the first one: the files have the same size, and the same second."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file, second = Path("code/mine.py"), 1_700_000_000 * 10**9
    file.write_text(MODULE.replace("value=1", "value=2"))
    os.utime(file, ns=(second, second))
    desk.begin()
    [bytecode] = file.parent.rglob("mine.*.pyc")
    os.utime(bytecode, ns=(second + 1, second + 1))
    file.write_text(MODULE.replace("value=1", "value=3"))
    os.utime(file, ns=(second + 2, second + 2))
    with pytest.raises(InputError, match=r"mine\.py changed twice within a second.*; start again"):
        desk.call()
    assert not RECORD.exists()
    assert desk.call() == 0
    assert RECORD.exists()


@pytest.mark.parametrize(
    ("name", "work"),
    [
        ("data/in.jsonl", lambda: in_place("data/in.jsonl")),
        ("data/in.jsonl", lambda: Path("data/in.jsonl").unlink()),
        ("data/prompt.md", lambda: in_place("data/prompt.md")),
        ("data/nowhere.md", lambda: Path("data/nowhere.md").write_text("Now.\n")),
        ("code/mine.py", lambda: Path("code/mine.py").write_text(MODULE)),
    ],
    ids=["an input", "one that goes", "a prompt", "one that comes", "code, even to the same"],
)
def test_what_changes_while_a_step_runs_ends_it_and_nothing_is_kept(desk: Desk, name: str, work: Work) -> None:
    desk.work = [write, work]
    with pytest.raises(InputError, match=f"{name} changed while .*; start again"):
        desk.call()
    assert not RECORD.exists()
    assert not Path("steps.log").exists()


@pytest.mark.parametrize("behind", [0.0, 1.5], ids=["the clock of this machine", "that of a file server, behind"])
@pytest.mark.parametrize("name", ["data/in.jsonl", "photos/"])
def test_an_input_rewritten_within_one_tick_of_the_disks_clock_is_noticed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, name: str, behind: float
) -> None:
    """Size, times and inode are then what they were when the step named the file; only its bytes differ."""

    def state_within_a_tick(stat: os.stat_result) -> str:
        return f"{stat.st_size} {stat.st_ino}"

    Path("photos").mkdir()
    Path("photos/a.jpg").write_text("{}\n")
    monkeypatch.setattr(record, "state_of", state_within_a_tick)
    monkeypatch.setattr(hashes, "state_of", state_within_a_tick)
    now = time.time_ns
    monkeypatch.setattr(record.time, "time_ns", lambda: now() + int(behind * 1e9))
    rewritten = name if name.endswith("l") else "photos/a.jpg"
    desk.work = [lambda: record.uses(name), write, lambda: in_place(rewritten)]
    with pytest.raises(InputError, match=f"{name} changed while .*; start again"):
        desk.call()
    assert not RECORD.exists()


@pytest.mark.parametrize("name", ["data/in.jsonl", "data/prompt.md", "results/b.jsonl", "results/b/1.png"])
def test_a_file_dated_in_the_future_is_outdated_all_the_same(desk: Desk, name: str) -> None:
    """`touch -d` and a wrong clock date files so; Snakemake, which goes by times, would take an output for new."""
    later = time.time() + 10 * 365 * 86_400
    desk.call()
    for file in ("data/in.jsonl", "data/prompt.md", "results/b.jsonl", "results/b/1.png"):
        os.utime(file, (later, later))
    assert record.Records().reason(STEP) is None, "a date alone is no change"
    in_place(name)
    assert record.Records().reason(STEP) == f"{name.replace('1.png', '')} has changed"
    assert desk.call() == 0
    assert desk.noted() == ["made", "made"]


def test_the_hash_of_a_file_that_changed_after_now_is_not_remembered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the clock was set back, a file may change again at the very time of its last change."""
    memory = tmp_path / "hashes.json"
    monkeypatch.setattr(hashes, "time", SimpleNamespace(time_ns=lambda: time.time_ns() - 3600 * 10**9))
    for path in ("data/in.jsonl", "data/"):
        remembered = Hashes(memory)
        before = remembered.path(path)
        remembered.remember()
        assert not memory.exists()
        monkeypatch.setattr(hashes, "state_of", lambda stat: f"{stat.st_size}")
        in_place("data/in.jsonl")
        assert remembered.path(path) != before, "nor within a process"
        Path("data/in.jsonl").write_text("{}\n")


def test_a_former_record_does_not_vouch_while_a_step_runs_nor_where_it_fails(desk: Desk) -> None:
    desk.call()
    Path("data/prompt.md").write_text("Tell.\n")
    desk.work, desk.status = [write, lambda: pytest.fail("it is there") if RECORD.exists() else None], 3
    assert desk.call() == 3
    assert not RECORD.exists()
    desk.status = 0
    shutil.rmtree("results")
    desk.work = []
    with pytest.raises(InputError, match=r"results/b\.jsonl: the step ended well without having made it"):
        desk.call()


def test_a_step_that_was_killed_among_its_images_makes_the_same_then(desk: Desk) -> None:
    desk.call()
    whole, images = RECORD.read_bytes(), sorted(Path("results/b").iterdir())
    shutil.rmtree("results")
    Path("results/b").mkdir(parents=True)
    for name in ("1.png", "9.png"):  # as far as it came
        Path("results/b", name).write_text("half")
    desk.call()
    assert (RECORD.read_bytes(), sorted(Path("results/b").iterdir())) == (whole, images)


def test_a_file_of_the_users_among_images_is_refused_and_stays(desk: Desk) -> None:
    desk.call()
    Path("results/b/notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"results/b/notes\.txt: no image of results/b\.jsonl, .* move it away"):
        desk.call()
    assert Path("results/b/notes.txt").read_text() == "mine"


def test_protocols_are_steps_each_by_itself_and_one_that_is_not_asked_for_goes(desk: Desk) -> None:
    def judge() -> None:
        out = Path(record.option(desk.words, "--out"))
        out.parent.mkdir(parents=True, exist_ok=True)
        record.uses(f"data/{record.protocols()[0]}.md")
        out.write_text(record.protocols()[0])

    def command(protocols: str) -> list[str]:
        words = "edct verdicts --in data/in.jsonl --protocol {} --seed 7 --out results/v/{{protocol}}.jsonl"
        return words.format(protocols).split()

    def ran(protocols: str) -> list[str]:
        before = len(desk.noted()) if Path("steps.log").exists() else 0
        assert desk.call(*command(protocols)) == 0
        return [line.split()[-1] for line in Path("steps.log").read_text().splitlines()[before:] if "made" in line]

    desk.work = [judge]
    assert ran("a,b") == ["results/v/a.jsonl", "results/v/b.jsonl"]
    found = record.read("results/v.made.json")
    assert [step["options"]["--protocol"] for step in found] == ["a", "b"]
    assert all(
        {"data/in.jsonl", f"data/{name}.md"} <= set(step["inputs"]) for name, step in zip("ab", found, strict=True)
    )
    Path("results/v/b.jsonl").write_text("other")
    assert record.Records().reason(command("a,b")) == "results/v/b.jsonl has changed"
    assert ran("a,b") == ["results/v/b.jsonl"]
    assert record.Records().reason(command("a,b,c")) == "results/v/c.jsonl was not asked for"
    assert ran("c,a") == ["results/v/c.jsonl"]
    assert sorted(path.name for path in Path("results/v").iterdir()) == ["a.jsonl", "c.jsonl"]
    Path("results/v/c.jsonl").write_text("by hand")
    assert ran("a") == []
    assert Path("results/v/c.jsonl").read_text() == "by hand", "it is nobody's any more, and not removed"

    def judge_some() -> None:
        desk.status = 3 * (record.protocols() == ["d"])

    desk.work = [judge, judge_some]
    assert desk.call(*command("a,b,d,c")) == 3
    assert [step["options"]["--protocol"] for step in record.read("results/v.made.json")] == ["a", "b"]


def tables(*names: str) -> Work:
    """A step that writes some files into its folder."""

    def made() -> None:
        Path("results/tables").mkdir(parents=True, exist_ok=True)
        for name in names:
            Path("results/tables", name).write_text(name)

    return made


def test_a_folder_holds_what_its_step_made_and_what_somebody_put_there(desk: Desk) -> None:
    words = ["edct", "tables", "--in", "data/in.jsonl", "--out", "results/tables"]
    desk.work = [tables("one.csv", "two.csv", "three.csv")]
    desk.call(*words)
    Path("results/tables/mine.csv").write_text("mine")
    Path("results/tables/three.csv").write_text("by hand")
    assert record.Records().reason(words) == "results/tables/three.csv has changed"
    desk.work = [tables("one.csv")]
    desk.call(*words)
    assert sorted(path.name for path in Path("results/tables").iterdir()) == ["mine.csv", "one.csv", "three.csv"]
    [step] = record.read("results/tables.made.json")
    assert set(step["outputs"]) == {"results/tables/one.csv"}
    assert record.Records().reason(words) is None


@pytest.mark.parametrize("images", ["/1.png", ".zip"])
def test_shards_are_one_step_with_the_images_of_each(desk: Desk, images: str) -> None:
    def file() -> None:
        for shard in range(2):
            path = Path(f"results/items/mine/{shard:03}{images}")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("image")
            Path(f"results/items/mine/{shard:03}.jsonl").write_text("{}\n")

    words = ["edct", "items", "--shards", "2", *["--archive"] * (images == ".zip"), "--out", "results/items/mine.jsonl"]
    desk.work = [file]
    desk.call(*words)
    [step] = record.read("results/items/mine.jsonl.made.json")
    beside = images.removesuffix("1.png")
    assert set(step["outputs"]) == {
        f"results/items/mine/{n}{ending}" for n in ("000", "001") for ending in (beside, ".jsonl")
    }
    in_place(f"results/items/mine/001{images}")
    assert record.Records().reason(words) == f"results/items/mine/001{beside} has changed"
    in_place("results/items/mine/000.jsonl")
    desk.call(*words)
    assert record.Records().reason(words) is None

    def file_whole() -> None:
        assert not Path("results/items/mine").exists(), "what was of two shards is out of the way"
        Path(f"results/items/mine{images}").parent.mkdir(parents=True, exist_ok=True)
        Path(f"results/items/mine{images}").write_text("image")
        Path("results/items/mine.jsonl").write_text("{}\n")

    in_place("results/items/mine/000.jsonl")
    desk.work = [file]
    desk.call(*words)
    desk.work = [file_whole]
    desk.call("edct", "items", "--out", "results/items/mine.jsonl")
    assert not Path("results/items/mine/000.jsonl").exists()
    desk.work = [file]
    desk.call(*words)
    assert sorted(path.name for path in Path("results/items").rglob("*.png") if path.parent.name == "mine") == []
    assert not Path("results/items/mine.jsonl").exists()


def test_shards_that_are_steps_of_their_own_make_room_for_a_whole_and_back(desk: Desk) -> None:
    def make() -> None:
        out = Path(record.option(desk.words, "--out"))
        images = out.with_suffix("")
        assert not images.exists(), "nothing of another number of shards is in the way"
        images.mkdir(parents=True)
        (images / "1.png").write_text("image")
        out.write_text("{}\n")

    whole = ["vce", "counterfactuals", "--out", "results/c/m.jsonl"]
    shards = [[*whole[:-1], f"results/c/m/{number:03}.jsonl"] for number in range(2)]
    desk.work = [make]
    desk.call(*whole)
    for words in shards:
        desk.call(*words)
    files = {path.relative_to("results/c").as_posix() for path in Path("results").rglob("*") if path.is_file()}
    assert files == {f"m/{n}{end}" for n in ("000", "001") for end in ("/1.png", ".jsonl", ".jsonl.made.json")}
    desk.call(*whole)
    files = {path.relative_to("results/c").as_posix() for path in Path("results").rglob("*") if path.is_file()}
    assert files == {"m/1.png", "m.jsonl", "m.jsonl.made.json"}


def test_a_shard_makes_room_while_the_steps_of_others_have_already_made_theirs(desk: Desk) -> None:
    """The steps of shards run at the same time: none takes away what another has just made."""

    def make() -> None:
        out = Path(record.option(desk.words, "--out"))
        out.with_suffix("").mkdir(parents=True, exist_ok=True)
        (out.with_suffix("") / "1.png").write_text("image")
        out.write_text("{}\n")

    def files() -> set[str]:
        return {path.relative_to("results/items").as_posix() for path in Path("results").rglob("*") if path.is_file()}

    shards = [
        ["edct", "items", "--shards", "2", "--shard", str(n), "--out", f"results/items/m/{n:03}.jsonl"] for n in (0, 1)
    ]
    desk.work = [make]
    desk.call("edct", "items", "--shards", "1", "--out", "results/items/m.jsonl")
    whole = Path("results/items/m.jsonl.made.json").read_bytes()
    desk.call(*shards[1])
    for name in ("m.jsonl", "m/1.png"):
        Path(f"results/items/{name}").write_text("image" if name.endswith(".png") else "{}\n")
    Path("results/items/m.jsonl.made.json").write_bytes(whole)  # the other step has read it before it was taken away
    desk.call(*shards[0])
    assert files() == {f"m/{n}{end}" for n in ("000", "001") for end in ("/1.png", ".jsonl", ".jsonl.made.json")}
    assert all(record.Records().reason(words) is None for words in shards)

    def file_all() -> None:
        for n in (0, 1):
            Path(f"results/items/m/{n:03}").mkdir(parents=True, exist_ok=True)
            Path(f"results/items/m/{n:03}.jsonl").write_text("{}\n")

    desk.work = [file_all]
    desk.call("edct", "items", "--shards", "2", "--out", "results/items/m.jsonl")
    desk.work = [make]
    desk.call(*shards[1])
    assert Path("results/items/m/000.jsonl").is_file(), (
        "a shard that one step made with others is its own step's to replace"
    )
    assert not Path("results/items/m.jsonl.made.json").exists()


def test_a_folder_of_which_only_names_are_read_may_change_what_its_files_hold(desk: Desk) -> None:
    Path("photos").mkdir()
    Path("photos/a.jpg").write_text("a")

    def look() -> None:
        record.uses_names("photos")

    desk.work = [look, write]
    desk.call()
    Path("photos/a.jpg").write_text("b")
    assert record.Records().reason(STEP) is None
    Path("photos/b.jpg").write_text("b")
    assert record.Records().reason(STEP) == "photos/ has changed"


def test_an_archive_beside_an_input_is_an_input(desk: Desk) -> None:
    Path("data/in.zip").write_text("images")
    desk.call()
    assert steps()[0]["inputs"].keys() >= {"data/in.jsonl", "data/in.zip"}
    in_place("data/in.zip")
    assert record.Records().reason(STEP) == "data/in.zip has changed"


def test_what_a_study_is_told_stands_in_the_record_by_content(desk: Desk) -> None:
    words = [*STEP, "--study", "told.json"]
    Path("told.json").write_text('{"shards": 2}')
    desk.call(*words)
    assert steps()[0]["options"]["--study"] == {"shards": 2}
    Path("told.json").rename("otherwise.json")
    assert record.Records().reason([*STEP, "--study", "otherwise.json"]) is None
    Path("otherwise.json").write_text('{"shards": 3}')
    assert record.Records().reason([*STEP, "--study", "otherwise.json"]) == "--study: shards changed"


def test_copies_of_a_storage_provider_have_the_names_of_what_they_are_of(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = "copies/disk/study/"
    shutil.copytree("data", f"{place}data")
    desk.work = [
        lambda: Path(f"{place}results").mkdir(exist_ok=True),
        lambda: Path(f"{place}results/b.jsonl").write_text("made\n"),
    ]
    monkeypatch.setenv(record.PLACE, place)
    words = [f"{place}{word}" if word.startswith(("data/", "results/")) else word for word in STEP]
    assert desk.call(*words) == 0
    [step] = record.read(f"{place}results/b.jsonl.made.json")
    assert (list(step["inputs"]), list(step["outputs"])) == (["data/in.jsonl"], ["results/b.jsonl"])
    assert place not in json.dumps(step)
    assert desk.call(*words) == 0
    assert desk.noted() == ["made", "kept"]


def test_a_young_file_is_hashed_each_time_and_an_old_one_is_remembered(tmp_path: Path) -> None:
    memory = tmp_path / "hashes.json"
    for path in ("data/in.jsonl", "data/"):
        first = Hashes(memory)
        before = first.path(path)
        first.remember()
        assert not memory.exists()
        in_place("data/in.jsonl")
        assert Hashes(memory).path(path) != before
        Path("data/in.jsonl").write_text("{}\n")
    time.sleep(2.1)
    first = Hashes(memory)
    kept = first.path("data/in.jsonl"), first.path("data/")
    first.remember()
    assert "data/in.jsonl" in memory.read_text()
    in_place("data/in.jsonl")
    later = Hashes(memory)
    assert (later.path("data/in.jsonl"), later.path("data/")) != kept
    for damage in ("", "[", "[]", "\x00"):
        memory.write_text(damage)
        assert Hashes(memory).path("data/prompt.md") == Hashes().path("data/prompt.md")


def test_a_module_of_nobodys_counts_by_its_bytes_and_a_version_that_was_remembered_no_longer(desk: Desk) -> None:
    desk.call()
    assert loaded_code.versions({"foreign", "json"})["foreign"] == "1.0"
    desk.install("2.0")  # the memory of packages speaks of 1.0
    desk.begin()
    assert loaded_code.versions({"foreign"})["foreign"] == "2.0"
    Path("site/alone.py").write_text("X = 1\n")
    desk.begin()
    one = loaded_code.versions({"alone", "nowhere_to_be_found", "os"})
    assert one.keys() == {"python", "module alone"}
    Path("site/alone.py").write_text("X = 2\n")
    desk.begin()
    assert loaded_code.versions({"alone"}) != one
