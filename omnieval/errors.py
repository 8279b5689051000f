"""Every error that omnieval raises on purpose.

A message names the file or sample, what was expected, what was found, and the next step. Faults that
belong to one sample are recorded as a `Failure` (see `omnieval.types`) and never end a run; the errors
here end the command.
"""


class OmnievalError(Exception):
    """Base of all errors raised on purpose; `exit_code` is what the command line ends with."""

    exit_code = 1


class ConfigError(OmnievalError):
    """The request itself is wrong: an unknown key, a bad value, a missing setting."""

    exit_code = 2


class DataError(OmnievalError):
    """The data set cannot be used: missing folder, unreadable or empty question file."""

    exit_code = 3


class MediaError(OmnievalError):
    """One media file cannot be used. The engine records it on its samples and goes on.

    `kind` is the failure kind that the report counts: `media_missing` (no such file) or `media`
    (the file is there but cannot be decoded, or lacks the track that the recipe needs).
    """

    exit_code = 3

    def __init__(self, message: str, *, kind: str = "media") -> None:
        super().__init__(message)
        self.kind = kind


class StorageError(OmnievalError):
    """A folder that omnieval writes to (run directory, media cache) is full or cannot be written.

    It would hit every sample alike, so it ends the run; what was written stays and can be resumed.
    """

    exit_code = 1


class BackendError(OmnievalError):
    """The model cannot be reached or refuses to serve the run as configured.

    `reached`: the server is there and answers, but not as this run needs it.
    """

    exit_code = 4

    def __init__(self, message: str, *, reached: bool = False) -> None:
        super().__init__(message)
        self.reached = reached


class ScoringError(OmnievalError):
    """A run directory cannot be scored or reported."""

    exit_code = 3
