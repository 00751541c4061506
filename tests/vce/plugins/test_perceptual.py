"""LPIPS and ST-LPIPS: against the package, the paper's figures of order, and files that are not what they should be."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from cfeval.core import registry
from cfeval.core.errors import InputError, PluginError
from cfeval.vce.interfaces import PerceptualDistance
from tests.slow import first_fast
from tests.vce.measure_weights import trunk


def built(**spec: object) -> PerceptualDistance:
    found: PerceptualDistance = registry.build("perceptual_metrics", {"device": "cpu", **spec})
    return found


def drawn(seed: int, size: int = 64) -> torch.Tensor:
    return torch.rand((2, 3, size, size), generator=torch.Generator().manual_seed(seed)) * 2 - 1


@pytest.mark.parametrize("net", first_fast(["alex", "vgg"], 1))
@pytest.mark.filterwarnings("ignore:The parameter 'pretrained':UserWarning", "ignore:Arguments other than:UserWarning")
def test_lpips_is_that_of_its_package(net: str) -> None:
    import lpips

    theirs = lpips.LPIPS(net=net, pnet_rand=True, verbose=False)
    state = torch.load(trunk(net), weights_only=True)
    own = {name: state[f"features.{name.split('.', 1)[1]}"] for name in theirs.net.state_dict()}
    theirs.net.load_state_dict(own)
    ours = built(plugin="lpips", net=net, weights=str(trunk(net)))
    with torch.no_grad():
        expected = theirs(drawn(1), drawn(2)).flatten()
    assert ours.distance(drawn(1), drawn(2)).numpy() == pytest.approx(expected.numpy(), abs=1e-6)
    slopes = [_slope(distance) for distance in (ours.distance, theirs)]
    assert slopes[0].abs().max() > 0
    assert torch.allclose(*slopes, rtol=1e-3, atol=1e-7)


def _slope(distance: Callable[[torch.Tensor, torch.Tensor], torch.Tensor]) -> torch.Tensor:
    """Where the first of two images would have to change for the distance to grow."""
    first = drawn(1).requires_grad_()
    return torch.autograd.grad(distance(first, drawn(2)).sum(), first)[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("net", "expected"),
    [("alex", [0.440565, 0.065181]), ("vgg", [0.280006, 0.214305])],
)
def test_st_lpips_gives_the_figures_of_its_package(net: str, expected: list[float]) -> None:
    """What the package's own code gave, version 0.0.2."""
    measure = built(plugin="st_lpips", net=net)
    ramp = torch.linspace(-1, 1, 64).expand(1, 3, 64, 64)
    found = [measure.distance(ramp, other).item() for other in (ramp.flip(-1), ramp.roll(1, -1))]
    assert found == pytest.approx(expected, abs=1e-5)


def test_a_shift_by_a_pixel_counts_less_than_a_change_of_colour() -> None:
    measure = built(plugin="st_lpips")
    scene = torch.zeros(1, 3, 64, 64)
    scene[:, 0, 20:40, 20:40] = 1
    blue = scene.flip(1)
    assert measure.distance(scene, scene.roll(1, -1)) < measure.distance(scene, blue) / 3


def test_images_that_are_too_small_are_an_error_of_one_line() -> None:
    for spec, least in (({"plugin": "st_lpips"}, 21), ({"plugin": "lpips", "weights": str(trunk("alex"))}, 31)):
        assert built(**spec).distance(drawn(1, least), drawn(2, least)).shape == (2,)
        with pytest.raises(PluginError, match=f"at least {least} × {least} pixels, but got {least - 1} × {least - 1}"):
            built(**spec).distance(drawn(1, least - 1), drawn(2, least - 1))


def test_lpips_is_never_computed_without_its_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(PluginError, match=r"alexnet-owt-7be5be79.pth, which are not in torch's cache; name their file"):
        built(plugin="lpips")
    findings = list(registry.diagnose("perceptual_metrics", {"plugin": "lpips", "device": "cpu"}))
    assert [finding.fine for finding in findings] == [True, False]
    with pytest.raises(PluginError, match="no such file of weights"):
        built(plugin="lpips", weights=str(tmp_path / "nothing.pth"), download=True)


def test_lpips_finds_its_weights_in_torchs_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    cached = tmp_path / "hub" / "checkpoints" / "alexnet-owt-7be5be79.pth"
    cached.parent.mkdir(parents=True)
    cached.write_bytes(trunk("alex").read_bytes())
    assert built(plugin="lpips").distance(drawn(1), drawn(2)).shape == (2,)
    assert all(
        finding.fine for finding in registry.diagnose("perceptual_metrics", {"plugin": "lpips", "device": "cpu"})
    )


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PluginError, match=r"weights alex.pth do not fit lpips \(vgg\)"):
        built(plugin="lpips", net="vgg", weights=str(trunk("alex")))
    broken = tmp_path / "broken.pth"
    broken.write_bytes(trunk("alex").read_bytes()[:5000])
    with pytest.raises(InputError, match=r"broken.pth: cannot be read as weights"):
        built(plugin="lpips", weights=str(broken))


def test_nothing_of_the_packages_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in ("stlpips_pytorch", "IPython", "torchsummary"):
        monkeypatch.setitem(sys.modules, name, None)  # an import of it fails
        monkeypatch.delitem(sys.modules, name) if name == "stlpips_pytorch" else None
    before = set(sys.modules)
    built(plugin="st_lpips")
    assert not [name for name in set(sys.modules) - before if name.split(".")[0] in ("stlpips_pytorch", "IPython")]
