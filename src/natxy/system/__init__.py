# SPDX-License-Identifier: Apache-2.0
"""This process and this machine: what every other package may use and what depends on nothing but errors."""
