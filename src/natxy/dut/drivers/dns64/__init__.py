# SPDX-License-Identifier: Apache-2.0
"""The drivers of DNS64 servers."""
