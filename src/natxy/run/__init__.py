# SPDX-License-Identifier: Apache-2.0
"""Carries out a plan: each experiment, each repetition, each trial stored before the next one starts."""
