"""Verifiers: was an edit made as told, and nothing else changed?"""
