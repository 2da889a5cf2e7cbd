"""What a run may use: steps, calls, tokens, seconds; and what it has used."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from textcall.errors import UsageError
from textcall.events import RunReason

LAST_WORDS = 256  # tokens of the answer that is asked for where tokens or time are used up


@dataclass(frozen=True, slots=True)
class Limits:
    """steps: turns in which tools may be called. calls: tools run. tokens: written. seconds: wall clock.

    None is no limit. Raises UsageError for one that leaves nothing.
    """

    steps: int = 8
    calls: int | None = 32
    tokens: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name, least in (("steps", 1), ("calls", 0), ("tokens", 1)):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
                raise UsageError(f"max_{name} must be a whole number, at least {least}, not {value!r}")
        seconds = self.seconds
        if seconds is not None and (not isinstance(seconds, int | float) or not seconds > 0):  # type: ignore[redundant-expr]
            raise UsageError(f"max_seconds must be above 0, not {seconds!r}")


class Budget:
    """The limits of one run and what is used of them. clock: seconds."""

    def __init__(self, limits: Limits, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits = limits
        self._clock = clock
        self._started = clock()
        self._waited = 0.0
        self.steps = self.calls = self.tokens = 0
        self.call_refused = False

    @property
    def seconds_left(self) -> float:
        """Of the wall clock; infinite where there is no limit."""
        limit = self._limits.seconds
        return float("inf") if limit is None else limit - (self._clock() - self._started - self._waited)

    @contextmanager
    def waiting_for_somebody(self) -> Iterator[None]:
        """Time in which a person thinks is not the run's."""
        began = self._clock()
        try:
            yield
        finally:
            self._waited += self._clock() - began

    def used_up(self) -> RunReason | None:
        """Which limit ends the run here."""
        limits = self._limits
        if self.seconds_left <= 0:
            return "max_seconds"
        if limits.tokens is not None and self.tokens >= limits.tokens:
            return "max_tokens"
        if self.call_refused:
            return "max_calls"
        return "max_steps" if self.steps >= limits.steps else None

    def reply_tokens(self, wanted: int) -> int:
        """How many tokens the next reply may have."""
        return wanted if self._limits.tokens is None else max(1, min(wanted, self._limits.tokens - self.tokens))

    def refusal(self) -> str | None:
        """Why no further call is run; None where one may be. Asking for one that is refused ends the run afterwards."""
        if self.seconds_left <= 0:
            return "the time for this question is used up"
        if self._limits.calls is not None and self.calls >= self._limits.calls:
            self.call_refused = True
            return f"no more than {self._limits.calls} calls are allowed for one question"
        return None
