"""The command line: `omnieval`, and `python -m omnieval`."""

import sys


def main() -> None:
    """Run the command line; an interrupt while it is still being loaded ends it like any other."""
    try:
        from omnieval.cli import main as command_line

        command_line()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)


if __name__ == "__main__":
    main()
