"""Ends a run once the lines of its gate are decided."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import TypeAdapter

from omnieval.runlog import Run
from omnieval.scoring.choice import score_choice
from omnieval.scoring.early import EarlyPlan, Tally
from omnieval.types import Response, Sample, Score


class EarlyWatch:
    """Counts outcomes as they come, and calls `stop` once every line is decided."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self.seed = tally.plan.seed
        self.decided = tally.decided()
        self.stop: Callable[[], None] = lambda: None

    @classmethod
    def of(cls, directory: Path, chosen: Sequence[Sample], parser: str) -> EarlyWatch:
        """For a begun run: its own plan, and the answers that it has. Failed tries will be made again, unless
        the lines are decided with them."""
        run = Run.load(directory)
        plan = TypeAdapter(EarlyPlan).validate_python(run.info["early"])
        last = run.last_responses()
        before, answered = Tally(plan, chosen), Tally(plan, chosen)
        for sample in chosen:
            response = last.get(sample.id)
            if response is not None:
                score = score_choice(sample, response, selected=True, rule=parser)
                before.add(score)
                if response.answered:
                    answered.add(score)
        return cls(before if before.decided() else answered)

    def counting(self, score: Callable[[Sample, Response], Score]) -> Callable[[Sample, Response], Score]:
        """`score`, with every outcome counted here too."""

        def counted(sample: Sample, response: Response) -> Score:
            found = score(sample, response)
            self._tally.add(found)
            if not self.decided and self._tally.decided():
                self.decided = True
                self.stop()
            return found

        return counted
