"""The test bed: scenes with known truth, their language, and small networks that look, talk and paint.

Modules that draw, edit and parse need numpy at most; those that run a network import torch when they are imported.
"""
