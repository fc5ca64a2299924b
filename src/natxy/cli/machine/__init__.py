# SPDX-License-Identifier: Apache-2.0
"""Looks after the machines: these verbs measure nothing."""
