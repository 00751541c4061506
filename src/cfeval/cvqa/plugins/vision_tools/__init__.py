"""Vision operations that programs call: find, ask, match, depth, inside."""
