# SPDX-License-Identifier: Apache-2.0
"""The verbs that concern the machines and measure nothing."""
