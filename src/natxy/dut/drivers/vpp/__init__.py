# SPDX-License-Identifier: Apache-2.0
"""The drivers for VPP, as a border relay and as an AFTR."""
