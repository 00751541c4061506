"""Results of edct in formats that others read: Croissant, Every Eval Ever, the Hugging Face Hub, inspect-ai."""
