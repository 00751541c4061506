"""Feature extractors, for Fréchet distances and similarities of embeddings."""
