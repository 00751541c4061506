"""The networks of `cfeval_testbed.models` as torch modules, to train them; images are (N, channels, H, W).

Names of parameters and shapes are those of the weights files, by which numpy and torch compute the same.
"""
