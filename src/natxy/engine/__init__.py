# SPDX-License-Identifier: Apache-2.0
"""The engine's side of the control plane: typed messages, clients of the programs, and an engine in virtual time."""
