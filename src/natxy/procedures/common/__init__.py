# SPDX-License-Identifier: Apache-2.0
"""Steps, streams and searches that the procedures share."""
