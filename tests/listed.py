"""The tables and figures of each study by name."""

from cfeval.report import figures_cvqa, figures_edct, figures_vce
from cfeval.tables import names_cvqa, names_edct, names_vce

TABLES = {"edct": names_edct.TABLES, "vce": names_vce.TABLES, "cvqa": names_cvqa.TABLES}
FIGURES = {"edct": figures_edct.FIGURES, "vce": figures_vce.FIGURES, "cvqa": figures_cvqa.FIGURES}
