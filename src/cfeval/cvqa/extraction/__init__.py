"""How C-VQA asks and reads: templates by model family, both readers, the step format of the question generator."""
