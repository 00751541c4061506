"""Chat models that run in this process: finding, loading and asking a checkpoint in the format of `transformers`."""
