"""C-VQA-Synthetic (C-VQA, Section 3.3): puzzles about flowers and dots, drawn with exact ground truth."""
