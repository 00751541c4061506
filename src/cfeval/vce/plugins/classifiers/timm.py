"""Any network of timm, with its own trained weights from the Hugging Face hub (or random ones).

A name can carry the tag of its weights, such as convnext_large.fb_in22k_ft_in1k. Preprocessing is the one that timm
declares for them. Networks over ImageNet's 1000 classes have torchvision's names for these; for others give `classes`.
"""

from pydantic import Field

from cfeval.core import plugin
from cfeval.vce.interfaces import Classifier
from cfeval.vce.models import timm_models
from cfeval.vce.models.architectures import check_name, untrained
from cfeval.vce.models.class_names import IMAGENET, named
from cfeval.vce.models.classifier import ClassifierPlugin, NetworkClassifier
from cfeval.vce.models.torchvision_models import NONE


class Plugin(ClassifierPlugin):
    """Which network, with weights or without."""

    model: str = Field(min_length=1)
    """The network's name, such as swin_large_patch4_window7_224."""
    weights: str = Field("", pattern=f"^({NONE})?$")
    """Empty: the trained ones that the name stands for; none: random weights."""
    classes: str = plugin.file("")
    """File with the names of the classes, as of `state_dict`; empty: ImageNet's where there are 1000, else numbers."""

    def about(self) -> str:
        """Whether the network is known, and its weights here."""
        check_name("timm", self.model)
        if self.weights == NONE:
            return f"'{self.model}' with random weights"
        if timm_models.cached(self.model):
            return f"weights of '{self.model}' are here"
        model, file = timm_models.source(self.model)
        return f"weights of '{self.model}' are not on this machine; the first job downloads {file} of {model}"

    def is_here(self) -> bool:
        """Whether its weights are on this machine, or random."""
        return self.weights == NONE or timm_models.cached(self.model) is not None

    def class_names(self) -> tuple[str, ...]:
        """Those of the file, else what timm says of the weights."""
        check_name("timm", self.model)
        trained = None if self.weights == NONE else timm_models.class_count(self.model)
        return named(self.classes, trained)

    def build(self) -> Classifier:
        """The classifier, loaded.

        Raises:
            PluginError: no such network, no timm, or weights that cannot be had.
            InputError: names that are not as many as the network's classes.
        """
        if self.weights == NONE:
            classes = named(self.classes, None)
            network, preprocessing = untrained("timm", self.model, len(classes), self.seed)
        else:
            check_name("timm", self.model)
            network = timm_models.trained(self.model)
            preprocessing = timm_models.preprocessing(network)
            classes = named(self.classes, int(getattr(network, "num_classes", IMAGENET)))
        return NetworkClassifier(network, preprocessing, classes, self, self.model)
