# SPDX-License-Identifier: Apache-2.0
"""The parts that drivers of Linux gateways share."""
