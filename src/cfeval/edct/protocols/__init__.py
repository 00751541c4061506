"""Protocols, one file each: what writers and judges reply, as a JSON schema and as a reader of text."""
