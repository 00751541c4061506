"""cfeval's tasks for inspect-ai. Prompts, readers of replies, protocols and figures are cfeval's own, not copies."""
