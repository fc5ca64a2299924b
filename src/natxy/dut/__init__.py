# SPDX-License-Identifier: Apache-2.0
"""Gateways: their drivers, and the transports that run commands on the DUT."""
