"""The tables and figures of each study by name."""

from cfeval.cvqa import figures, tables
from cfeval.edct import figures as figures_edct
from cfeval.edct import tables as names_edct
from cfeval.vce import figures as figures_vce
from cfeval.vce import tables as names_vce

TABLES = {"edct": names_edct.TABLES, "vce": names_vce.TABLES, "cvqa": tables.TABLES}
FIGURES = {"edct": figures_edct.FIGURES, "vce": figures_vce.FIGURES, "cvqa": figures.FIGURES}
OF_CONDITIONS = tuple(name for name, listed in TABLES["edct"].items() if listed.made_of != "pair_verdicts")
"""The tables of edct but that of given pairs, which has other conditions."""
OF_EDITS = {name: shown for name, shown in FIGURES["edct"].items() if shown.table in OF_CONDITIONS}
"""The figures of edct but those of given pairs, whose table has other conditions (tests/edct/pairs)."""
