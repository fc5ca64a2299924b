# SPDX-License-Identifier: Apache-2.0
"""Does something with the DUT once, while the traffic of a trial goes on."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from natxy.dut.base import Gateway
from natxy.engine.messages.requests import TrialRequest
from natxy.engine.messages.results import Progress, TrialResult
from natxy.errors import TesterLimitError
from natxy.plan.procedures.base import DuringTraffic
from natxy.procedures.common.repetition import Repetition
from natxy.procedures.common.traffic import traffic_step
from natxy.search.outcome import Attempt

Config = TypeVar("Config", bound=DuringTraffic)


@dataclass
class InTraffic(ABC, Generic[Config]):
    """Acts once, between two progress messages of the engine, which keeps sending; `awaited` is set from the traffic's
    request to the act."""

    repetition: Repetition
    config: Config
    rate_fps: float
    awaited: bool = False
    ends_at: float = 0.0

    what: ClassVar[str]
    """Names the act in errors."""

    @abstractmethod
    def request(self, seed: int) -> TrialRequest:
        """Returns the request of the traffic."""

    @abstractmethod
    def act(self, gateway: Gateway[Any], progress: Progress) -> None:
        """Does it."""

    def step(self, attempt: Attempt) -> TrialResult | None:
        """Runs a trial, and acts during its traffic."""
        result = traffic_step(self.repetition, attempt, self.traffic, meanwhile=self.when_due)
        if self.awaited:
            raise TesterLimitError(
                f"the tester came to the {self.what} only after the traffic had ended; raise the procedure's `recovery`"
            )
        return result

    def traffic(self, seed: int) -> TrialRequest:
        self.awaited = True
        self.ends_at = time.monotonic() + self.repetition.experiment.traffic_s
        return self.request(seed)

    def when_due(self, progress: Progress) -> None:
        if not self.awaited or progress.elapsed_s < self.config.steady_s(self.repetition.experiment.timing.trial):
            return
        # A late progress message must not have an effect on a gateway that no longer has traffic.
        if progress.sent == progress.planned or time.monotonic() > self.ends_at:
            return
        self.awaited = False
        with self.repetition.gateway() as gateway:
            self.act(gateway, progress)
