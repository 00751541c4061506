"""Image classifiers of the transformers library: a folder with a checkpoint, or a name on the Hugging Face hub.

What `AutoModelForImageClassification` loads, such as ViT, Swin, ConvNeXT, ResNet. Classes are the `id2label` of its
config.json, and preprocessing is what its preprocessor_config.json declares.
"""

from pydantic import Field

from cfeval.core import plugin
from cfeval.core.errors import PluginError
from cfeval.inference.local import hub
from cfeval.inference.local.hub import Checkpoint, read_json
from cfeval.inference.local.pretrained import checkpoint_of
from cfeval.vce.interfaces import Classifier
from cfeval.vce.models import transformers_models
from cfeval.vce.models.class_names import named
from cfeval.vce.models.classifier import ClassifierPlugin, NetworkClassifier

_WEIGHTS = "model.safetensors"


class Plugin(ClassifierPlugin):
    """Which checkpoint."""

    model: str = Field(min_length=1)
    """A folder with a checkpoint, or a name on the Hugging Face hub (owner/name)."""
    revision: str = ""
    """Branch, tag or commit on the hub, of which only a commit never changes; empty: the main branch."""
    classes: str = plugin.file("")
    """File with the names of the classes, as of `state_dict`; empty: those in the checkpoint."""

    def dependencies(self) -> tuple[str, ...]:
        """The checkpoint's files, where it is a folder, and the names of the classes."""
        return (*map(str, self._checkpoint().files()), *super().dependencies())

    def class_names(self) -> tuple[str, ...] | None:
        """Those of the file, else of config.json; None where the hub has it and this machine has not."""
        return named(self.classes, None) if self.classes else self._declared()

    def is_here(self) -> bool:
        """Whether the checkpoint is on this machine."""
        own = self._checkpoint().own_folder() is not None
        return own or hub.cached(self.model, self.revision, hub.file(_WEIGHTS)) is not None

    def about(self) -> str:
        """Whether the checkpoint is here, and what it is of."""
        checkpoint = self._checkpoint()
        folder = checkpoint.here()
        config = transformers_models.config_here(checkpoint)
        kind = ", ".join(config.get("architectures") or ())
        if kind and "ForImageClassification" not in kind:
            raise PluginError(f"model '{checkpoint.name(folder)}' is a {kind}; a …ForImageClassification is needed")
        classes = self._declared() or ()
        return f"{checkpoint.about(folder)}{f'; {kind} over {len(classes)} classes' if kind else ''}"

    def build(self) -> Classifier:
        """The classifier, loaded.

        Raises:
            PluginError: the checkpoint is not there, incomplete, or of no image classifier.
            InputError: names that are not as many as the network's classes.
        """
        checkpoint = self._checkpoint()
        folder = checkpoint.whole()
        name = checkpoint.name(folder)
        declared = read_json(folder / transformers_models.PROCESSOR)
        if not declared:
            raise PluginError(f"model '{name}' lacks {transformers_models.PROCESSOR}; copy or download it again")
        own = transformers_models.classes_of(read_json(folder / "config.json")) or ()
        classes = named(self.classes, len(own)) if self.classes else own
        if len(set(classes)) < len(classes):
            raise PluginError(f"model '{name}' gives two classes one name; name all in a file, and set classes to it")
        prepared = transformers_models.preprocessing(declared)
        return NetworkClassifier(transformers_models.load(folder, name), prepared, classes, self, name)

    def _declared(self) -> tuple[str, ...] | None:
        return transformers_models.classes_of(transformers_models.config_here(self._checkpoint()))

    def _checkpoint(self) -> Checkpoint:
        return checkpoint_of(self.model, self.revision)
