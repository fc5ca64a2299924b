# SPDX-License-Identifier: Apache-2.0
"""The DUT: gateway drivers, and the transports that run their commands."""
