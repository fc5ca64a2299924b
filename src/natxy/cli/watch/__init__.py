# SPDX-License-Identifier: Apache-2.0
"""Shows the progress of a run: live on a terminal, as lines elsewhere."""
