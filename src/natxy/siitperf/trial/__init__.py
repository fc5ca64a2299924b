# SPDX-License-Identifier: Apache-2.0
"""The programs that stand in for siitperf's own: one trial each, by natxy's engine."""
