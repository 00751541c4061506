"""Loaded by every Python that the suite starts: notes each stage command, and breaks or stalls those that a test wants
broken or stalled."""

import os
import re
import sys
import time
from pathlib import Path

_command = " ".join(sys.orig_argv[1:])
_verb = re.search(r"bin/cfeval (?:edct|vce|cvqa) (\S+)", _command)
if _verb and "CFEVAL_LEDGER" in os.environ:
    with Path(os.environ["CFEVAL_LEDGER"]).open("a", encoding="utf-8") as _ledger:
        _ledger.write(f"{_verb[1]}\n")
    if re.search(os.environ.get("CFEVAL_BREAK", "$^"), _command):
        os._exit(1)
    if re.search(os.environ.get("CFEVAL_STALL", "$^"), _command):
        time.sleep(3600)
