# SPDX-License-Identifier: Apache-2.0
"""The drivers of gateways that are made with Tayga, a stateless translator in user space."""
