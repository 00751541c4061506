"""The study's plugins are cheap to import: `cfeval params` looks at all of them."""

import subprocess
import sys

import pytest

from cfeval.vce.config import FAMILIES

CODE = """
import sys
from importlib.metadata import entry_points
for family in sys.argv[1:]:
    for point in entry_points(group=f"cfeval.{family}"):
        point.load()
        assert "torch" not in sys.modules, point.value
"""


@pytest.mark.slow
def test_no_plugin_imports_torch() -> None:
    subprocess.run([sys.executable, "-c", CODE, *sorted(set(FAMILIES.values()))], check=True)
