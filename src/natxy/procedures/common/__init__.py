# SPDX-License-Identifier: Apache-2.0
"""The parts that procedures share: repetitions, steps, searches, streams and trials."""
