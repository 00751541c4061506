"""What holds for all rules, once every study has named its files.

Inputs: none.
Outputs: none.
Steps: 1. name the files of every phase. 2. set limits. 3. make Snakemake's records true of the files that lie there (workflow/provenance.py). 4. say what
wildcards can be.
"""

# Of a study that params.yaml leaves out, every phase is empty; a job process of a cluster makes none of them its target.
PHASES = dict.fromkeys((*SEALED, *VCE_PHASES, *CVQA_PHASES), [])
if workflow.is_main_process:
    PHASES |= {phase: [path for part in parts for path in part.files] for phase, parts in SEALED.items()}

# Limits that hold without any profile; --resources on the command line replaces only the names it gives. A job on a
# cluster runs in a Snakemake of its own, which limits nothing.
if workflow.is_main_process:
    for _name, _limit in PARAMS.limits.model_dump().items():
        if _name not in workflow.global_resources:
            _limit = max(1, len(leases.visible())) if _limit == "all" else _limit
            workflow.global_resources[_name] = Resource(_name, _limit)

JOURNAL = provenance.Journal(tuple(part for parts in SEALED.values() for part in parts))

if workflow.is_main_process:
    # A killed run leaves its lock behind; without a run that is alive it would only stand in the way. Of a run on another
    # machine that shares the folder nothing is known: its lock stays, and Snakemake says so.
    if not locks.elsewhere(Path()) and not locks.alive(Path(), ["snakemake"]):
        locks.remove(locks.SNAKEMAKE_LOCKS)
    locks.sign(Path())
    # DVC seals whole folders, and its stages may find no job to run: then nothing but this sees to them.
    _sealing = SEALED.get(surroundings.dvc_stage(), [])
    for _part in _sealing:
        Path(_part.folder).mkdir(parents=True, exist_ok=True)  # DVC fails where nothing was to be made in it
        provenance.sweep(_part)
    JOURNAL.reconcile()
    if _sealing:
        JOURNAL.save()


wildcard_constraints:
    **VCE_WILDCARDS,
    **CVQA_WILDCARDS,
    shard=r"(/\d{3})?",
    dataset=one_of(EDCT.datasets),
    vlm=one_of(EDCT.vlms),
    writer=one_of(EDCT.writers),
    protocol=one_of(arm["protocol"] for arm in ARMS),
    editor=one_of(EDCT.editors),
    judge=one_of(EDCT.judges),
    table=one_of(name for names in tables.NAMES.values() for name in names),
    figure=one_of(name for names in figures.TABLE_OF.values() for name in names),


container: "docker://python:3.11-slim"
