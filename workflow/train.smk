"""Training of the built-in models, in a Snakefile of its own so that no run of the studies ever retrains them.

    snakemake --snakefile workflow/train.smk

Inputs: the networks that one starts from or is measured by; scenes and questions are drawn from the seeds that
cfeval_testbed.training names.
Outputs: data/models/{name}.safetensors and the figures of the training in {name}.json, kept in git.
Steps: 1. readers, which check edits. 2. the target model and the one for easy-VQA. 3. locator and editor of the learned
editor. 4. classifiers and denoiser of cells. 5. the target that counts in puzzles.
"""

from snakemake.utils import min_version

min_version("9.18")


include: "rules/setup.smk"


from cfeval_testbed.training import SHIPPED as TRAININGS

WEIGHTS = "data/models/{name}.safetensors"
FIGURES = "data/models/{name}.json"
ALL = expand([WEIGHTS, FIGURES], name=TRAININGS)


wildcard_constraints:
    name="|".join(TRAININGS),


container: "cfeval.sif"


localrules:
    train,


rule train:
    """All built-in models."""
    default_target: True
    input:
        ALL,


rule run_train:
    """Train one model from its seed."""
    input:
        lambda wildcards: expand(WEIGHTS, name=TRAININGS[wildcards.name].after),
    output:
        weights=WEIGHTS,
        figures=FIGURES,
    log:
        "logs/train/{name}.log",
    benchmark:
        "benchmarks/train/{name}.tsv"
    threads: 2
    resources:
        gpu=0,
        gpu_model="",
        api_slots=0,
        mem_mb=4000,
        runtime="2h",
    params:
        seed=lambda wildcards: TRAININGS[wildcards.name].seed,
        steps=lambda wildcards: TRAININGS[wildcards.name].steps,
    message:
        "training of {wildcards.name}"
    shell:
        """
        python -m cfeval_testbed.training {wildcards.name:q} \
            --seed {params.seed} \
            --steps {params.steps} \
            --out {output.weights:q} \
            2>{log:q}
        """
