"""How free replies are read, whatever they answer: sentences, yes and no, numbers."""
