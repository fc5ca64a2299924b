# SPDX-License-Identifier: Apache-2.0
"""Transports run commands where the DUT is: on this machine, in a network namespace, or over ssh."""
