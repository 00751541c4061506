"""A person at a shell: types commands, reads what is printed, and pastes the commands that are printed."""

import os
import re
import signal
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pexpect

SECONDS = 300
"""How long a person waits for any command."""
_OFFERED = re.compile(
    r"`((?:cfeval|snakemake|dvc|cp|mv|export) [^`\n]+)`|^\s*(?:\$ |[\w ]+: )?(cfeval \S[^\n]*)$", re.MULTILINE
)
"""A command that a text offers: in backticks, or on a line of its own."""


@dataclass(frozen=True)
class Reply:
    """What a command printed, and how it ended."""

    command: str
    status: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """All that a person sees."""
        return self.out + self.err

    @property
    def last_line(self) -> str:
        """The last line that is not blank."""
        return next((line for line in reversed(self.text.splitlines()) if line.strip()), "")

    @property
    def offered(self) -> list[str]:
        """The commands that the text offers, as they would be pasted."""
        return [quoted or plain for quoted, plain in _OFFERED.findall(self.text)]

    def one_line(self) -> str:
        """The one line in which a command refuses; its exit status is 2."""
        assert self.status == 2, self.text
        assert "Traceback" not in self.text, self.text
        [line] = [line for line in self.err.splitlines() if line.startswith("cfeval: ")]
        return line


@dataclass(frozen=True)
class Person:
    """Somebody with an empty folder and an installed wheel.

    Attributes:
        folder: where commands are typed.
        environment: of the shell.
        typed: all that was typed, for a story that fails.
    """

    folder: Path
    environment: Mapping[str, str]
    typed: list[Reply] = field(default_factory=list)

    def in_(self, folder: str) -> "Person":
        """The same person after `cd FOLDER`."""
        return replace(self, folder=self.folder / folder)

    def with_(self, **variables: str) -> "Person":
        """The same person after `export NAME=VALUE`."""
        return replace(self, environment={**self.environment, **variables})

    def types(self, command: str) -> Reply:
        """Type a command, whatever comes of it; nobody is at the keyboard while it runs."""
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        self.typed.append(Reply(command, done.returncode, done.stdout, done.stderr))
        return self.typed[-1]

    def does(self, command: str) -> Reply:
        """Type a command that must end well."""
        reply = self.types(command)
        assert reply.status == 0, f"$ {command}\n{reply.text}"
        return reply

    def pastes(self, reply: Reply, wanted: str, more: str = "") -> Reply:
        """Paste the first offered command that contains some words, and type on; it must end well."""
        fitting = [command for command in reply.offered if wanted in command]
        assert fitting, f"nothing with '{wanted}' can be pasted from:\n{reply.text}"
        return self.does(f"{fitting[0]}{more}")

    def answers(self, command: str, questions: Sequence[tuple[str, str]]) -> Reply:
        """Type a command at a terminal of 100 columns, and answer what it asks: a pattern and an answer each."""
        child = pexpect.spawn(
            "bash",
            ["-c", command],
            cwd=str(self.folder),
            env={**self.environment, "TERM": "xterm"},
            dimensions=(40, 100),
            encoding="utf-8",
            timeout=SECONDS,
        )
        seen = ""
        for question, answer in questions:
            child.expect(question)
            seen += child.before + child.after
            child.sendline(answer)
        child.expect(pexpect.EOF)
        seen += child.before
        child.close()
        self.typed.append(Reply(command, child.exitstatus or 0, seen.replace("\r", ""), ""))
        return self.typed[-1]

    def starts(self, command: str) -> "subprocess.Popen[str]":
        """Start a command that goes on while the person does something else; see `hang_up` and `waits_for`."""
        return subprocess.Popen(
            ["bash", "-c", f"exec {command}"],
            cwd=self.folder,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )


def hang_up(process: "subprocess.Popen[str]") -> str:
    """Close the terminal of a command: all of its processes get SIGHUP; what it printed."""
    os.killpg(process.pid, signal.SIGHUP)
    with process:
        return process.communicate(timeout=SECONDS)[0]
