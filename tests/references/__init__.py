"""Other implementations of what cfeval does, plain rather than fast, to compare with."""
