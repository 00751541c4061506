"""A step as a function that remembers: it runs only where its output is not what it would make now.

Beside output X lies its record, X.made.json: the options; by SHA-256 what was read, what was made, and the code that
ran (a depfile, as of a C compiler: the modules that were loaded); the versions of the packages that this code imports.
It is written last. No time, no absolute path: equal runs write equal records.

One command may be several steps: `--protocol a,b` with `{protocol}` in the place of the name in its paths. Each is run
and recorded by itself; their records stand in one file, for X is then the folder of their outputs.
"""

import contextlib
import functools
import json
import os
import re
import shlex
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from glob import glob
from itertools import islice
from pathlib import Path
from typing import Any

from cfeval.core.errors import InputError
from cfeval.core.hashes import MEMORY, STAMP, Hashes, of_files_in, of_names, read_json, state_of, state_of_folder
from cfeval.core.loaded_code import COMPUTE_OPTIONS, Code, loaded_modules, path_of, version_of, versions
from cfeval.core.package import PACKAGE, carried, name_of

ENDING = ".made.json"
# The environment variable that names a file to which every step adds a line: made or kept, which step, its output.
COUNTER = "CFEVAL_STEPS_LOG"
# The environment variable that names the folder of a storage provider's copies; no record names it.
PLACE = "CFEVAL_PLACE"
# The parts of a step's entry in a record.
PARTS = ("options", "inputs", "outputs", "code", "packages")
EACH = "{protocol}"
PROTOCOL = "--protocol"
# The option whose file holds parameters; a record has its content in the place of its name.
STUDY = "--study"
SHARDS = "--shards"
# The option of a step that makes one of the shards, in a file of its own.
ONE_SHARD = "--shard"
# The name of a shard: see `shard_names`.
SHARD = r"\d\d\d+"  # not \d{3,}, which Snakemake does not take in a constraint
MOST_SHARDS = 9999
# What comes before the name of a file that comes with cfeval, wherever that is installed.
_BROUGHT = "cfeval:"
# Endings of outputs that are files; any other output is a folder.
_FILES = (".jsonl", ".csv", ".zip", ".json", ".html", ".md")
# What an image folder holds beside its images: the files that were not used (`cfeval.core.shards`).
LEFT_OUT = "left_out.jsonl"
# The ending of a folder of items that a page loads on demand (`cfeval.report.gallery`).
BESIDE = ".items"
_IMAGES = (".png", ".npy", LEFT_OUT)
_OWN = "cfeval"
_SETTLED_NS = 2_000_000_000

Args = Sequence[str]
# One step's entry in a record, by `PARTS`.
Step = Mapping[str, Any]
# The arguments of the step that this process runs.
_running: list[str] = []
# The files that this process reads: by name, state and hash when `uses` named it, and when that was (ns).
_read: dict[str, tuple[str, str | None, int]] = {}


def steps(args: Args) -> list[list[str]]:
    """The steps of a command: one, or one a protocol."""
    if EACH not in option(args, "--out"):
        return [list(args)]
    names = option(args, PROTOCOL).split(",")
    return [[name if at == PROTOCOL else word.replace(EACH, name) for at, word in _pairs(args)] for name in names]


def option(args: Args, name: str) -> str:
    """The value of an option; empty where it is not given."""
    joined = (word.removeprefix(f"{name}=") for word in args if word.startswith(f"{name}="))
    return next((word for at, word in _pairs(args) if at == name), next(joined, ""))


def record_of(args: Args) -> str:
    """Where the record of a command lies: beside its output, or beside the folder of its steps' outputs."""
    out = option(args, "--out")
    return f"{os.path.dirname(out) if EACH in out else out}{ENDING}"


def read(record: str | Path) -> list[Step]:
    """The steps that a record speaks of; none where there is no record, or what is there is none."""
    content = read_json(Path(record)).get("steps")
    return [step for step in content if _is_step(step)] if isinstance(content, list) else []


def _is_step(step: Any) -> bool:
    parts = [step.get(part) for part in PARTS] if isinstance(step, dict) else [None]
    return all(isinstance(part, dict) for part in parts) and isinstance(step["options"].get("--out"), str)


def args_of(shell: str) -> list[str]:
    """The arguments of `cfeval` in a rule's shell command, without where errors go; none of another program."""
    args = shlex.split(shell.partition(" 2> ")[0])
    return args[args.index(_OWN) + 1 :] if _OWN in args else []


def options(args: Args) -> dict[str, Any]:
    """The options of a step, in whatever order: each one's value, or values; JSON is parsed."""
    values_by_name: dict[str, list[Any]] = {}
    for at, word in _pairs(args):
        name, equals, value = word.partition("=") if word.startswith("--") else (at, "=", word)
        values = values_by_name.setdefault(name, [])
        if equals:
            in_file = name == STUDY and os.path.isfile(value)
            values.append(_content(Path(value).read_text("utf-8") if in_file else _recorded_value(value)))
    kept = {name: values for name, values in values_by_name.items() if name not in COMPUTE_OPTIONS}
    return {name: values[0] if len(values) == 1 else values for name, values in sorted(kept.items())}


def protocols() -> list[str]:
    """The protocol of the step that this process runs; none where it has none."""
    return [protocol] if (protocol := option(_running, PROTOCOL)) else []


def uses(*paths: str | Path) -> None:
    """Say that a step is about to read some files; the names of folders end with a slash. Outside of steps, nothing.

    One that is not there counts too: if it were, another would have been read. Images of records need not be named, for
    their records name them by hash.
    """
    for path in map(_relative, map(str, paths)) if _running else ():
        if path not in _read:
            _read[path] = (_state(path), _hashes().path(path), time.time_ns())


def uses_names(folder: str | Path) -> None:
    """Say that a step is about to read which files a folder holds; those that it opens it must name by `uses`."""
    path = f"{_relative(str(folder)).rstrip('/')}/"
    if _running and path not in _read:
        _read[path] = (_state(path), of_names(path), time.time_ns())


class Records:
    """What records say, against what is there now."""

    def __init__(self) -> None:
        self.hashes, self.code = Hashes(MEMORY / "hashes.json"), Code()
        self._module = functools.cache(self._code_of)

    def read(self, record: str) -> list[Step]:
        """The steps that a record speaks of."""
        return read(record)

    def reason(self, args: Args) -> str | None:
        """Why a command would have to run; None where its output is what it would make."""
        record = record_of(args)
        recorded = {_key(step["options"]): step for step in self.read(record)}
        for step in steps(args):
            given = options(step)
            if (made := recorded.get(_key(given))) is None:
                return _new_options(given, recorded.values()) if recorded else f"no {os.path.basename(record)}"
            if fault := self.fault(made):
                return fault
        return None

    def fault(self, step: Step) -> str | None:
        """The first difference from what a record says; None where there is none."""
        return next(self.faults(step), None)

    def faults(self, step: Step) -> Iterator[str]:
        """Every difference between now and what a record says."""
        for kind in ("outputs", "inputs"):
            for name, was in step[kind].items():
                if (now := self.path(name, was)) != was:
                    yield f"{name} {'is missing' if now is None else 'is new' if was is None else 'has changed'}"
        yield from (f"code has changed: {name}" for name, was in step["code"].items() if self._module(name) != was)
        for name, was in step["packages"].items():
            if (version := version_of(name)) != was:
                yield f"{name} is {version or 'not installed'}, was {was}"

    def path(self, name: str, was: str | None = None) -> str | None:
        """The hash of a file or folder, by the name that a record has for it, of the kind that the record has."""
        return self.hashes.again(_placed(name), was)

    def remember(self) -> None:
        """Keep what was hashed for the next process."""
        self.hashes.remember()

    def _code_of(self, module: str) -> str | None:
        file = path_of(module)
        return self.code.essence(Path(file))[0] if file else None


def call(args: Args, run: Callable[[list[str]], int]) -> int:
    """Run each step of a command, unless its output is what it would make; returns the exit status.

    Raises:
        InputError: something changed while a step ran, or lies where it would be overwritten.
    """
    for step in steps(args):
        if _relative(out := option(step, "--out")) in _files_of(step):
            raise InputError(f"--out: {out} is named twice; choose another name")
    _read.clear()
    place = os.environ.get(PLACE, "")
    record, records = Path(record_of(args)), Records()
    recorded = {_key(step["options"]): step for step in read(record)}
    wanted = {_key(options(step)): step for step in steps(args)}
    kept = {key for step in wanted.values() for key in _same_output(recorded, step)}
    _forget(recorded, recorded.keys() - kept, record)  # steps that the command no longer has
    from cfeval.core.progress import begin_job

    for key, step in wanted.items():
        begin_job("_".join(args[:2]), str(record).removeprefix(place))
        if key in recorded and records.fault(recorded[key]) is None:
            for path in (*recorded[key]["outputs"], str(record)):
                os.utime(_placed(path))
            _count("kept", step)
            continue
        replaced = [recorded.pop(old_key) for old_key in _same_output(recorded, step)]
        previous = {path: sha for old in replaced for path, sha in old["outputs"].items()}
        _write(record, list(recorded.values()))  # while it runs, nothing vouches for what lies there
        if any(old["options"].get(SHARDS) != options(step).get(SHARDS) for old in replaced):
            # Shards lie where a single file has its images, and the other way round.
            _remove_previous(previous, {}, record)
        for other in _records_of_other_shards(option(step, "--out")):
            _make_room(other)
        made = _run_step(step, run)
        if isinstance(made, int):
            return made
        recorded[key] = made
        _write(record, [recorded[wanted_key] for wanted_key in wanted if wanted_key in recorded])
        _remove_previous(previous, made["outputs"], record)
        _count("made", step)
    return 0


def _run_step(args: Args, run: Callable[[list[str]], int]) -> Step | int:
    """Run a step; returns its entry for the record, or the exit status where it failed."""
    out = option(args, "--out")
    _clear(args)
    _running[:] = args
    before = {path: _state(path) for path in outputs_of(args)}
    named = list(_files_of(args))
    for path in named:
        _read.pop(path, None)
    uses(*named)
    try:
        if status := run(list(args)):
            return status
    finally:
        _running.clear()
    _refuse_changed(out)
    code, hashes = Code(), Hashes()
    essences = {name: code.essence(Path(file)) for name, file in loaded_modules()}
    written = [path for path in outputs_of(args) if path.endswith("/") or _state(path) != before.get(path)]
    outputs = {_name(path): hashes.path(path) for path in written}
    if not outputs:
        raise InputError(f"{out}: the step ended well without having made it")
    imported = {package for _, *packages in essences.values() for package in packages if package in sys.modules}
    inputs = {_name(path): sha for path, (_, sha, _) in sorted(_read.items()) if _name(path) not in outputs}
    for path in named:  # the next step of this process names its own
        _read.pop(path, None)
    return {
        "options": options(args),
        "inputs": inputs,
        "outputs": dict(sorted(outputs.items())),
        "code": {name: sha for name, (sha, *_) in sorted(essences.items())},
        "packages": versions(imported),
    }


def outputs_of(args: Args) -> list[str]:
    """What lies where a step writes: a file, or its shards, each with the folder or archive of its images; a page with
    the items beside it; or all files of a folder.
    """
    out, shards = option(args, "--out"), 1 if option(args, ONE_SHARD) else int(option(args, SHARDS) or 1)
    stem, ending = os.path.splitext(out)
    if ending not in _FILES:
        paths = (os.path.join(at, name) for at, _, names in os.walk(out) for name in names)
        return sorted(path for path in paths if not os.path.basename(path).startswith("."))
    files = [out] if shards == 1 else [f"{stem}/{name}{ending}" for name in shard_names(shards)]
    beside = {".jsonl": ("/", ".zip"), ".html": (f"{BESIDE}/",)}.get(ending, ())
    images = [f"{file.removesuffix(ending)}{images}" for file in files for images in beside]
    return [path for path in (*files, *images) if os.path.exists(path)]


def shard_names(shards: int) -> list[str]:
    """The names of so many shards: their numbers, all of as many digits as the last one and at least three."""
    digits = max(3, len(str(shards - 1)))
    return [f"{number:0{digits}d}" for number in range(shards)]


def forget(record: Path, outs: Collection[str]) -> None:
    """Forget the steps that made some outputs, and remove what they made, where it is unchanged."""
    recorded = {_key(step["options"]): step for step in read(record)}
    _forget(recorded, [key for key, step in recorded.items() if step["options"]["--out"] in outs], record)


def _make_room(record: Path) -> None:
    """Forget the steps of a record, and remove what they made.

    Shards that one step made stay: each is replaced by a step of its own, which may be running now.
    """
    steps_before = read(record)
    uncut = [step for step in steps_before if ONE_SHARD in step["options"] or step["options"].get(SHARDS, "1") == "1"]
    forget(record, [step["options"]["--out"] for step in uncut])
    if len(uncut) < len(steps_before):
        _write(record, [])


def _forget(recorded: dict[str, Step], keys: Iterable[str], record: Path) -> None:
    """Forget some steps, and remove what they made, where it is unchanged."""
    for key in list(keys):
        outputs = recorded.pop(key)["outputs"]
        _write(record, list(recorded.values()))
        _remove_previous(outputs, {}, record)


def _same_output(recorded: Mapping[str, Step], args: Args) -> list[str]:
    """The steps that have made the output of a command, with whatever options."""
    out = _recorded_value(option(args, "--out"))
    return [key for key, step in recorded.items() if step["options"]["--out"] == out]


def _remove_previous(previous: Mapping[str, str], made: Mapping[str, Any], record: Path) -> None:
    """Remove what a step made before and does not make any more, where nobody has changed it since.

    Only what lies beside the record: the record of a copied folder names files of the original.
    """
    hashes, beside = Hashes(), f"{os.path.abspath(record.parent)}/"
    for path, sha in previous.items():
        there = _placed(path)
        again = path in made or any(path.startswith(folder) for folder in made if folder.endswith("/"))
        is_images = there.endswith("/") and not there.endswith(f"{BESIDE}/")
        # Shards of other steps may lie in a folder of images, or come into it right now: they are not counted.
        now = of_files_in(there, _IMAGES) if is_images else hashes.path(there)
        if not again and os.path.abspath(there).startswith(beside) and now == sha:
            remove(there, deep=not is_images)


def _records_of_other_shards(out: str) -> list[Path]:
    """The records of the shards that were made in the place of a file, or of the file in the place of a shard."""
    stem, ending = os.path.splitext(out)
    if ending != ".jsonl":
        return []
    whole = [f"{os.path.dirname(stem)}{ending}{ENDING}"] if re.search(rf"/{SHARD}$", stem) else []
    shards = [path for path in glob(f"{stem}/*{ending}{ENDING}") if re.fullmatch(rf".*/{SHARD}{ending}{ENDING}", path)]
    return [Path(path) for path in (*whole, *sorted(shards))]


def remove(path: str, deep: bool = True) -> None:
    """Remove a file, or what a step puts into a folder, and every folder left empty (but for Snakemake's own file).

    Args:
        path: of a folder it ends with a slash.
        deep: whether also from the folders in a folder.
    """
    files = [path]
    if path.endswith("/"):
        endings = (".html",) if path.endswith(f"{BESIDE}/") else _IMAGES
        walked = os.walk(path) if deep else islice(os.walk(path), 1)
        files = [os.path.join(at, name) for at, _, names in walked for name in names if name.endswith(endings)]
    for file in files:
        Path(file).unlink(missing_ok=True)
    folder = os.path.dirname(path)
    with contextlib.suppress(OSError):  # another step may use a folder, or remove it too
        while folder and set(os.listdir(folder)) <= {STAMP}:
            Path(folder, STAMP).unlink(missing_ok=True)
            os.rmdir(folder)
            folder = os.path.dirname(folder)


def _clear(args: Args) -> None:
    """Take away images of a run that was broken off: the step makes its images anew.

    Raises:
        InputError: their folder holds something else, which would be lost with them.
    """
    out = option(args, "--out")
    stem, ending = os.path.splitext(out)
    if ending != ".jsonl" or not os.path.isdir(stem):
        return
    files = [os.path.join(at, name) for at, _, names in os.walk(stem) for name in names]
    own = (*_IMAGES, ".jsonl", ".zip", ".part", STAMP)
    if foreign := [file for file in files if not file.endswith(own)]:
        raise InputError(f"{foreign[0]}: no image of {out}, whose folder is made anew; move it away")
    if not any(path.endswith(".jsonl") for path in outputs_of(args)):
        remove(f"{stem}/")


def _refuse_changed(out: str) -> None:
    hashes = Hashes()
    for path, (state, sha, named_at) in _read.items():
        young = os.path.exists(path) and os.stat(path).st_ctime_ns > named_at - _SETTLED_NS
        if (young or _state(path) != state) and hashes.again(path, sha) != sha:
            raise InputError(f"{path} changed while {out} was made from it; start again")


def _files_of(args: Args) -> Iterator[str]:
    """The files that a command names, each with the archive of its images."""
    for at, word in _pairs(args):
        name, _, path = word.partition("=") if word.startswith("--") else (at, "=", word)
        if name in ("--out", STUDY) or path.startswith(("{", "[")) or not os.path.isfile(path):
            continue
        yield _relative(path)
        if path.endswith(".jsonl") and os.path.isfile(archive := f"{path.removesuffix('.jsonl')}.zip"):
            yield _relative(archive)


def _pairs(args: Args) -> Iterator[tuple[str, str]]:
    """Every word with the option whose value it is; empty where it is an option itself, or of none."""
    before = ""
    for word in args:
        is_option = word.startswith("--")
        yield ("" if is_option else before, word)
        before = word if is_option and "=" not in word else ""


def _recorded_value(value: str) -> str:
    """A value as a record has it: files by the names that they have everywhere."""
    place = os.environ.get(PLACE, "")
    return _name(value) if os.path.isabs(value) or (place and value.startswith(place)) else value


def _content(text: str) -> Any:
    try:
        return json.loads(text) if text.startswith(("{", "[")) else text
    except ValueError:
        return text


def _name(path: str) -> str:
    """What a record calls a file: by its path here; one that comes with cfeval, by its place there."""
    path = path.removeprefix(os.environ.get(PLACE, ""))
    if not os.path.isabs(path):
        return path
    if brought := name_of(Path(path)):
        return f"{_BROUGHT}{brought}{'/' * path.endswith('/')}"
    package = f"{PACKAGE.as_posix()}/"
    return f"{_BROUGHT}src/cfeval/{path.removeprefix(package)}" if path.startswith(package) else _relative(path)


def _placed(name: str) -> str:
    """Where a file lies that a record names."""
    inside = name.removeprefix(_BROUGHT)
    if name.startswith(_BROUGHT):
        package = "src/cfeval/"
        place = PACKAGE / inside.removeprefix(package) if inside.startswith(package) else carried(inside.rstrip("/"))
        return f"{place}{'/' * inside.endswith('/')}"
    before = os.environ.get(PLACE, "")
    return f"{before}{name}" if before and os.path.lexists(f"{before}{name}") else name


def _relative(path: str) -> str:
    """A path as it is named here; relative where it lies below the working folder, unless it comes with cfeval."""
    here = f"{os.getcwd()}/"
    if not path.startswith(here) or path.startswith(f"{PACKAGE.as_posix()}/") or name_of(Path(path)):
        return path
    return path.removeprefix(here)


def _state(path: str) -> str:
    """What of a file, or of the files of a folder, changes with the content."""
    try:
        return state_of_folder(path)[0] if path.endswith("/") else state_of(os.stat(path))
    except (FileNotFoundError, NotADirectoryError):
        return ""


def _key(given: Any) -> str:
    return json.dumps(given, sort_keys=True)


def _new_options(given: Mapping[str, Any], recorded: Iterable[Step]) -> str:
    """Which options differ from those of the step that made the same output."""
    was = next((step["options"] for step in recorded if step["options"]["--out"] == given["--out"]), None)
    if was is None:
        return f"{given['--out']} was not asked for"
    differ = [name for name in sorted({*was, *given}) if was.get(name) != given.get(name)]
    return "; ".join(_difference(name or "arguments", was.get(name), given.get(name)) for name in differ)


def _difference(name: str, was: Any, now: Any) -> str:
    if isinstance(was, dict) and isinstance(now, dict):
        keys = [key for key in sorted({*was, *now}) if was.get(key) != now.get(key)]
        return f"{name}: {', '.join(keys)} changed"
    short = [text if len(text := str(value)) < 60 else "…" for value in (was, now)]
    return f"{name}: was {short[0]}, is {short[1]}"


@functools.cache
def _hashes() -> Hashes:
    return Hashes(MEMORY / "hashes.json")


def _write(record: Path, recorded: Sequence[Step]) -> None:
    if not recorded:
        if record.exists():
            record.unlink()
        return
    building = record.with_name(f".{record.name[:200]}.{os.getpid()}.part")
    text = json.dumps({"steps": list(recorded)}, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    building.write_text(text, encoding="utf-8")
    building.replace(record)


def _count(outcome: str, args: Args) -> None:
    if file := os.environ.get(COUNTER):
        handle = os.open(file, os.O_APPEND | os.O_CREAT | os.O_WRONLY)
        os.write(handle, f"{outcome} {args[0]}.{args[1]} {option(args, '--out')}\n".encode())
        os.close(handle)
