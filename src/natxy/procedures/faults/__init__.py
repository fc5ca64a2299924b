# SPDX-License-Identifier: Apache-2.0
"""Judges whose fault a trial's loss is: the gateway's, the tester's, or the machine's that both run on."""
