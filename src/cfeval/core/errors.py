"""The errors a user can meet; each is shown as one line, and the command ends with exit status 2.

    CfevalError
    ├── InputError      a file or argument of the user's cannot be used
    │   └── ParamsError     params.yaml holds an unknown key, a wrong type or an unknown plugin
    ├── PluginError    a model, editor or judge cannot be built or used at all (one failed item is a status instead)
    ├── OutputError     a result cannot be written: full disk, read-only folder, no permission
    └── StoppedError    Ctrl-C, SIGTERM or SIGHUP came while calls were in flight; the exit status is that of the signal

Anything else is a defect of cfeval and keeps its traceback.
"""

import difflib
import errno
import re
import signal
from collections.abc import Iterable, Mapping
from typing import Any

_UNWRITABLE = {
    errno.ENOSPC: "the disk is full; free some space and run the command again",
    errno.EDQUOT: "the disk quota is used up; free some space and run the command again",
    errno.EFBIG: "the file would exceed the size limit of this system; raise the limit or free some space",
    errno.EROFS: "the file system is read-only; choose another folder",
    errno.EACCES: "permission denied; make the folder writable or choose another",
    errno.EPERM: "permission denied; make the folder writable or choose another",
    errno.EEXIST: "a file stands where a folder is needed; move it away or choose another folder",
    errno.ENOTDIR: "a file stands where a folder is needed; move it away or choose another folder",
    errno.EISDIR: "a folder stands where a file is needed; move it away or choose another name",
}


# More names than that are no longer listed.
_SHOWN = 60


_HIDDEN = "[hidden]"
_USER = re.compile(r"(://)[^\s'\"]*@")
_KEY = re.compile(r"([?&#;][\w.%-]*(?:key|token|secret|passw|pwd|auth|sig|cred)[\w.%-]*=)[^\s'\"&#]*", re.IGNORECASE)


def without_secrets(text: str) -> str:
    """A text without the users, passwords and keys of the addresses in it."""
    return _KEY.sub(rf"\1{_HIDDEN}", _USER.sub(rf"\1{_HIDDEN}@", text))


def shown(value: Any) -> str:
    """A value of the user's as a message repeats it: without keys, and without what an address may hold beside a host.

    A value may be a whole address, whose password may hold anything: from its scheme on it is left out.
    """
    if isinstance(value, str):
        scheme, colon, rest = value.partition("://")
        bare = "" if colon else ":" in value and "@" in value  # an address without http://
        return repr(f"{scheme[:9]}{colon}{_HIDDEN}" if re.search(r"[@?#=%\\\s]", rest) else _HIDDEN if bare else value)
    if isinstance(value, Mapping):
        pairs = (f"{shown(key)}: {_HIDDEN if is_secret(str(key)) else shown(inner)}" for key, inner in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    return without_secrets(repr(value))


class CfevalError(Exception):
    """An error whose text is one line for the user: what, where, what is allowed, what to do.

    No address in it keeps a user, a password or a key.
    """

    def __init__(self, *args: object) -> None:
        super().__init__(*(without_secrets(each) if isinstance(each, str) else each for each in args))


class InputError(CfevalError):
    """A file or argument cannot be used."""


class ParamsError(InputError):
    """The parameters cannot be used."""


class PluginError(CfevalError):
    """A plugin cannot be built or used at all."""


class OutputError(CfevalError):
    """A result cannot be written."""


class StoppedError(CfevalError):
    """The user, a scheduler or the system ends the run by a signal."""

    def __init__(self, number: int) -> None:
        self.number, self.name = number, "Ctrl-C" if number == signal.SIGINT else signal.Signals(number).name
        super().__init__(f"stopped by {self.name}; all calls that were answered are stored, run again to go on")


def as_output_error(error: OSError) -> OutputError | None:
    """The one-line form of an operating system error about writing, or None for any other."""
    advice = _UNWRITABLE.get(error.errno or 0)
    if advice is None:
        return None
    return OutputError(f"cannot write {error.filename or 'the output'}: {advice}")


# What to say of a key in params.yaml.
NO_SECRETS = (
    "a key does not belong in a file that others see; put it into an environment variable, and that variable's name "
    "into the option 'key_env' of the plugin; a key that was shared or committed should be replaced"
)


def is_secret(key: str) -> bool:
    """Whether what an unknown option is called says that it holds a key, which is never repeated."""
    return key.lower().replace("-", "_") in ("api_key", "apikey", "key", "token", "secret", "password")


def no_name(text: str) -> str:
    """What is wrong with a name that cannot be part of a file's name, and one like it that can."""
    if shown(text) != repr(text):
        return f"the name {shown(text)} is an address; a name has letters, digits, '.', '_' and '-'"
    like = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-._")
    fault = "has a space" if " " in text else "is no file name"
    rule = "letters, digits, '.', '_' and '-', a letter or digit first"
    return f"the name {text!r} {fault}; a name has {rule}" + (f": write '{like}'" if like else "")


def nearest(name: str, allowed: Iterable[str]) -> str:
    """A hint naming what is allowed, the nearest name first: `did you mean 'x'? Allowed: …`.

    Of very many names only the nearest are shown.
    """
    names = sorted(allowed)
    close = difflib.get_close_matches(name, names, n=5, cutoff=0.5)
    hint = f"did you mean '{close[0]}'? " if close else ""
    if len(names) > _SHOWN:
        return f"{hint}{len(names)} names are allowed, such as {', '.join(close or names[:5])}"
    return f"{hint}allowed: {', '.join(names)}"
