"""What inspect-ai finds by the entry point of this package."""

from cfeval_inspect.edct import edct, edct_scorer, edct_solver, edct_table
from cfeval_inspect.pairs import pairs, pairs_scorer, pairs_solver, pairs_table

__all__ = ["edct", "edct_scorer", "edct_solver", "edct_table", "pairs", "pairs_scorer", "pairs_solver", "pairs_table"]
