# SPDX-License-Identifier: Apache-2.0
"""Does what verbs do. They import it when they are called: completion and help need only what they declare."""
