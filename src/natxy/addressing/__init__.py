# SPDX-License-Identifier: Apache-2.0
"""Address arithmetic of the RFCs, which plans and gateways share."""
