# SPDX-License-Identifier: Apache-2.0
"""Carries out many plans on many testbeds: each job is a run of its own, in a process and a folder of its own."""

from typing import Final

LOG_FILE: Final = "campaign.jsonl"
"""Names the log in the folder of a campaign."""
