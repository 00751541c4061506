"""Tests of the stages of the vce study."""
