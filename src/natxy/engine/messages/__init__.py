# SPDX-License-Identifier: Apache-2.0
"""Typed models of all messages between the control plane and natxy-engine.

The engine checks the same rules (engine/rpc/messages/). It answers an unknown field, a wrong type or a value out of
range with an error that names the field. Rates are frames per second of one stream. Times are seconds or nanoseconds,
as their names say. Frame sizes include the FCS.
"""
