"""`make real`: the three evaluations on real photographs with real models, offline; it is no result about any model."""
