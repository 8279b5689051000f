"""The one line that the modules here share."""

import sys

from omnieval.__main__ import main


def convert(name: str) -> None:
    """Run `omnieval data convert NAME` with the arguments of this process."""
    sys.argv[1:1] = ["data", "convert", name]
    main()
