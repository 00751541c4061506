"""What others get of a study: audit bundles, documents for regulators, results in other tools' formats."""
