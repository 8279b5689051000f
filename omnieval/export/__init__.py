"""A scored run for other tools: tables, the layouts of other programs, and experiment trackers."""
