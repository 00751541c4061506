"""What the controls say beside CCS: the Faithfulness Intervention Test of an item, and the trust card of a model."""
