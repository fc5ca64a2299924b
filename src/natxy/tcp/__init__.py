# SPDX-License-Identifier: Apache-2.0
"""Two hosts with a TCP/IP stack of their own, which replace the tester's ports for TCP goodput."""
