"""What the rules of all stages share: each is made of the rule here by `use rule stage as …`, and names what differs.

Inputs, outputs, log, message: of each rule. Outputs go through `makes`, and an input `stale=stale(…)` is among the inputs.
Steps: 1. the run's plan knows the job by its first output. 2. `cfeval stage` runs its command and writes the sidecar.
The shell becomes that command (`exec`): one that stayed would die of `scancel` before the command has stored its calls.
Memory and time are those of a small job, where a rule says nothing else by `needs`.
"""


rule stage:
    """What the rules of all stages share; it makes nothing itself."""
    input:
        lambda wildcards: stop("the rule 'stage' makes nothing itself; name a file, or a rule that is made from it"),
    log:
        "logs/stage.log",
    priority: waiting
    resources:
        **resources_for(mem_mb=2000, runtime="30m"),
    params:
        job=job_name,
    shell:
        "exec cfeval stage {params.job:q} 2>{log:q}"
