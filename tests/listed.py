"""The tables and figures of each study by name."""

from cfeval.cvqa import tables as cvqa
from cfeval.edct import tables as edct
from cfeval.vce import tables as vce

TABLES = {"edct": edct.TABLES, "vce": vce.TABLES, "cvqa": cvqa.TABLES}
FIGURES = {"edct": edct.FIGURES, "vce": vce.FIGURES, "cvqa": cvqa.FIGURES}
OF_CONDITIONS = tuple(name for name, listed in TABLES["edct"].items() if listed.made_of != "pair_verdicts")
"""The tables of edct but that of given pairs, which has other conditions."""
OF_EDITS = {name: shown for name, shown in FIGURES["edct"].items() if shown.table in OF_CONDITIONS}
"""The figures of edct but those of given pairs, whose table has other conditions (tests/edct/pairs)."""
