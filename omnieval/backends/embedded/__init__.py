"""The baseline that the package carries."""
