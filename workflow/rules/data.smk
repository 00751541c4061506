"""Samples of every data set.

Inputs: the data set's plug-in and, for own data, the record file that `cfeval edct import` wrote.
Outputs: results/edct/samples/{dataset}.jsonl and its pictures in the folder of the same name; with shards > 1 a file and a
folder a shard.
Steps: draw or read the samples; cut them into shards by a hash of the id, so that a new sample changes one shard.
"""


rule edct_samples:
    """Phase: the samples of every data set."""
    input:
        PHASES["edct_samples"],


rule run_edct_generate:
    """File the samples of a data set and their pictures, all shards at once."""
    input:
        files=model_files("datasets", "dataset"),
    output:
        expand(SAMPLES, shard=SHARDS, allow_missing=True),
    log:
        "logs/edct/samples/{dataset}.log",
    benchmark:
        "benchmarks/edct/samples/{dataset}.tsv"
    resources:
        gpu=gpus("datasets", "dataset"),
        gpu_model=gpu_model("datasets", "dataset"),
        api_slots=api_slots("datasets", "dataset"),
        mem_mb=memory(2000, gpus("datasets", "dataset")),
        runtime="1h",
    params:
        dataset=backend("datasets", "dataset"),
        n_items=EDCT.items,
        seed=EDCT.seed,
        shards=PARAMS.shards,
        out=lambda wildcards: expand(SAMPLES, dataset=wildcards.dataset, shard="")[0],
        pictures=lambda wildcards, output: pictures_of(output),
        code=code("generate", "datasets", "dataset"),
    message:
        "samples of {wildcards.dataset}"
    shell:
        """
        rm -rf {params.pictures:q}
        cfeval edct generate \
            --dataset {params.dataset:q} \
            --items {params.n_items} \
            --seed {params.seed} \
            --shards {params.shards} \
            --out {params.out:q} \
            2>{log:q}
        """
