"""A reading that could not be taken."""


class MeterError(Exception):
    """Says which meter, what it found instead, and what to do."""
