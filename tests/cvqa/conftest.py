"""Fixtures of the command line that the verbs of this study need too."""

from tests.study.conftest import _settings_end_with_the_test, provider, server  # noqa: F401
