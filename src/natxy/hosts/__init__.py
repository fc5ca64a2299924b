# SPDX-License-Identifier: Apache-2.0
"""Two hosts with a TCP of their own at the ends of the DUT's links, in the place of the tester's ports."""
