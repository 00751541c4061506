"""What the plugins of the study offer: image sets, denoisers, classifiers, distances, features, attributes, edits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from cfeval.core.images import Image
from cfeval.core.records import Status

if TYPE_CHECKING:
    from numpy import bool_
    from numpy.typing import NDArray
    from torch import Tensor, device, dtype


@dataclass(frozen=True)
class LabelledImage:
    """An image and the name of its class; `id` is unique in the set and safe as a file name."""

    id: str
    label: str
    image: Image


class ImageSet(Protocol):
    """A set of labelled images. `classes` are the names that its labels can have."""

    classes: tuple[str, ...]

    def images(self, labels: Sequence[str], count: int, size: int, seed: int) -> Iterator[LabelledImage]:
        """The first `count` images of each label, label by label, as squares of `size` pixels a side, RGB.

        The same arguments give the same images, and a larger `count` only adds to them. A set draws or crops in the
        way that its own file says.

        Raises:
            InputError: a label that the set does not have (the nearest are named), too few images of it, an image
                that is too small or not RGB; one line that names the file.
        """
        ...


@dataclass(frozen=True)
class Prediction:
    """What a denoiser says about x_t.

    `noise` is ε_θ(x_t, t), (N, 3, H, W). `variance` is v, about in [−1, 1], of the same shape: it interpolates between
    log β̃_t (−1) and log β_t (1); None where the network has not learned it, then the variance is β̃_t.
    """

    noise: "Tensor"
    variance: "Tensor | None" = None


class Denoiser(Protocol):
    """A denoiser, frozen and in evaluation mode; gradients flow from its prediction to the noisy image.

    `alphas_cumprod` is ᾱ of the T training steps, (T,), float64, on the CPU. `image_size` is the height and width that
    it was trained at. `classes` is how many class labels it is conditional on, 0 for none. `dtype` is what it takes and
    gives, whatever precision it computes in: float32, or float64 where results are to be the same on every CPU.
    Sources: Ho et al. 2020; Dhariwal & Nichol 2021.
    """

    alphas_cumprod: "Tensor"
    image_size: int
    classes: int
    device: "device"
    dtype: "dtype"

    def predict(self, noisy: "Tensor", timesteps: "Tensor", labels: "Tensor | None" = None) -> Prediction:
        """The prediction for x_t (N, 3, H, W), original timesteps (N,) in [0, T) and, if conditional, labels (N,).

        The arguments are on the denoiser's device and of its `dtype`; so is the prediction.
        """
        ...


@runtime_checkable
class Prompted(Protocol):
    """What a denoiser offers beside that is told texts: what a text is to it, and predictions under that."""

    no_class: int

    def text(self, labels: "Tensor") -> "Tensor":
        """What the prompts of labels (N,) are to the denoiser, (N, tokens, width); `no_class` is the empty prompt."""
        ...

    def predict_under(self, noisy: "Tensor", timesteps: "Tensor", text: "Tensor") -> Prediction:
        """See `Denoiser.predict`; under a text (N, tokens, width), to which gradients flow too."""
        ...


@runtime_checkable
class Bridge(Protocol):
    """A denoiser that was trained on the way from an image to one with noise in a region (I2SB, Liu et al. 2023).

    Its ᾱ are those of the noise on that way, 1 / (1 + σ²) for σ of the way from the image; x_t comes divided by its
    root of 1 + σ². Only methods that go this way can use it.
    """

    bridge: bool


@runtime_checkable
class Autoencoder(Protocol):
    """What a denoiser offers beside, whose x_t are latents (N, C, h, w): the way from images to them and back.

    Its `image_size` is that of images. Rombach et al. 2022.
    """

    def encode(self, images: "Tensor") -> "Tensor":
        """The latents of images (N, 3, H, W) in [−1, 1], of unit variance about, as they were trained on."""
        ...

    def decode(self, latents: "Tensor") -> "Tensor":
        """The images (N, 3, H, W) of latents, about in [−1, 1]; gradients flow from them to the latents."""
        ...


@runtime_checkable
class Classless(Protocol):
    """What a conditional denoiser offers beside that also knows no class, an empty prompt: `no_class` is its label."""

    no_class: int


class Classifier(Protocol):
    """A classifier, frozen and in evaluation mode (DBVCE, Section 4, Table 1); gradients flow from logits to images.

    `classes` are the names of its classes, in the order of the logits. `robust` says that it was trained against
    perturbed images, so that its gradients may serve the cone. `timed` says that it was trained on noisy images and
    wants to know the timestep.
    """

    classes: tuple[str, ...]
    robust: bool
    timed: bool
    device: "device"

    def logits(self, images: "Tensor", timesteps: "Tensor | None" = None, prepared: bool = True) -> "Tensor":
        """The logits (N, classes), of the dtype of the images.

        Args:
            images: (N, 3, H, W), float32 or float64 in [−1, 1], not clamped where they leave it, on its device.
            timesteps: original diffusion timesteps (N,), for a `timed` classifier; None stands for 0.
            prepared: resize and normalise as it was trained and divide by its calibration temperature. False hands
                the images to the network as they are and leaves the temperature out, as the reference code of DBVCE
                does.
        """
        ...


class PerceptualDistance(Protocol):
    """A perceptual distance; 0 for equal images, larger for less alike (DBVCE, Section 3.2: LPIPS)."""

    def distance(self, first: "Tensor", second: "Tensor") -> "Tensor":
        """The distance of each pair, (N,); images (N, 3, H, W), float32 in [−1, 1]."""
        ...


class FeatureExtractor(Protocol):
    """A frozen network that turns images into feature vectors; `width` is their length (DBVCE, Section 3.3: FID's)."""

    width: int

    def features(self, images: "Tensor") -> "Tensor":
        """The features (N, width), float64; images (N, 3, H, W), uint8 RGB."""
        ...


class AttributeClassifier(Protocol):
    """An oracle that sees many attributes of one image, each there or not (DiME, Section 4: 40 of faces).

    `attributes` are their names. `labels` are those of the data that it was trained on, (M, A), for correlations
    between attributes; None where they are not at hand.
    """

    attributes: tuple[str, ...]
    labels: "NDArray[bool_] | None"

    def decisions(self, images: "Tensor") -> "Tensor":
        """Which attributes it sees, bool (N, A) on the CPU; images (N, 3, H, W), uint8 RGB."""
        ...

    def of_class(self, name: str) -> frozenset[str] | None:
        """The attributes that set a class apart; None of a class that is none of its data: then it is not asked.

        Two classes differ in those that only one of them has: `Smiling` and `not Smiling` in the one of that name.
        """
        ...


class ConceptEdit(Protocol):
    """An image in which one concept was changed, or at which stage and why there is none.

    `instruction` is what the editor was told; `calls` names the stored calls that it came from.
    """

    concept: str
    instruction: str
    image: Image | None
    status: Status
    stage: str
    reason: str
    calls: tuple[str, ...]


class ConceptEditor(Protocol):
    """Changes, one at a time, what sets two classes apart in an image; it does not see the classifier.

    `wants_explanation` says whether it reads the explanation; else it is given none.
    """

    wants_explanation: bool

    async def edit(
        self, item: str, image: Image, classes: tuple[str, str], explanation: str, seed: int
    ) -> Sequence[ConceptEdit]:
        """The edits, each of the original, at least one entry; the same arguments give the same edits.

        Args:
            item: id of the image.
            image: the original.
            classes: what it shows, and what a counterfactual should show.
            explanation: where the classifier looks, in a sentence.
            seed: of the study.
        """
        ...
