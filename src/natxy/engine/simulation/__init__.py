# SPDX-License-Identifier: Apache-2.0
"""An engine and a gateway in virtual time, whose right results are known."""
