"""The small networks of the test bed."""
