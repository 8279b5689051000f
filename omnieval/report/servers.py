"""Who answered, where a run asked several servers of one model."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from omnieval.report.page import Table
from omnieval.types import Response


@dataclass(frozen=True, slots=True)
class ServerRow:
    """One server, by the tries that count: answered and failed samples, and the median time to the end of an
    answer in seconds (None without answers)."""

    server: str
    answered: int
    failed: int
    median_e2e_s: float | None


def server_rows(responses: Iterable[Response]) -> tuple[ServerRow, ...]:
    """One row a server; none where the responses name no server."""
    by_server: dict[str, list[Response]] = defaultdict(list)
    for response in responses:
        if response.server is not None:
            by_server[response.server].append(response)
    return tuple(_row(server, by_server[server]) for server in sorted(by_server))


def server_table(rows: Sequence[ServerRow]) -> Table:
    """The rows as text."""
    cells = [
        (
            row.server,
            str(row.answered),
            str(row.failed),
            "-" if row.median_e2e_s is None else f"{row.median_e2e_s:.3f}",
        )
        for row in rows
    ]
    return Table("By server", ("server", "answered", "failed", "E2EL p50 (s)"), tuple(cells), (1, 2, 3))


def _row(server: str, responses: Sequence[Response]) -> ServerRow:
    answered = [response for response in responses if response.answered]
    times = [r.timing.e2e_s for r in answered if r.timing.e2e_s is not None]
    return ServerRow(
        server,
        len(answered),
        len(responses) - len(answered),
        statistics.median(times) if times else None,
    )
