# SPDX-License-Identifier: Apache-2.0
"""The gateway drivers, a file or folder for each family. A driver defined here is found by itself."""
