"""Tests of the stages of the cvqa study."""
