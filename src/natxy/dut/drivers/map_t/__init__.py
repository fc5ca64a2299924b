# SPDX-License-Identifier: Apache-2.0
"""The driver for ends of MAP-T that are composed of stateless translators."""
