# SPDX-License-Identifier: Apache-2.0
"""A lab whose gateway runs in a guest kernel: user-mode Linux."""
