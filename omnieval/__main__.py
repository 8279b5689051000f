"""`python -m omnieval` is the command line."""

from omnieval.cli import main

main()
