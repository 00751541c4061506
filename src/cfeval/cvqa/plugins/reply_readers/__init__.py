"""Language models that read replies which the rules leave unread."""
