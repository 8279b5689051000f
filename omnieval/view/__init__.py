"""The local viewer of runs: a small web server on this machine (extra `view`)."""
