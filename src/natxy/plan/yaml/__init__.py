# SPDX-License-Identifier: Apache-2.0
"""Reads plans from YAML and reports errors by file, line and field."""
