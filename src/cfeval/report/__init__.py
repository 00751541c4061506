"""How tables, figures and pages look, whatever study they are of."""
