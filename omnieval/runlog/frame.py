"""A scored run as a pandas table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnieval.errors import ConfigError
from omnieval.runlog.rows import columns, rows
from omnieval.runlog.store import Run

if TYPE_CHECKING:
    import pandas

# Types of pandas that know a missing value.
_TYPES = {"text": "string", "integer": "Int64", "number": "Float64", "truth": "boolean"}


def to_frame(run: Run) -> pandas.DataFrame:
    """See `Run.to_pandas`."""
    try:
        import pandas
    except ImportError as error:
        raise ConfigError("pandas is not installed; pip install 'omnieval[pandas]'") from error

    known = columns(run)
    by_name: dict[str, list[object]] = {column.name: [] for column in known}
    for row in rows(run):
        for name, value in row.items():
            by_name[name].append(value)
    return pandas.DataFrame({c.name: pandas.array(by_name[c.name], dtype=_TYPES[c.kind]) for c in known})
