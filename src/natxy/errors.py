# SPDX-License-Identifier: Apache-2.0
"""What can end a command, each with its exit code. A message says what is wrong, what was expected, what to do."""

from __future__ import annotations


class NatxyError(Exception):
    exit_code = 1


class PlanError(NatxyError):
    """A bad plan or bad usage."""

    exit_code = 2


class TesterLimitError(NatxyError):
    """The tester could not keep up; says nothing of the DUT."""

    exit_code = 3


class HostError(NatxyError):
    """A host in the tester's place could not be reached or could not measure; says nothing of the DUT."""

    exit_code = 3


class DutError(NatxyError):
    """The DUT is unreachable, could not be set up or reset, or forwards nothing."""

    exit_code = 4


class GatewayMissingError(DutError):
    """What the gateway is made of isn't there; its experiments are skipped."""


class EngineDiedError(NatxyError):
    """natxy-engine ended or fell silent."""

    exit_code = 5
