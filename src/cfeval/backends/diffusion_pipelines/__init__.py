"""How each diffusers pipeline that edits images is called; `kinds.KINDS` is the table."""
