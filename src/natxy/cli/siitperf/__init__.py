# SPDX-License-Identifier: Apache-2.0
"""The verbs for siitperf's users: plans of its configuration, and its programs."""
