# SPDX-License-Identifier: Apache-2.0
"""Every message between the control plane and natxy-engine, as typed models.

The engine checks the same rules on its side (engine/rpc/messages.hpp). An unknown field, a wrong type or a
value out of range is an error reply that names the field. Rates are frames per second of one stream, times are
seconds or nanoseconds as their names say, frame sizes count the FCS.
"""
