"""Commands of these studies begin as those of tests/workflow do."""

from tests.workflow.conftest import plain_programs, programs

__all__ = ["plain_programs", "programs"]
