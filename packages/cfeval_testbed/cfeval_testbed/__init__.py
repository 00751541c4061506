"""The test bed: scenes with known truth, their language, and small networks that look, talk and paint.

All but the classifiers and the denoiser of cells, which guide counterfactuals by gradients, and the training need numpy
and scipy at most; those import torch when they are imported.
"""
