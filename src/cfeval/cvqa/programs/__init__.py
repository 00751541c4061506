"""Programs that answer questions about an image, run by our own interpreters: no eval, no exec, everything budgeted."""
