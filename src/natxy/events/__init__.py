# SPDX-License-Identifier: Apache-2.0
"""The events of a run: what happens while a plan is measured, as it is told to listeners and written into files."""
