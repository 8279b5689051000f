"""How many requests a server takes at once before more of them bring nothing: found while a run goes on."""

from __future__ import annotations

_FIRST = 2
_LEAST_ANSWERS = 24
_ROUNDS = 2
# What a step up must bring of what it would bring on a server without limits.
_WORTH = 0.2
# With fewer in flight than this part of the limit it is not the limit that is measured.
_FULL = 0.9
# Refused or timed-out requests in a window that are more than a hiccup.
_REFUSED = 0.05


class Knee:
    """Follows the answers of a run and says how many requests may be in flight.

    The limit doubles as long as that brings more answers a second, is halved where requests are refused or
    time out, and then closes in between the two to within a quarter. Answers a second are requests in flight
    by the time that one takes (Little's law), which bursts of answers do not disturb. A step is measured over
    at least 24 answers and two rounds of them, after those of the limit before have ended, and one that
    brings nothing is measured three times as long before it is believed. Later refusals begin the search
    below them anew. What is chosen brings three quarters of the most that the server can do, or more, at no
    more than 1.7 times the requests that fill its slots where it has such.

    most: the largest limit. limit: for now. settled: whether the search is over. why: the last decision, in
    words. It has no clock, so that equal answers make equal choices.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._wanted, self._doubted = 0, False
        self.anew()

    def anew(self) -> None:
        """Begin again: what was seen so far says nothing any more, as after a server was away."""
        self.why = "the first step"
        self.settled = False
        self._good, self._good_rate = 0, 0.0
        self._too_many: int | None = None
        self._try(min(_FIRST, self._most), still_out=_FIRST)

    def take(self, took_s: float, *, answered: bool, overloaded: bool, in_flight: int) -> bool:
        """One try has ended; whether the limit or `settled` changed.

        took_s: from sending to the end. overloaded: it was refused as too many, or timed out. in_flight:
        requests that were out, this one with them.
        """
        if self._skip > 0:
            self._skip -= 1
            return False
        self._ended += 1
        self._out += in_flight
        self._overloads += overloaded
        if answered:
            self._answers += 1
            self._took_s += took_s
        if self._overloads > max(1.0, _REFUSED * self._wanted):
            self._refused(in_flight)
            return True
        if self._answers < self._wanted:
            return False
        if self.settled or self._out < _FULL * self.limit * self._ended:
            self._measure()
            return False
        rate = self._out / self._ended * self._answers / max(self._took_s, 1e-9)
        return self._judge(rate, in_flight)

    def _judge(self, rate: float, in_flight: int) -> bool:
        """Draw the lesson of a full window. rate: answers a second."""
        good = self._good
        if good and rate < self._good_rate * (1 + _WORTH * (self.limit / good - 1)):
            if not self._doubted:
                self._doubted, self._wanted = True, 3 * self._wanted
                return False
            self._too_many = self.limit
            self.why = (
                f"{self.limit} in flight brought {rate:.3g} answers a second, {good} {self._good_rate:.3g}"
            )
        else:
            self._good, self._good_rate = self.limit, rate
            if self._too_many is None:
                self.why = f"{self.limit} in flight brought {rate:.3g} answers a second"
        self._next(in_flight)
        return True

    def _refused(self, in_flight: int) -> None:
        self.why = f"with {self.limit} in flight requests were refused or timed out"
        self._too_many = self.limit
        if self._good >= self.limit:
            self._good, self._good_rate = 0, 0.0
        self.settled = False
        self._next(in_flight)

    def _next(self, in_flight: int) -> None:
        good, too_many = self._good, self._too_many
        if too_many is None:
            if good < self._most:
                self._try(min(2 * good, self._most), still_out=in_flight - 1)
            else:
                self._settle(good, f"{self.why}, and no more are tried", in_flight)
        elif too_many - good <= max(1, good // 4):
            self._settle(max(1, good), self.why, in_flight)
        else:
            self._try((good + too_many) // 2, still_out=in_flight - 1)

    def _settle(self, limit: int, why: str, in_flight: int) -> None:
        self.settled, self.why = True, why
        self._try(limit, still_out=in_flight - 1)

    def _try(self, limit: int, *, still_out: int) -> None:
        self.limit = limit
        self._skip = still_out
        self._doubted = False
        self._wanted = limit * max(_ROUNDS, -(-_LEAST_ANSWERS // limit))
        self._measure()

    def _measure(self) -> None:
        self._took_s = 0.0
        self._answers = self._overloads = self._ended = self._out = 0
