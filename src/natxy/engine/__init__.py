# SPDX-License-Identifier: Apache-2.0
"""The engine as the control plane sees it: typed messages, a client, and an engine in virtual time."""
