"""EDCT: from samples to the report (EDCT 2025, Section 3; EDCT-Bench 2026).

Inputs: what params.yaml names: plugins, their weights and prompts, own data; the papers' published figures.
Outputs: <results>/edct/STEP/…: a record file each, or a folder of one record file a protocol; images in the folder, or the
archive, of the record file's name; beside each output its record, OUTPUT.made.json.
Steps: 1. items. 2. baselines: question, then reason. 3. instructions: cited concept and edit. 4. counterfactuals and their
checks. 5. requeries: the same two turns about the edited image. 6. verdicts, then scores. Given pairs need only pair_items,
pair_baselines and pair_verdicts. 7. the calls to models outside. 8. tables with headline figures, and figures. 9. the report.
A command that names several protocols does the step once for each: `{{protocol}}` stands for the name in its paths. A record
names its images by SHA-256, so that an input with images is its record file alone, unless its images lie in an archive.
"""


include: "edct_common.smk"


localrules:
    edct_items_all,
    edct_baselines_all,
    edct_instructions_all,
    edct_counterfactuals_all,
    edct_requeries_all,
    edct_verdicts_all,
    edct_pairs_all,
    edct_tables_all,


rule edct_items_all:
    """Phase: the samples of every dataset."""
    input:
        each(ITEMS, EDCT_CONDITIONS),


rule edct_baselines_all:
    """Phase: what every target says about the original images."""
    input:
        each(BASELINES, EDCT_CONDITIONS),


rule edct_instructions_all:
    """Phase: what every explanation cites, and the edit that changes it."""
    input:
        each(INSTRUCTIONS, EDCT_CONDITIONS),


rule edct_counterfactuals_all:
    """Phase: the edited images and how good the edits are."""
    input:
        each(EDCT_COUNTERFACTUALS, EDCT_CONDITIONS),
        each(CHECKS, EDCT_CONDITIONS),


rule edct_requeries_all:
    """Phase: what every target says about the edited images."""
    input:
        each(REQUERIES, EDCT_CONDITIONS),


rule edct_verdicts_all:
    """Phase: verdicts and scores."""
    input:
        each(VERDICTS, EDCT_CONDITIONS),
        each(EDCT_SCORES, EDCT_CONDITIONS),


rule edct_pairs_all:
    """Phase: given pairs, from their images to the verdicts."""
    input:
        each(PAIR_ITEMS, PAIRS),
        each(PAIR_VERDICTS, PAIRS),


rule edct_tables_all:
    """Phase: the papers' tables, figures and metrics."""
    input:
        EDCT_TABLES,
        EDCT_METRICS,
        EDCT_FIGURES,


rule edct_items:
    """File the samples of a dataset, those of a shard, and their images (Section 4)."""
    output:
        samples=with_images(ITEMS),
        record=made(ITEMS),
    log:
        "logs/edct/items/{dataset}{shard}.log",
    priority: 90
    resources:
        **needs("datasets", EDCT.datasets, "dataset", mem_mb=2000, runtime=time_to_file(EDCT.items / len(SHARDS))),
    params:
        dataset=lambda wildcards: plugin(EDCT.datasets, wildcards.dataset),
        number=EDCT.items,
        seed=EDCT.seed,
        cut=own_cut,
    message:
        "samples of {wildcards.dataset}{wildcards.shard}"
    shell:
        "cfeval edct items --dataset {params.dataset:q} --items {params.number} --seed {params.seed} {params.cut} "
        "--out {output.samples[0]} 2> {log:q}"


rule edct_baselines:
    """Ask a target model every question and, in the same conversation, the reason (Stage 1)."""
    input:
        samples=with_images(ITEMS),
    output:
        out=BASELINES,
        record=made(BASELINES),
    log:
        "logs/edct/baselines/{dataset}/{vlm}{shard}.log",
    priority: 80
    resources:
        **needs("chat", EDCT.vlms, "vlm", mem_mb=4000, runtime="4h"),
    params:
        vlm=lambda wildcards: plugin(EDCT.vlms, wildcards.vlm),
        seed=seed_of,
        prompts=EDCT.prompts or "",
        wording=wording,
        again=again,
    message:
        "baseline of {wildcards.vlm} on {wildcards.dataset}{wildcards.shard}"
    shell:
        "cfeval edct baselines --samples {input.samples[0]} --vlm {params.vlm:q} --prompts={params.prompts:q} "
        "{params.wording} --seed {params.seed} {params.again} --out {output.out} 2> {log:q}"


rule edct_instructions:
    """Find the cited concept in every explanation and write the edit that changes it (Stage 2)."""
    input:
        samples=with_images(ITEMS),
        baselines=BASELINES,
    output:
        out=directory(INSTRUCTIONS),
        record=made(INSTRUCTIONS),
    log:
        "logs/edct/instructions/{dataset}/{vlm}/{writer}{shard}.log",
    priority: 70
    resources:
        **needs("instruction_writers", EDCT.instruction_writers, "writer", mem_mb=2000, runtime="4h", asked=edits),
    params:
        protocols=protocols,
        writer=lambda wildcards: plugin(EDCT.instruction_writers, wildcards.writer),
        one_item_in=as_json(dict(EDCT.one_item_in)),
        edits=EDCT.edits,
        objects=EDCT.objects,
        seed=EDCT.seed,
    message:
        "instructions of {wildcards.writer} for {wildcards.vlm} on {wildcards.dataset}{wildcards.shard}"
    shell:
        "cfeval edct instructions --protocol {params.protocols} --samples {input.samples[0]} "
        "--baselines {input.baselines} --writer={params.writer:q} --edits {params.edits} "
        "--one-item-in {params.one_item_in:q} --objects {params.objects} --seed {params.seed} --out {output.out}/{{protocol}}.jsonl 2> {log:q}"


rule edct_counterfactuals:
    """Apply every instruction to its original image (Stage 3)."""
    input:
        samples=with_images(ITEMS),
        instructions=INSTRUCTIONS,
    output:
        out=directory(EDCT_COUNTERFACTUALS),
        record=made(EDCT_COUNTERFACTUALS),
    log:
        "logs/edct/counterfactuals/{dataset}/{vlm}/{writer}/{editor}{shard}.log",
    priority: 60
    resources:
        **needs("editors", EDCT.editors, "editor", mem_mb=4000, runtime="24h", asked=edits),
    params:
        protocols=protocols,
        editor=lambda wildcards: plugin(EDCT.editors, wildcards.editor),
        seed=EDCT.seed,
        archive=ARCHIVE,
    message:
        "counterfactuals by {wildcards.editor} for {wildcards.vlm} on {wildcards.dataset}{wildcards.shard}"
    shell:
        "cfeval edct counterfactuals --protocol {params.protocols} --samples {input.samples[0]} "
        "--instructions {input.instructions}/{{protocol}}.jsonl --editor={params.editor:q} --seed {params.seed} {params.archive} "
        "--out {output.out}/{{protocol}}.jsonl 2> {log:q}"


rule edct_checks:
    """Check every edit: intended attribute, the rest unchanged, changed area."""
    input:
        samples=with_images(ITEMS),
        instructions=INSTRUCTIONS,
        counterfactuals=EDCT_COUNTERFACTUALS,
    output:
        out=directory(CHECKS),
        record=made(CHECKS),
    log:
        "logs/edct/checks/{dataset}/{vlm}/{writer}/{editor}{shard}.log",
    priority: 40
    resources:
        **needs(
            "verifiers",
            EDCT.verifiers,
            "dataset",
            mem_mb=4000,
            runtime="8h",
            asked=edits,
            beside=("chat", EDCT.readers),
        ),
    params:
        protocols=protocols,
        verifier=lambda wildcards: plugin(EDCT.verifiers, wildcards.dataset),
        reader=reader,
        sham_every=EDCT.sham_every,
        seed=EDCT.seed,
        archive=ARCHIVE,
    message:
        "checks of {wildcards.editor} for {wildcards.vlm} on {wildcards.dataset}{wildcards.shard}"
    shell:
        "cfeval edct checks --protocol {params.protocols} --samples {input.samples[0]} "
        "--instructions {input.instructions}/{{protocol}}.jsonl "
        "--counterfactuals {input.counterfactuals}/{{protocol}}.jsonl --verifier={params.verifier:q} {params.reader} "
        "--sham-every {params.sham_every} --seed {params.seed} "
        "{params.archive} --out {output.out}/{{protocol}}.jsonl 2> {log:q}"


rule edct_requeries:
    """Ask the target model the same two turns about every edited image (Stage 4)."""
    input:
        samples=with_images(ITEMS),
        baselines=BASELINES,
        counterfactuals=EDCT_COUNTERFACTUALS,
    output:
        out=directory(REQUERIES),
        record=made(REQUERIES),
    log:
        "logs/edct/requeries/{dataset}/{vlm}/{writer}/{editor}{shard}.log",
    priority: 50
    resources:
        **needs("chat", EDCT.vlms, "vlm", mem_mb=4000, runtime="8h"),
    params:
        protocols=protocols,
        vlm=lambda wildcards: plugin(EDCT.vlms, wildcards.vlm),
        seed=seed_of,
        prompts=EDCT.prompts or "",
        wording=wording,
        again=again_of,
    message:
        "requery of {wildcards.vlm} after {wildcards.editor} on {wildcards.dataset}{wildcards.shard}"
    shell:
        "cfeval edct requeries --protocol {params.protocols} --samples {input.samples[0]} "
        "--counterfactuals {input.counterfactuals}/{{protocol}}.jsonl --vlm {params.vlm:q} --prompts={params.prompts:q} "
        "{params.wording} --seed {params.seed} {params.again} --out {output.out}/{{protocol}}.jsonl 2> {log:q}"


rule edct_verdicts:
    """Compare answer and explanation before and after every edit (Stage 4, consistency).

    The judge of null edits is told the cited instructions as sham edits.
    """
    input:
        baselines=BASELINES,
        instructions=INSTRUCTIONS,
        counterfactuals=EDCT_COUNTERFACTUALS,
        requeries=REQUERIES,
        checks=readings,
    output:
        out=directory(VERDICTS),
        record=made(VERDICTS),
    log:
        "logs/edct/verdicts/{dataset}/{vlm}/{writer}/{editor}/{judge}{shard}.log",
    priority: 30
    resources:
        **needs("judges", EDCT.judges, "judge", mem_mb=2000, runtime="8h"),
    params:
        protocols=protocols,
        judge=lambda wildcards: plugin(EDCT.judges, wildcards.judge),
        compare=compare,
        cited=cited,
        readings=compare_readings,
        seed=EDCT.seed,
    message:
        "verdicts of {wildcards.judge} on {wildcards.vlm} after {wildcards.editor} on {wildcards.dataset}{wildcards.shard}"
    shell:
        "cfeval edct verdicts --protocol {params.protocols} --baselines {input.baselines} "
        "--instructions {input.instructions}/{{protocol}}.jsonl {params.cited} "
        "--counterfactuals {input.counterfactuals}/{{protocol}}.jsonl "
        "--requeries {input.requeries}/{{protocol}}.jsonl --judge {params.judge:q} {params.compare} {params.readings} "
        "--seed {params.seed} "
        "--out {output.out}/{{protocol}}.jsonl 2> {log:q}"


rule edct_scores:
    """Bring verdicts, checks and right answers of a target together, a row per item and edit."""
    input:
        samples=of_target(ITEMS),
        baselines=of_target(BASELINES),
        instructions=of_target(INSTRUCTIONS),
        checks=of_target(CHECKS),
        verdicts=of_target(VERDICTS),
    output:
        out=directory(EDCT_SCORES),
        record=made(EDCT_SCORES),
    log:
        "logs/edct/scores/{dataset}/{vlm}.log",
    priority: 20
    resources:
        mem_mb=1000,
        runtime="1h",
    params:
        study=lambda wildcards: kept(
            asked.conditions_of(EDCT, PARAMS.shards, wildcards.vlm, wildcards.dataset).as_json(), "edct-scores"
        ),
        results=folder_of("edct"),
    message:
        "scores of {wildcards.vlm} on {wildcards.dataset}"
    shell:
        "cfeval edct scores --study {params.study:q} --results {params.results} --out {output.out} 2> {log:q}"


rule edct_pair_items:
    """File both images of given pairs as items, and of some the first once more."""
    output:
        whole(PAIR_ITEMS),
        made("<results>/edct/pair_items/{pair_set}.jsonl"),
    log:
        "logs/edct/pair_items/{pair_set}.log",
    priority: 90
    resources:
        **needs("pair_sets", EDCT.pair_sets, "pair_set", mem_mb=2000, runtime=time_to_file(2 * EDCT.items)),
    params:
        out=f"{PLACE}{RESULTS}/edct/pair_items/{{pair_set}}.jsonl",
        pair_set=lambda wildcards: plugin(EDCT.pair_sets, wildcards.pair_set),
        number=EDCT.items,
        again=EDCT.again,
        seed=EDCT.seed,
        cut=CUT,
    message:
        "given pairs of {wildcards.pair_set}"
    shell:
        "cfeval edct pair-items --pair-set {params.pair_set:q} --items {params.number} --every {params.again} "
        "--seed {params.seed} {params.cut} --out {params.out} 2> {log:q}"


rule edct_pair_baselines:
    """Ask a target model about both images of given pairs, each in a conversation of its own."""
    input:
        samples=with_images(PAIR_ITEMS),
    output:
        out=PAIR_BASELINES,
        record=made(PAIR_BASELINES),
    log:
        "logs/edct/pair_baselines/{pair_set}/{vlm}{shard}.log",
    priority: 80
    resources:
        **needs("chat", EDCT.vlms, "vlm", mem_mb=4000, runtime="4h"),
    params:
        step=lambda wildcards: (
            "pair-baselines" if EDCT.vlms[wildcards.vlm].plugin_options().get("logprobs") else "baselines"
        ),
        vlm=lambda wildcards: plugin(EDCT.vlms, wildcards.vlm),
        seed=seed_of,
        prompts=EDCT.prompts or "",
        wording=wording,
    message:
        "answers of {wildcards.vlm} about the pairs of {wildcards.pair_set}{wildcards.shard}"
    shell:
        "cfeval edct {params.step} --samples {input.samples[0]} --vlm {params.vlm:q} --prompts={params.prompts:q} "
        "{params.wording} --seed {params.seed} --out {output.out} 2> {log:q}"


rule edct_pair_verdicts:
    """Say of every given pair whether the answer moved, and whether the explanations name what was changed."""
    input:
        samples=PAIR_ITEMS,
        baselines=PAIR_BASELINES,
    output:
        out=PAIR_VERDICTS,
        record=made(PAIR_VERDICTS),
    log:
        "logs/edct/pair_verdicts/{pair_set}/{vlm}/{pair_judge}{shard}.log",
    priority: 30
    resources:
        **needs("pair_judges", EDCT.pair_judges, "pair_judge", mem_mb=2000, runtime="4h"),
    params:
        judge=lambda wildcards: plugin(EDCT.pair_judges, wildcards.pair_judge),
        seed=EDCT.seed,
    message:
        "verdicts of {wildcards.pair_judge} on {wildcards.vlm} and the pairs of {wildcards.pair_set}{wildcards.shard}"
    shell:
        "cfeval edct pair-verdicts --samples {input.samples} --baselines {input.baselines} --pair-judge {params.judge:q} "
        "--seed {params.seed} --out {output.out} 2> {log:q}"


rule edct_calls:
    """Export the calls to models outside that some record came from; those of a former run are kept."""
    input:
        each(BASELINES, EDCT_CONDITIONS),
        each(INSTRUCTIONS, EDCT_CONDITIONS),
        each(EDCT_COUNTERFACTUALS, EDCT_CONDITIONS),
        each(CHECKS, EDCT_CONDITIONS),
        each(REQUERIES, EDCT_CONDITIONS),
        each(VERDICTS, EDCT_CONDITIONS),
        each(PAIR_BASELINES, PAIRS),
        each(PAIR_VERDICTS, PAIRS),
    output:
        out=EDCT_CALLS,
        record=made(EDCT_CALLS),
    log:
        "logs/edct/calls.log",
    resources:
        mem_mb=2000,
        runtime="1h",
    params:
        study=kept(asked.conditions_of(EDCT, PARAMS.shards).as_json(), "edct-calls"),
        results=folder_of("edct"),
    message:
        "export of the calls"
    shell:
        "cfeval edct calls --study {params.study:q} --results {params.results} --out {output.out} 2> {log:q}"


rule edct_tables:
    """All tables, from scores, counterfactuals and pairs, and their headline figures for `dvc metrics`."""
    input:
        each(EDCT_SCORES, EDCT_CONDITIONS),
        each(EDCT_COUNTERFACTUALS, EDCT_CONDITIONS) if "gate" in asked.tables_of(EDCT) else [],
        each(PAIR_VERDICTS, PAIRS),
    output:
        in_report("edct", "table", EDCT_TABLES),
        EDCT_METRICS,
        made("<results>/edct/tables"),
    log:
        "logs/edct/tables.log",
    resources:
        mem_mb=TABLE_RESOURCES.mem_mb,
        runtime=f"{TABLE_RESOURCES.minutes}m",
    params:
        study=kept(asked.asked_tables(EDCT, PARAMS.shards).as_json(), "edct-tables"),
        results=folder_of("edct"),
    message:
        "tables"
    shell:
        "cfeval edct tables --study {params.study:q} --results {params.results} --out {params.results}/tables 2> {log:q}"


rule edct_figures:
    """All figures, each from the table that it shows."""
    input:
        EDCT_TABLES,
    output:
        in_report("edct", "figure", EDCT_FIGURES),
        made("<results>/edct/figures"),
    log:
        "logs/edct/figures.log",
    resources:
        mem_mb=2000,
        runtime="30m",
    params:
        figures=[f"--figure {figure}" for figure in asked.figures_of(EDCT)],
        results=folder_of("edct"),
    message:
        "figures"
    shell:
        "cfeval edct figures --tables {params.results}/tables {params.figures} --out {params.results}/figures 2> {log:q}"


rule edct_report:
    """The static page: tables, plots and a gallery of items."""
    input:
        EDCT_TABLES,
        EDCT_FIGURES,
        EDCT_CALLS,
        each_with_images(ITEMS, EDCT_CONDITIONS),
        each(BASELINES, EDCT_CONDITIONS),
        each(INSTRUCTIONS, EDCT_CONDITIONS),
        each(EDCT_COUNTERFACTUALS, EDCT_CONDITIONS),
        each(CHECKS, EDCT_CONDITIONS),
        each(REQUERIES, EDCT_CONDITIONS),
        each(VERDICTS, EDCT_CONDITIONS),
        each(EDCT_SCORES, EDCT_CONDITIONS),
        each_with_images(PAIR_ITEMS, PAIRS),
        each(PAIR_BASELINES, PAIRS),
        each(PAIR_VERDICTS, PAIRS),
    output:
        out=EDCT_REPORT,
        record=made(EDCT_REPORT),
    log:
        "logs/edct/report.log",
    resources:
        mem_mb=4000,
        runtime="1h",
    params:
        study=kept(asked.asked_report(EDCT, PARAMS.shards).as_json(), "edct-report"),
        results=folder_of("edct"),
    message:
        "report"
    shell:
        "cfeval edct report --study {params.study:q} --results {params.results} --out {output.out} 2> {log:q}"
