# SPDX-License-Identifier: Apache-2.0
"""Plans: what to measure, read from YAML and checked before anything is touched."""
