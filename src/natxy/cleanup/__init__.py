# SPDX-License-Identifier: Apache-2.0
"""Gives back what the ledger says that natxy changed, in particular what killed runs left."""
