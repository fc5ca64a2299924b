# SPDX-License-Identifier: Apache-2.0
"""Explains terms where a page first uses them, and collects them for the page's list of terms.

The explanations agree with docs/reference/glossary.md.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from markupsafe import Markup

from natxy.untrusted.texts import html, plain

TERMS: Final = {
    "fps": "frames per second",
    "cps": "new connections per second",
    "qps": "queries to a DNS64 server per second",
    "α": "the rate of the validation as a share of the connection rate (RFC 9693 §4.6)",
    "aggregate": "the sum of both directions",
    "back-to-back": "frames in the longest burst at the maximum rate that loses none (RFC 2544 §26.4, RFC 9004)",
    "baseline": "the experiment whose result counts as 100 % for another one",
    "bracket": "the interval between the highest rate that passed and the lowest that failed",
    "confidence interval": "the range that contains the true value in 19 of 20 runs, if the results are distributed as "
    "its method assumes",
    "C0": "the number of connections that the search for the table's capacity begins with",
    "CS": "the last safe number of connections when doubling",
    "CT": "the first number of connections that was too large when doubling",
    "degradation": "1 − the result divided by that with the fewest connections or flows (RFC 8219 §10)",
    "dispersion": "maximum minus minimum of the repetitions, divided by their median",
    "DUT": "device under test: the gateway that is measured (RFC 2285 §3.1.1)",
    "FCS": "frame check sequence: the last 4 bytes of an Ethernet frame",
    "four-tuple": "source address, destination address, source port and destination port",
    "IPDV": "inter-packet delay variation: the difference between the delay of a frame and that of the one before "
    "(RFC 8219 §7.3.2)",
    "MLRsearch": "a search that decides by the losses of several trials at each rate (RFC 9971)",
    "NAT44": "translation of addresses and ports within IPv4",
    "NAT46": "translation from IPv4 clients to IPv6 servers",
    "NAT64": "stateful translation from IPv6 clients to IPv4 servers (RFC 6146)",
    "NAT66": "translation of addresses and ports within IPv6",
    "non-RFC": "found with a loss tolerance, or by a search whose rates pass although some of their trials fail (RFC "
    "9971); RFC 2544 and RFC 9693 allow neither",
    "PDV": "packet delay variation: the 99.9th percentile of the delay of all frames less the minimum "
    "(RFC 8219 §7.3.1)",
    "phase 1": "the preliminary phase, in which one frame for each connection fills the tables of gateway and tester "
    "(RFC 9693)",
    "R0": "the connection rate at C0 connections",
    "relative scale-up": "the result on n cores divided by n times the result on one",
    "RS": "the connection rate at CS connections",
    "SIIT": "stateless translation between IPv6 and IPv4 (RFC 7915)",
    "spread": "maximum minus minimum of the repetitions, or the last bracket of a search if that is wider",
    "tagged frame": "a frame whose delay is recorded for latency",
    "theoretical maximum": "the highest frame rate of the line: line rate / (8 · (frame size + 20 bytes of "
    "preamble and gap))",
    "TL": "typical latency: the median delay of the tagged frames (RFC 8219 §7.2)",
    "WCL": "worst-case latency: the 99.9th percentile of the delay of the tagged frames (RFC 8219 §7.2)",
}

_BY_NAME: Final = {name.lower(): name for name in TERMS}
# Units have prefixes; words may begin a sentence, but TL is never tl.
_TERM: Final = "|".join(
    rf"{re.escape(name[0])}{re.escape(name[1:])}"
    if not name[0].islower()
    else rf"[{name[0]}{name[0].upper()}]{re.escape(name[1:])}"
    for name in sorted(TERMS, key=len, reverse=True)
)
# Intervals do not break, nor do names of gateways and kernels at their hyphens. A hyphen is looked for from the start
# of a word alone: from each of its letters, a long one would take forever.
_WORD: Final = r"\[[^\[\]\s]+, [^\[\]\s]+\]|(?<![^\s-])[^\s-]+-\S*|-\S+"
_MARKED: Final = re.compile(rf"\b[kMG]?(?P<term>{_TERM})s?\b|(?P<word>{_WORD})")
_LONGEST_WORD: Final = 32


class Explainer:
    """Marks the first use of each term on a page."""

    def __init__(self) -> None:
        self._met: set[str] = set()

    def mark(self, text: str) -> Markup:
        """Returns the text as HTML, with an explanation of each term that the page did not use before."""
        text, marked, end = plain(text), Markup(""), 0
        for match in _MARKED.finditer(text):
            marked += html(text[end : match.start()]) + self._marked(match)
            end = match.end()
        return marked + html(text[end:])

    @property
    def met(self) -> Mapping[str, str]:
        """The terms that the page used so far, with their explanations, in alphabetical order."""
        return {name: TERMS[name] for name in sorted(self._met, key=str.lower)}

    def _marked(self, match: re.Match[str]) -> Markup:
        if match["term"] is None:
            short = len(match[0]) <= _LONGEST_WORD
            return Markup('<span class="word">{}</span>').format(match[0]) if short else html(match[0])
        name = _BY_NAME[match["term"].lower()]
        if name in self._met:
            return html(match[0])
        self._met.add(name)
        return Markup('<abbr title="{}">{}</abbr>').format(TERMS[name], match[0])
