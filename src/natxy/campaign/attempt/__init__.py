# SPDX-License-Identifier: Apache-2.0
"""Carries out one attempt at a job of a campaign: natxy in a process here or on a tester behind ssh."""
