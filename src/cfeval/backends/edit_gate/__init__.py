"""Localised edit verification (EDCT-Bench 2026): did the picture change where it should, and hardly anywhere else?"""
