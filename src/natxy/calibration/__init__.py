# SPDX-License-Identifier: Apache-2.0
"""Is what natxy measures true? Every procedure against the reference gateway, whose truth is known."""
