"""A Ctrl-C while the program is still being loaded."""

from __future__ import annotations

import subprocess
import sys

from tests.command import environment

# An import that is interrupted, as a signal in the first moments does.
CODE = """
import sys
class Interrupted:
    def find_spec(self, name, path=None, target=None):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupted())
from omnieval.__main__ import main
main()
"""


def test_an_interrupt_before_the_command_line_is_loaded_shows_no_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], env=environment(), capture_output=True, text=True)
    assert done.returncode == 130
    assert done.stderr == "interrupted\n"
