# SPDX-License-Identifier: Apache-2.0
"""natxy: a benchmarking tester for IPv4/IPv6 gateways (RFC 2544, RFC 8219, RFC 4814, RFC 9693)."""

__version__ = "0.1.0"
