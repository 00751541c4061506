"""Tests of the metrics of the vce study."""
