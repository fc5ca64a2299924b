# SPDX-License-Identifier: Apache-2.0
"""Has natxy's procedures judge trials that another program has measured."""

from natxy.run.elsewhere import MeasuredTrial, add_repetition

__all__ = ["MeasuredTrial", "add_repetition"]
