"""The benchmarks themselves, at a size that a test can run."""
