"""Training of the built-in networks, one file a network; see `python -m cfeval.world.training --help`."""
