"""The files of a new study, as text."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cfeval.core.errors import InputError
from cfeval.edct.plugins.diffusers_pipelines import MODELS as EDITORS
from cfeval.study.models import MAX_PIXELS, SMALLEST_EDITOR, Model, Roles

# Where a study keeps the schema of its parameters, for editors; it is made anew where it is missing.
SCHEMA = ".cfeval/params.schema.json"
HEAD = """\
# yaml-language-server: $schema={schema}
# What this study is; whatever is not named here has a default. `cfeval check` checks it, `cfeval run` runs it.
name: {name}  # its results lie in results/{name}
"""
EDCT = """\
calibrate: false  # true: tests also models whose faithfulness is known, by the same judge (pip install 'cfeval[world]')
# calls: {{max_cost_usd: 20}}  # a hard limit; models without a known price are then refused
edct:
  items: {items}  # of the dataset, at most; fewer than 120 leave most claims open
  datasets:
    own: {dataset}
  vlms:  # the models under test; temperature 0, because one claim is that they say the same twice
{targets}
{note}  instruction_writers:  # reads the explanation and writes the edit; it must see images
    writer: {writer}
  editors:  # makes the edit; what the gate's model does not see is tried once more, then left out{editor_note}
    gated:
      plugin: gated
      editor: {editor}
      verifier: {gate}
  verifiers:  # looks at every edit again; best not the gate's model
    own: {verifier}
{reader}  judges:  # compares answers and explanations before and after; the first also judges the controls
{judges}
# Every model under test is asked on every dataset, with all controls; `tables:` says otherwise where that is too much.
"""
VCE = """\
vce:
  images: {items}  # of each source class
  size: 224  # height and width of the images, pixels
  image_sets:  # a folder for each class
    own: {image_set}
  denoisers:  # a filter that needs no weights; a diffusion model makes better images: {{plugin: diffusers, …}}
    spectral: {{plugin: spectral, image_size: 224}}
  classifiers:
{classifiers}
{oracles}  methods:
    dbvce: {{preset: dbvce, projection: none, respacing: "50", start: 0.2, scales: [0.3], stochastic: false}}
    no-x0:
      preset: dbvce
      guidance: noisy
      projection: none
      respacing: "50"
      start: 0.2
      scales: [0.3]
      stochastic: false
    unguided: {{preset: unguided, respacing: "50", start: 0.2, stochastic: false}}
  groups:  # of each class, the one that it is changed to; `others` may name further ones
{groups}
{conditions}  perceptual_metrics:
    st_lpips: {{plugin: st_lpips}}
  roles:  # which method fills which table; Table 4 compares methods with and without the cone of a `robust` classifier
    base: dbvce  # Tables 2 and 3, and the hypotheses
    no_x0: no-x0  # Table 5
    unguided: unguided  # what noise alone does
"""
CVQA = """\
# calls: {{max_cost_usd: 20}}  # a hard limit; models without a known price are then refused
cvqa:
  sets:  # pairs of questions in the published layout: as it is, and under a counterfactual presupposition
    own: {question_set}
  solvers:  # who answers; every one is asked every set, unless `conditions:` says otherwise
{solvers}
"""
IGNORED = """\
# What can be made again, and keys.
.env
.cfeval/
.snakemake/
logs/
benchmarks/
/results/
"""
DVC_IGNORED = """\
# What can be made again, and keys. DVC keeps the results and adds them to the lists of its own.
.env
.cfeval/
.snakemake/
logs/
benchmarks/
"""
DVC_OVERLOOKED = """\
*.part
.snakemake/
logs/
benchmarks/
"""
DVC_CONFIG = """\
[core]
    analytics = false
    autostage = false
"""
DVC_CONFIG_WITHOUT_GIT = f"{DVC_CONFIG}    no_scm = true\n"
DVC_OWN_IGNORED = "/config.local\n/tmp\n/cache\n"
README = """\
# {name}

A study with [cfeval](https://pypi.org/project/cfeval/): {about}

```console
$ cfeval run      # checks, says what it will cost, asks, runs; run again to go on
$ cfeval report --open
```

`params.yaml` says what is asked of whom, and holds no key: keys come from the environment, or from a file `.env` beside
it (`.env.example` has the names). Results lie in `results/{name}/`: tables in `{evaluation}/tables/`, the page in
`{evaluation}/report/index.html`.
`cfeval status` says what is not up to date, and why.
"""
ABOUT = {
    "edct": "is what a vision-language model says of its reasons what its answers depend on?",
    "vce": "what must change in an image for a classifier to see another class?",
    "cvqa": "does a model still answer right if something were different?",
}
DVC = """\
# `dvc repro` runs the study and verifies it: no outdated result gets a hash. After an update of
# cfeval, `dvc repro --force` makes what is outdated, and no more. Outputs persist because cfeval knows what that is.
stages:
  {evaluation}:
    cmd: cfeval run --yes && cfeval verify --evaluation {evaluation} --remove-former
    deps: {deps}
    outs:{more}
{outs}
params: [params.yaml]
metrics:
  - results/{name}/{evaluation}/tables/{metrics}
"""
METRICS = {"edct": "metrics.json", "vce": "vce_metrics.json", "cvqa": "cvqa_metrics.json"}
# What a new study makes, but for tables and figures, by evaluation: DVC wants each to be there.
OUTPUTS = {
    "edct": (
        *("items", "baselines", "instructions", "counterfactuals", "checks", "requeries", "verdicts", "scores"),
        *("calls", "report"),
    ),
    "vce": ("images", "counterfactuals", "scores", "groups", "networks", "sheets", "report"),
    "cvqa": ("questions", "answers", "scores", "calls", "report"),
}
MORE_OUTPUTS = {
    "edct": "with given pairs also pair_items, pair_baselines and pair_verdicts",
    "cvqa": "with sets that are built also drafts, reviews and fates; with judges also readings",
}
# What is small and stays in git, so that it can be compared.
IN_GIT = ("tables", "tables.made.json", "figures", "figures.made.json")


def flow(content: Any) -> str:
    """Parameters on one line, as people write YAML."""
    if isinstance(content, Mapping):
        return "{" + ", ".join(f"{flow(key)}: {flow(value)}" for key, value in content.items()) + "}"
    if isinstance(content, str) and re.fullmatch(r"[A-Za-z][A-Za-z0-9_./-]*", content) and content not in _KEYWORDS:
        return content
    return json.dumps(content, ensure_ascii=False)


_KEYWORDS = {
    word
    for plain in ("true", "false", "null", "yes", "no", "on", "off", "y", "n")
    for word in (plain, plain.title(), plain.upper())
}


ITSELF = """\
  # The models below are local, as the model under test is: it writes, checks and judges its own edits and answers. A
  # different judge is better: another local model, or a hosted one, which then receives the texts.
"""
READER = """\
  readers:  # a second model: a cited edit after which its answer stays counts against no model under test
    own: {}
"""


def edct_params(
    name: str,
    dataset: Mapping[str, Any],
    targets: Mapping[str, Model],
    roles: Roles,
    items: int,
    repeats: int = 1,
    wordings: bool = False,
) -> str:
    """The parameters of a study of explanations.

    Args:
        name: the study's.
        dataset: where its samples come from.
        targets: the models under test.
        by: who does what beside them.
        items: of the dataset, at most.
        repeats: how often each target is asked everything, each time with other seeds.
        wordings: whether each is also asked in the second wording.
    """
    target_options = {"temperature": 0, "max_pixels": MAX_PIXELS}
    seeing = {"max_pixels": MAX_PIXELS}
    removals = {"removals": True} if roles.editor.plugin == "inpaint" else {}
    return (HEAD + EDCT).format(
        schema=SCHEMA,
        name=flow(name),
        items=items,
        dataset=flow(dataset),
        targets=_listed(
            _variants({key: model.chat(**target_options) for key, model in targets.items()}, repeats, wordings)
        ),
        note=ITSELF if roles.judge in targets.values() else "",
        writer=flow({"plugin": "chat", **removals, "model": roles.writer.chat(**seeing)}),
        editor=flow(roles.editor.editor()),
        editor_note=f"\n    # {editor_note(roles.editor)}" if editor_note(roles.editor) else "",
        gate=flow({"plugin": "semantic", "model": roles.gate.chat(**seeing)}),
        verifier=flow({"plugin": "semantic", "model": roles.verifier.chat(**seeing)}),
        judges=_listed(
            {
                f"judge-{number}" if number > 1 else "judge": {"plugin": "chat", "model": model.chat()}
                for number, model in enumerate((roles.judge, *roles.more_judges), start=1)
            }
        ),
        reader=READER.format(flow(roles.reader.chat(**target_options))) if roles.reader else "",
    )


def _variants(targets: Mapping[str, Any], repeats: int, wordings: bool) -> dict[str, Any]:
    variants_of: dict[str, Any] = {}
    for name, spec in targets.items():
        variants: dict[str, dict[str, Any]] = {"": {}, **{f"repeat-{n}": {"repeat": n} for n in range(2, repeats + 1)}}
        variants |= {"wording-b": {"wording": "b"}} if wordings else {}
        for ending, more in variants.items():
            key = f"{name}-{ending}" if ending else name
            if key in variants_of or (ending and key in targets):
                raise InputError(f"two models under test would be called '{key}'; test them in two studies")
            variants_of[key] = {**spec, **more}
    return variants_of


def editor_note(editor: Model) -> str:
    """What an editor in this process needs, on one line; empty for any other editor."""
    if editor.plugin == "inpaint":
        return "inpaint only removes what it finds, on a processor; `removals` asks the writer for nothing else"
    if editor.plugin != "diffusers":
        return ""
    row = next((each for each in EDITORS if each.name == editor.model), None)
    memory = f", a GPU with {row.memory_bytes / 2**30:.0f} GiB" if row else ""
    smaller = "" if editor.model == SMALLEST_EDITOR.name else f"; smaller, with worse edits: {SMALLEST_EDITOR.name}"
    return f"{editor.model} edits in this process: it needs pip install 'cfeval[local]'{memory}{smaller}"


def vce_params(
    name: str,
    image_set: Mapping[str, Any],
    explained: Mapping[str, Any],
    oracles: Mapping[str, Any],
    classes: Sequence[str],
    items: int,
) -> str:
    """The parameters of a study of classifiers: each class is changed to the next one.

    Args:
        name: the study's.
        image_set: the images.
        explained: the classifiers to be explained; several are each other's oracles.
        oracles: classifiers that are only asked.
        classes: of the images.
        items: images of each class.
    """
    groups = [
        {"source": source, "ideal": target} for source, target in zip(classes, (*classes[1:], classes[0]), strict=True)
    ]
    oracle_names = [*(explained if len(explained) > 1 else ()), *oracles]
    methods = ["dbvce", "no-x0", "unguided"]
    condition = {"image_set": ["own"], "denoiser": ["spectral"], "classifier": list(explained), "method": methods}
    return (HEAD + VCE).format(
        schema=SCHEMA,
        name=flow(name),
        items=items,
        image_set=flow(image_set),
        classifiers=_listed({**explained, **oracles}),
        oracles=f"  oracles: {flow(oracle_names)}  # asked about every counterfactual of another\n"
        if oracle_names
        else "",
        groups="\n".join(f"    - {flow(group)}" for group in groups),
        conditions=f"  conditions:  # whom to explain, and by which methods\n    - {flow(condition)}\n"
        if oracles
        else "",
    )


def cvqa_params(name: str, question_set: Mapping[str, Any], targets: Mapping[str, Model]) -> str:
    """The parameters of a study of counterfactual questions."""
    options = {"temperature": 0, "max_pixels": MAX_PIXELS}
    solvers = {key: {"plugin": "chat", "model": model.chat(**options)} for key, model in targets.items()}
    return (HEAD + CVQA).format(
        schema=SCHEMA, name=flow(name), question_set=flow(question_set), solvers=_listed(solvers)
    )


def readme(name: str, evaluation: str) -> str:
    """What the study is, and how to run it."""
    return README.format(name=name, about=ABOUT[evaluation], evaluation=evaluation)


def env_example(variables: Iterable[str]) -> str:
    """The keys that the study needs, without their values."""
    lines = [f"{variable}=" for variable in variables]
    return "\n".join(["# Copy to .env and fill in; .env stays out of git.", *lines, ""])


def dvc_stages(name: str, evaluation: str, data: Sequence[str]) -> str:
    """DVC's pipeline: the study, which follows from its parameters and some files and folders of data."""
    place = f"      - results/{name}/{evaluation}"
    outs = [f"{place}/{folder}: {{persist: true}}" for folder in OUTPUTS[evaluation]]
    outs += [f"{place}/{output}: {{cache: false, persist: true}}" for output in IN_GIT]
    return DVC.format(
        name=name,
        evaluation=evaluation,
        deps=flow(["params.yaml", *data]),
        more=f"  # {more}" if (more := MORE_OUTPUTS.get(evaluation)) else "",
        outs="\n".join(outs),
        metrics=METRICS[evaluation],
    )


def _listed(specs: Mapping[str, Any]) -> str:
    return "\n".join(f"    {flow(key)}: {flow(spec)}" for key, spec in specs.items())
