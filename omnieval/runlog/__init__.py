"""The run directory: append-only, crash-safe, readable without the program that wrote it."""
