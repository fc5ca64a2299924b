# SPDX-License-Identifier: Apache-2.0
"""Stands in for siitperf's own programs: each call is one trial by natxy's engine."""
