"""Files in and out: every reader names the place of a fault, every writer is atomic."""
