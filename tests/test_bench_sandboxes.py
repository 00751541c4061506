"""The benchmark of interpreters: it takes every kept reply, and tells what a program looked at from what it gave."""

from dataclasses import replace

import pytest
from bench import sandboxes
from bench.sandboxes import Ran, corpus, ours

from tests.cvqa.programs.replies import PROGRAMS


def test_every_kept_reply_is_compared_by_what_it_looks_at() -> None:
    assert len(corpus()) > 700
    ran = ours(PROGRAMS["helper before"][0])
    assert (ran.result, ran.trace) == ("5", (("find", "'mug'"), ("find", "'dog'")))
    assert ours("def execute_command(image):\n    return 5").trace == ()


def test_an_interpreter_that_looks_elsewhere_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = {"a": PROGRAMS["one line"], "b": PROGRAMS["helper before"], "c": ("nothing", "5")}
    monkeypatch.setattr(sandboxes, "corpus", lambda: kept)

    def other(code: str) -> Ran:
        ran = ours(code)
        return replace(ran, trace=ran.trace[:1])

    sandboxes.compared({"ours": ours, "other": other})
    said = capsys.readouterr().out
    assert "ours: kept replies 2 of 3" in said
    assert "equal traces: 1 of 2; not: b" in said
