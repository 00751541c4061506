"""The command line: the only place that opens files and builds backends. One file a verb; its docstring is its help."""
