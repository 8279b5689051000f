"""Tiny real data sets that travel with the package."""
