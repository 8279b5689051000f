"""`python -m omnieval` is the command line."""

from omnieval.cli import main

if __name__ == "__main__":
    main()
