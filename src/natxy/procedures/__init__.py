# SPDX-License-Identifier: Apache-2.0
"""The procedures of the RFCs. Each module carries out one, or a few that belong together."""
