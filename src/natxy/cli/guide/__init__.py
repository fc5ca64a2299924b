# SPDX-License-Identifier: Apache-2.0
"""The verbs that help a person who is new to natxy."""
