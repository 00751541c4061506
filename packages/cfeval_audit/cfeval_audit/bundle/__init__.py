"""The audit bundle: one archive that proves the tables of a study to a reader who trusts no one.

It is a ZIP file and a Workflow Run RO-Crate; `manifest-sha256.txt` in it names every file by its hash.
"""
