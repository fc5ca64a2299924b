# SPDX-License-Identifier: Apache-2.0
"""The errors that end a command, with its exit codes. A message says what is wrong, what was expected, what to do."""

from __future__ import annotations

from typing import ClassVar


class NatxyError(Exception):
    exit_code = 1
    page: ClassVar[str] = "reference/cli.md#exit-codes"
    """The page of the documentation that tells more, and its section."""


class PlanError(NatxyError):
    """A bad plan or bad usage."""

    exit_code = 2


class PlanFileError(PlanError):
    """Reports a plan whose text has errors."""

    page = "reference/plan.md"


class TesterLimitError(NatxyError):
    """The tester could not keep up; this says nothing about the DUT."""

    exit_code = 3
    page = "how-to/invalid-trials.md"


class HostError(NatxyError):
    """A host of `tcp-goodput` could not be reached or could not measure; this says nothing about the DUT."""

    exit_code = 3
    page = "how-to/tcp-goodput.md"


class FurtherTesterError(HostError):
    """A further tester could not be reached, or its ports could not be prepared or given back."""

    page = "reference/plan-testbeds.md#several-testers"


class DutError(NatxyError):
    """The DUT is unreachable, could not be set up or reset, or forwards nothing."""

    exit_code = 4
    page = "reference/gateways.md"


class DutLostError(DutError):
    """The DUT does not answer any more."""


class GatewayDiedError(DutError):
    """The DUT answers, and a process or an interface that the gateway was made of is gone."""


class GatewayMissingError(DutError):
    """A program or kernel module of the gateway is not installed; its experiments are skipped."""


class EngineDiedError(NatxyError):
    """natxy-engine ended or stopped answering."""

    exit_code = 5


class ThresholdMissedError(NatxyError):
    """A result is worse than a plan or a command line allows, and its interval leaves no doubt."""

    exit_code = 6
    page = "reference/plan-search.md#thresholds"
