"""RandomNet (DBVCE, Section 4, Table 1): an architecture whose weights were never trained.

What is measured of it tells what the denoiser and the cone do without any help from the explained classifier.
"""

from cfeval.vce.interfaces import Classifier
from cfeval.vce.models.architectures import check_name, untrained
from cfeval.vce.models.class_names import named
from cfeval.vce.models.classifier import ArchitecturePlugin, NetworkClassifier


class Plugin(ArchitecturePlugin):
    """Which architecture; the seed draws its weights."""

    architecture: str = "alexnet"
    """The name that the library has for it; DBVCE's is AlexNet."""

    def about(self) -> str:
        """The architecture, and how many classes."""
        check_name(self.library, self.architecture)
        classes = named(self.classes, self.num_classes)
        return f"{self.library}'s {self.architecture} with random weights over {len(classes)} classes"

    def class_names(self) -> tuple[str, ...]:
        """Those of the file, else ImageNet's or numbers."""
        return named(self.classes, self.num_classes)

    def build(self) -> Classifier:
        """The classifier; the same seed gives the same weights.

        Raises:
            InputError: the names of the classes cannot be read.
            PluginError: no such architecture.
        """
        classes = named(self.classes, self.num_classes)
        network, preprocessing = untrained(self.library, self.architecture, len(classes), self.seed)
        return NetworkClassifier(network, preprocessing, classes, self, f"random {self.architecture}")
