"""Judges of given pairs: does an explanation name the changed thing, and is an answer another one?"""
