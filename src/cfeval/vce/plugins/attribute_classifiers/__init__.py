"""Oracles of attributes."""
