"""The key of the loopback server, and the variable in which it stands."""

KEY_ENV = "LOOPBACK_KEY"
KEY = "sk-canary-9f3c1b7a5e2d48"
