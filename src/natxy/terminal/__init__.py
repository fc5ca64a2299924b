# SPDX-License-Identifier: Apache-2.0
"""Has what each verb does at a terminal: printing, ending on errors, and completing the names of files and drivers."""
