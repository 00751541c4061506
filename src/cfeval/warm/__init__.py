"""A warm parent: one process that has imported the libraries once and forks for every `cfeval …` of a run.

start      used by the run's main process: starts the parent, puts the client first on PATH
client     what a job starts as `cfeval`: hands itself over to the parent, or runs the command cold
parent     the process that forks, and watches clients, forks and the run
request    what a client sends, and how a fork becomes the process that the client would have been
preload    what the parent imports, and whether it may still fork
"""
