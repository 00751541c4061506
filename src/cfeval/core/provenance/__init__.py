"""What a result was made from, told by the job that made it and believed by nobody until it is checked.

`sources`: the code that a stage runs, definition by definition. `outside`: the code that no result rests on, one list.
`hashes`: SHA-256 of files. `jobs`: a job before it runs. `plans`: what it would be made from now. `frozen`: what a run
was told when it began. `loading`, `reading`: what a process really executes and opens. `making`: the job's side, which
writes `X.made.json` beside its first output. `state`: which files are what would be made now; what is stale is told to
Snakemake before it looks, and the seal lets nothing else through to DVC. `run_lock`: one run at a time.

The mechanism knows no study: the lists of jobs lie in `cfeval.jobs`.
"""
