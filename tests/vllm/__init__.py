"""Against a real server of OpenAI-compatible chat: `transformers serve` on loopback."""
