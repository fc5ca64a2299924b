# SPDX-License-Identifier: Apache-2.0
"""The driver for OpenBSD's packet filter, PF."""
