"""Definitions are loaded by name; the collector of garbage rests meanwhile, and is then as it was."""

import gc
import sys
from pathlib import Path

import pytest

from cfeval.core.extras import load


@pytest.mark.parametrize("asked", [True, False])
def test_the_collector_rests_while_a_module_is_imported_and_is_then_as_before(
    asked: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "resting.py").write_text("import gc\ndef rested(): return RESTED\nRESTED = not gc.isenabled()\n")
    (tmp_path / "broken.py").write_text("import a_module_that_nobody_has\n")
    before = gc.isenabled()
    try:
        (gc.enable if asked else gc.disable)()
        assert load("resting:rested")()
        with pytest.raises(ModuleNotFoundError, match="a_module_that_nobody_has"):
            load("broken:anything")
        assert gc.isenabled() == asked
    finally:
        (gc.enable if before else gc.disable)()
        sys.modules.pop("resting", None)


def test_what_a_loaded_module_lacks_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nothing_of_this_name"):
        load("cfeval.core.extras:nothing_of_this_name")
