"""The command line: the only place that opens files and builds backends. One file a verb (`cfeval.verbs`)."""
