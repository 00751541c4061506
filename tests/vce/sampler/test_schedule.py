import math

import numpy as np
import pytest
import torch

from cfeval.core.errors import ParamsError
from cfeval.vce.sampler.schedule import kept, linear, respaced


def test_alphas_cumprod_at_step_99_of_200_is_that_of_the_reference() -> None:
    schedule = respaced(linear(1000), "200")
    assert float(schedule.alphas_cumprod[99]) == pytest.approx(0.0802, abs=5e-5)
    assert int(schedule.timesteps[99]) == 497


def test_dime_starts_from_training_step_150_of_500() -> None:
    schedule = respaced(linear(500), "200")
    assert int(schedule.timesteps[60]) == 150
    assert float(schedule.alphas_cumprod[60]) == pytest.approx(0.392, abs=5e-4)


def test_linear_betas_go_from_a_tenthousandth_to_two_hundredths() -> None:
    table = linear(1000)
    assert float(table[0]) == pytest.approx(1 - 1e-4, abs=1e-12)
    assert float(1 - table[-1] / table[-2]) == pytest.approx(0.02, abs=1e-12)
    assert table.dtype == torch.float64


def test_an_even_respacing_goes_from_the_first_to_the_last_step() -> None:
    assert kept(10, "4") == [0, 3, 6, 9]
    assert kept(1000, "1000") == list(range(1000))
    assert kept(10, "1") == [0]


def test_a_list_cuts_the_steps_into_equal_sections() -> None:
    assert kept(10, "1,2") == [0, 5, 9]
    assert kept(11, "2,2") == [0, 5, 6, 10]


def test_ddim_takes_an_integer_stride_from_0() -> None:
    assert kept(1000, "ddim50") == list(range(0, 1000, 20))


@pytest.mark.parametrize("respacing", ["11", "6,2", "ddim7"])
def test_a_respacing_that_cannot_be_had_says_so(respacing: str) -> None:
    with pytest.raises(ParamsError, match=f"respacing '{respacing}'"):
        kept(10, respacing)


def test_respaced_betas_give_the_same_alphas_cumprod_at_the_kept_steps() -> None:
    table = linear(1000)
    schedule = respaced(table, "25")
    assert torch.allclose(torch.cumprod(1 - schedule.betas, 0), table[schedule.timesteps], rtol=1e-12)


def test_posterior_mean_and_variance_are_those_of_the_product_of_two_gaussians() -> None:
    schedule = respaced(linear(1000), "10")
    index, x0, noisy = 4, 0.3, -0.8
    before, beta = float(schedule.alphas_cumprod[3]), float(schedule.betas[4])
    # q(x_{t-1} | x_0) = N(√ᾱ x0, 1 - ᾱ) times the likelihood of x_t = √(1-β) x_{t-1} + √β n
    precision = 1 / (1 - before) + (1 - beta) / beta
    expected = (math.sqrt(before) * x0 / (1 - before) + math.sqrt(1 - beta) * noisy / beta) / precision
    found = schedule.posterior_mean(torch.tensor(x0), torch.tensor(noisy), index)
    assert float(found) == pytest.approx(expected, rel=1e-6)
    assert float(schedule.posterior_variance[index]) == pytest.approx(1 / precision, rel=1e-12)


def test_the_last_step_keeps_the_clean_image_alone() -> None:
    schedule = respaced(linear(1000), "10")
    assert float(schedule.posterior_mean(torch.tensor(0.3), torch.tensor(9.0), 0)) == pytest.approx(0.3)
    assert float(schedule.variance(0, None)) == 0


def test_noising_and_predicting_the_noise_give_the_image_back() -> None:
    schedule = respaced(linear(1000), "200")
    image, noise = torch.rand(2, 3, 4, 4), torch.randn(2, 3, 4, 4)
    noisy = schedule.noised(image, 99, noise)
    assert torch.allclose(schedule.clean(noisy, noise, 99), image, atol=1e-5)
    assert float(schedule.alphas_cumprod[99].sqrt()) == pytest.approx(0.283, abs=5e-4)


def test_a_learned_variance_goes_from_the_posterior_variance_to_beta() -> None:
    schedule = respaced(linear(1000), "200")
    low, high = float(schedule.posterior_variance[50]), float(schedule.betas[50])
    learned = torch.tensor([-1.0, 0.0, 1.0])
    found = schedule.variance(50, learned).numpy()
    assert np.allclose(found, [low, math.sqrt(low * high), high], rtol=1e-5)
    assert np.allclose(schedule.log_variance(50, learned).numpy(), np.log(found), rtol=1e-5)


def test_the_log_of_the_last_posterior_variance_is_that_of_the_step_before() -> None:
    schedule = respaced(linear(1000), "200")
    assert float(schedule.log_variance(0, None)) == pytest.approx(math.log(float(schedule.posterior_variance[1])))
