"""What changed between two revisions of a study and why: causes, cells of tables, items (`cfeval diff`).

Files are read as plain rows and not as the records of this version: the revisions may be older.
"""
