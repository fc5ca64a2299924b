# SPDX-License-Identifier: Apache-2.0
"""Writes the plan that measures what siitperf measures with a configuration.

natxy's defaults are left out. What a plan cannot express is an error, or a sentence at the head of the plan.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from natxy.api import PlanError
from natxy.api.plans import gateway_of, problems_of
from natxy_siitperf.conf import ConfError
from natxy_siitperf.importing.addresses import address_fields, are_public, is_ipv6
from natxy_siitperf.importing.background import background_fields
from natxy_siitperf.importing.gaps import check_expressible, differences
from natxy_siitperf.importing.gateway import choose, gateway_field
from natxy_siitperf.importing.rates import procedure_field, rate_fields, timing_fields
from natxy_siitperf.importing.source import OF_CONNECTIONS, Source
from natxy_siitperf.importing.testbed import FILL_IN, filled_in, testbed_fields
from natxy_siitperf.importing.text import Field, plan_text
from natxy_siitperf.importing.tolerance import tolerance_fields
from natxy_siitperf.importing.traffic import frame_fields, port_fields
from natxy_siitperf.importing.unused import unused
from natxy_siitperf.program import PROCEDURES
from natxy_siitperf.rules import check
from natxy_siitperf.sides import Letter, active

_GUESSED: Final = {
    False: "`gateway` and each `dut` are guesses, and the testbed is a lab. Correct them.",
    True: f"`gateway` and each `dut` of `addresses` are guesses. Correct them, and replace each {FILL_IN}.",
}
"""States what is not from siitperf.conf, in a lab and on hardware."""


def import_plan(source: Source) -> str:
    """Returns the plan as YAML. Raises ConfError or PlanError if a plan cannot express the configuration."""
    if source.procedure == "pdv" and source.arguments and source.arguments.frame_timeout_ms:
        source = replace(source, procedure="throughput")
        source.differences.append(
            "frame_timeout is not 0: siitperf-pdv then counts the frames in time, and measures a throughput."
        )
    _check(source)
    chosen = choose(source)
    experiment = [
        Field("name", source.procedure),
        gateway_field(source, chosen),
        procedure_field(source),
        *address_fields(source, chosen.pool),
        *frame_fields(source),
        *port_fields(source),
        *background_fields(source),
        *rate_fields(source),
        *tolerance_fields(source, gateway_of(chosen.settings)),
    ]
    fields = _plan_fields(source)
    # The other parts have said by now what differs.
    return plan_text(_opening(source), fields, experiment)


def check_plan(source: Source, text: str) -> None:
    """Raises PlanError if `natxy check` would refuse the plan, were it filled in: mostly for the gateway asked for."""
    problems = problems_of(filled_in(text))
    if not problems:
        return
    lines = [*map(str, problems)]
    with_gateway = ""
    if source.gateway:
        with_gateway = f" with --gateway {source.gateway}"
        lines.append(
            f"Stateful is {source.conf.number('Stateful')}, and a plan has connections if it is 1 or 2. Name another "
            "gateway, or import without --gateway and write what yours needs into that plan."
        )
    raise PlanError("\n".join([f"{source.conf.path}{with_gateway} makes a plan that has errors:", *lines]))


def _check(source: Source) -> None:
    conf, procedure, arguments = source.conf, source.procedure, source.arguments
    if procedure not in PROCEDURES:
        raise PlanError(f"siitperf has no procedure {procedure!r}; expected one of {', '.join(PROCEDURES)}")
    for line, text, harmless in conf.remarks:
        if not harmless:
            raise ConfError(f"{conf.path}, line {line}: {text}")
    if procedure in OF_CONNECTIONS and not source.stateful:
        raise conf.wrong("Stateful", f"{procedure} makes connections; expected 1 or 2")
    check(conf, background=arguments is not None and arguments.m < arguments.n)
    if source.phase2 and not active(conf):
        raise conf.wrong("Forward", f"{procedure} needs a direction, and Forward and Reverse are 0; set one to 1")
    check_expressible(source)


def _plan_fields(source: Source) -> list[Field]:
    fields = [Field("name", "from-siitperf")]
    if is_ipv6(source):
        fields.append(Field("family", "ipv6", source.of("IP-L-Vers", "IP-R-Vers")))
    fields += [*testbed_fields(source), *timing_fields(source)]
    if are_public(source):
        text = "addresses outside the benchmark and private ranges (RFC 6815)"
        fields.append(Field("allow_public_destinations", "true", text))
    return fields


def _opening(source: Source) -> list[str]:
    """Returns the paragraphs at the head of the plan."""
    said = [f"siitperf.conf names neither the gateway nor its addresses: {_GUESSED[source.hardware]}"]
    if source.arguments is None:
        said.append(
            "Rates, times and sizes are arguments of siitperf's programs; import with --arguments to have them."
        )
    if source.left is Letter.RIGHT:
        in_lab = "" if source.hardware else "; for siitperf's programs, `natxy lab up --initiator right`"
        said.append(f"A plan's initiator is on the left: with Stateful 2, siitperf's right is the plan's left{in_lab}.")
    said += [*dict.fromkeys(source.differences), *differences(source)]
    if keys := unused(source):
        said.append(f"No frame of the plan uses {source.of(*keys)}; it would be the same without.")
    said += [f"Line {remark.line}: {remark.text}." for remark in source.conf.remarks]
    program = source.arguments.program if source.arguments else PROCEDURES[source.procedure]
    head = f"Imported from {source.conf.path.rsplit('/', 1)[-1]} for {program}. Comments name the "
    head += "keys and arguments that lines are from; what natxy does by default is left out. Differences from siitperf:"
    return [head, *(f"- {sentence}" for sentence in said)]
