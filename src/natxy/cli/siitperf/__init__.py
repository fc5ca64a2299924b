# SPDX-License-Identifier: Apache-2.0
"""Serves siitperf's users: these verbs write plans of its configuration, and install its programs."""
