"""Image classifiers: those to be explained, the robust one of the cone, the oracles."""
