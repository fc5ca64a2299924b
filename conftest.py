# SPDX-License-Identifier: Apache-2.0
"""What all tests share."""

from hypothesis import settings

# How long an example takes says something of the machine, not of the code.
settings.register_profile("natxy", deadline=None)
settings.load_profile("natxy")
