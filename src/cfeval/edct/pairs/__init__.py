"""Protocol `pairs-2026`: does the explanation name what moved the answer, where the change was given?

The counterfactual test of explanations (Atanasova et al. 2023; correlational form: Siegel et al. 2024, 2025). The image
pairs are given, so there is neither an instruction writer nor an editor; the change was chosen without a look at the
explanation. That is another estimand than that of CCS: no table has both.
"""
