# SPDX-License-Identifier: Apache-2.0
"""Gateway drivers, one file or folder each."""
