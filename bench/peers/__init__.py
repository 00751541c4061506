"""The same work done with other tools, a script each, in an environment of their own (`make peers`)."""
