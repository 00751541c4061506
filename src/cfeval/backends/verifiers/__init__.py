"""Verifiers: was the edit made as told, and nothing else?"""
