# SPDX-License-Identifier: Apache-2.0
"""Parts that gateways made of the Linux kernel share."""
