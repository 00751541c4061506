"""The oracle of CelebA-HQ's 40 attributes that STEEX published and ACE uses: VGGFace2's ResNet-50, fine-tuned.

It takes images in [−1, 1], resized to 224 pixels without smoothing.
"""

from pathlib import Path

from cfeval.inference.local import devices
from cfeval.vce.interfaces import AttributeClassifier
from cfeval.vce.models import checkpoints, vggface2
from cfeval.vce.models.attribute_plugin import AttributePlugin
from cfeval.vce.models.attributes import NetworkAttributes


class Plugin(AttributePlugin):
    """Without further options."""

    def build(self) -> AttributeClassifier:
        """The oracle, loaded.

        Raises:
            InputError: weights, names or labels cannot be read.
            PluginError: the weights do not fit.
        """
        path, names = Path(self.path), self.names()
        network = vggface2.untrained(len(names))
        what = f"VGGFace2's ResNet-50 with {len(names)} attributes"
        checkpoints.fit(network, vggface2.weights_in(path), path.name, what)
        device = devices.chosen(self.device)
        return NetworkAttributes(network, self.size, self.mean, self.std, names, self.table(), device, self.threshold)
