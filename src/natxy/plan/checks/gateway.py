# SPDX-License-Identifier: Apache-2.0
"""Checks that a gateway runs on the testbed and suits the experiment."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from natxy.plan.checks.subscribers import networks_besides
from natxy.plan.experiment import Experiment
from natxy.plan.gateways.base import GatewayModel
from natxy.plan.gateways.chain import ONCE_A_MACHINE
from natxy.plan.gateways.checking_core import CheckingCoreModel
from natxy.plan.gateways.linux import NftablesConfig
from natxy.plan.gateways.neighbors import NeighborsModel
from natxy.plan.gateways.reference import ReferenceConfig
from natxy.plan.model.addresses import WELL_KNOWN_SPACE
from natxy.plan.model.port_set import PortSetModel
from natxy.plan.model.problems import Location, Problem
from natxy.plan.model.terms import Family, Kernel, MapEnd
from natxy.plan.model.traffic import Directions
from natxy.plan.procedures.reset import ResetConfig
from natxy.plan.testbeds import TestbedConfig


def check_gateway(testbed: TestbedConfig, experiment: Experiment, location: Location) -> Iterator[Problem]:
    gateway = experiment.gateway
    at = (*location, "gateway")
    unfit = f"the gateway {gateway.driver!r} doesn't run on the testbed {testbed.kind!r}"
    if len(gateway.hops) > testbed.most_hops:
        room = "one gateway" if testbed.most_hops == 1 else f"{testbed.most_hops} gateways"
        text = (
            f"{unfit}, which has room for {room}; choose a lab, a virtual machine with `addresses: set`, or hardware "
        )
        text += "with as many DUTs"
        yield Problem(at, text)
    elif len(gateway.hops) < testbed.fewest_hops:
        text = f"the testbed has {testbed.fewest_hops} DUTs in a row; give a chain with a gateway for each"
        yield Problem(at, text)
    if gateway.in_virtual_time != testbed.in_virtual_time:
        yield Problem(at, f"{unfit}; simulated gateways and the simulated testbed go together")
    if gateway.is_gateway != testbed.has_gateway:
        yield Problem(at, f"{unfit}; a loop has no gateway, which is `gateway: wire`")
    if gateway.polls:
        if testbed.has_ports and (testbed.dut_location or testbed.gateway_has_machine):
            polling = next(hop for hop in gateway.hops if hop.polls)
            text = f"{polling.driver} runs beside the tester: choose `testbed: {{kind: memif}}`, or a lab"
            yield Problem(at, text)
    elif only := testbed.only_driver:
        yield Problem(at, f"{unfit}, only {only!r} does")
    if gateway.on_other_machine and not testbed.gateway_has_machine:
        text = f"{gateway.driver} is a machine of its own; give `testbed: {{kind: hardware}}` with its `dut.ssh`, or "
        text += "`testbed: {kind: vm}` with its `image`"
        yield Problem(at, text)
    if (dut := testbed.dut_location) and dut.one_armed and gateway.tells_sides_by_interface:
        yield Problem(at, f"{gateway.title} without NAT tells the sides apart by their interfaces; give the DUT two")
    if gateway.keeps_connections is False and experiment.procedure.stateful:
        text = f"{gateway.title} keeps no connections, which {experiment.procedure.name} needs; choose a stateful one"
        yield Problem(at, text)
    elif gateway.keeps_connections is False and experiment.connections is not None:
        text = f"{gateway.title} keeps no connections; remove it, or choose a stateful gateway"
        yield Problem((*location, "connections"), text)
    if gateway.keeps_connections and not experiment.makes_connections:
        if "connections" in experiment.procedure.takes:
            text = f"missing; through the stateful {gateway.title} only established connections have replies: give "
            yield Problem((*location, "connections"), text + "the connections of phase 1, e.g. 50k")
        else:
            text = f"{experiment.procedure.name} has no connections, and through the stateful {gateway.title} only "
            yield Problem(at, f"{text}established connections have replies; choose gateways that keep none")
    reset = experiment.procedure
    if isinstance(reset, ResetConfig) and reset.gateway_number and reset.gateway_number > len(gateway.hops):
        text = f"there is no gateway {reset.gateway_number} in {gateway.title}; give a number up to {len(gateway.hops)}"
        yield Problem((*location, "procedure", "gateway_number"), text)
    yield from _check_translated_both_ways(experiment, at)
    yield from _check_only_port(experiment, location)
    yield from _check_port_sets(experiment, at)
    if isinstance(gateway, ReferenceConfig) and gateway.softwire:
        text = "this gateway is no end of softwires; give a chain such as [tester, {driver: reference, softwire: {}}]"
        yield Problem((*at, "softwire"), text)
    if isinstance(gateway, ReferenceConfig) and gateway.map_t:
        text = "this gateway is no end of MAP-T; give a chain such as [tester, {driver: reference, map_t: {}}]"
        yield Problem((*at, "map_t"), text)
    yield from _check_map_domains(experiment, location)
    for place, hop in gateway.located_hops:
        if hop.lab_kernel == Kernel.USER_MODE and not testbed.runs_guests:
            text = f"user-mode Linux runs in a lab, not on the testbed {testbed.kind!r}; remove it"
            yield Problem((*at, *place, "kernel"), text)
    if len(gateway.boxes) > 1:
        yield from _check_chain(testbed, experiment, location)


def _check_port_sets(experiment: Experiment, at: Location) -> Iterator[Problem]:
    """Refuses port sets of anything but one IPv4 address."""
    if experiment.kinds is None:
        # A chain that leads nowhere has an error of its own.
        return
    # Boxes that the tester plays have links, too.
    boxes, rights = experiment.gateway.boxes, experiment.forms_of_links[1:]
    for number, (box, form) in enumerate(zip(boxes, rights, strict=True)):
        hop_at = ("gateways", number) if len(boxes) > 1 else ()
        if not isinstance(box, NftablesConfig | ReferenceConfig) or box.port_set is None:
            continue
        if form.family == Family.IPV6 and not (form.in_softwire or form.mapped):
            text = "a port set is that of an IPv4 address; remove it, or measure IPv4"
        elif (pool := experiment.addresses.pool) and pool.num_addresses > 1:
            text = f"a port set is that of one address, and the pool {pool} has more; remove one of the two"
        else:
            continue
        yield Problem((*at, *hop_at, "port_set"), text)
    yield from _check_port_sets_of_cores(experiment, at)


def _check_port_sets_of_cores(experiment: Experiment, at: Location) -> Iterator[Problem]:
    """Refuses a core's port set that is not that of the gateway which gives the ports."""
    given: PortSetModel | None = None
    for hop_at, hop in experiment.gateway.located_hops:
        if isinstance(hop, NftablesConfig):
            given = hop.port_set
        if not isinstance(hop, CheckingCoreModel) or hop.port_set is None:
            continue
        if experiment.subscribers:
            text = "`subscribers` says which ports each has; remove one of the two"
        elif given is None:
            text = "no gateway on the left of the core has a port set; give nftables the same one, or remove it"
        elif hop.port_set != given:
            text = f"is {_written(hop.port_set)}, and that of nftables is {_written(given)}; give both the same"
        else:
            continue
        yield Problem((*at, *hop_at, "port_set"), text)


def _written(port_set: PortSetModel) -> str:
    return f"psid {port_set.psid} of {port_set.psid_length} bits with an offset of {port_set.offset}"


def _check_map_domains(experiment: Experiment, at: Location) -> Iterator[Problem]:
    """Refuses default mapping rules that MAP-T cannot have, and edges with more hosts than one subscriber has."""
    gateway, kinds = experiment.gateway, experiment.kinds or ()
    if MapEnd.EDGE not in kinds:
        return
    given = [(hop_at, hop.mapping_prefix, hop) for hop_at, hop in gateway.located_hops if hop.mapping_prefix]
    for hop_at, prefix, hop in given:
        here = (*at, "gateway", *hop_at, "dmr")
        if prefix != given[0][1]:
            yield Problem(here, f"both ends of MAP-T have one default mapping rule, and the other's is {given[0][1]}")
        elif prefix.subnet_of(WELL_KNOWN_SPACE) and not hop.takes_well_known_prefix:
            text = f"{hop.driver} refuses {prefix} with addresses that are not global (RFC 6052 §3.1); give another, "
            yield Problem(here, f"{text}e.g. 2001:2:0:64::/64")
        elif taken := next((each for each in networks_besides(experiment) if each.overlaps(prefix)), None):
            yield Problem(here, f"{prefix} overlaps {taken}, which a link or natxy's own end has; give another")
    edge = kinds.index(MapEnd.EDGE)
    hidden = any(box.hides_left for box in gateway.boxes[: edge + 1])
    pool = experiment.addresses.pool
    if gateway.boxes[edge].hides_left and pool and pool.num_addresses > 1:
        text = f"an edge of MAP-T is that of one subscriber with one address, and {pool} has {pool.num_addresses:,}; "
        yield Problem((*at, "addresses", "pool"), f"{text}give one, or leave it out")
    hosts = experiment.addresses.left_hosts
    if hosts.size > 1 and not hidden and experiment.subscribers is None:
        remedy = "`subscribers`" if gateway.boxes[edge].is_played else "a NAT before it, e.g. nftables"
        text = f"an edge of MAP-T is that of one subscriber with one address, and these are {hosts.size:,}; give one, "
        yield Problem((*at, "addresses", "left_hosts"), f"{text}or {remedy}")


def _on_own_kernel(gateway: GatewayModel) -> GatewayModel | None:
    """Returns a gateway of a chain that cannot run in user-mode Linux, or is not to."""
    return next((hop for hop in gateway.hops if hop.lab_kernel == Kernel.OWN), None)


def _check_chain(testbed: TestbedConfig, experiment: Experiment, location: Location) -> Iterator[Problem]:
    """Refuses what only a single gateway has, and addresses that the links between the gateways need."""
    gateway = experiment.gateway
    for at, hop in gateway.located_hops:
        if hop.lab_kernel == Kernel.USER_MODE and (other := _on_own_kernel(gateway)):
            text = f"the gateways of a chain share a kernel, and {other.driver} runs on the machine's own; remove it"
            yield Problem((*location, "gateway", *at, "kernel"), text)
        if isinstance(hop, NeighborsModel) and hop.neighbors:
            text = "a gateway beside another one has no port of the tester on that link; remove it"
            yield Problem((*location, "gateway", *at, "neighbors"), text)
        if hop.steers_own_cores and experiment.cores is not None:
            yield Problem((*location, "cores"), f"{hop.driver} assigns its cores itself; remove it, or that gateway")
    for field in ONCE_A_MACHINE if testbed.gateways_share_machine else ():
        given = {value for _, hop in gateway.located_hops if (value := getattr(hop, field, None)) is not None}
        if len(given) > 1:
            text = f"{field} exists once for the whole machine; give it to one of the gateways alone"
            yield Problem((*location, "gateway"), text)
    if experiment.background:
        yield Problem((*location, "background"), "native traffic crosses a single gateway; remove one of the two")
    reset = experiment.procedure
    if isinstance(reset, ResetConfig):
        yield from _check_reset(reset, (*location, "procedure"), shared=testbed.gateways_share_machine)
    left, right = experiment.families
    if experiment.kinds is None:
        # Otherwise `translation` has an error of its own.
        if (experiment.translation and experiment.translation.kind) in gateway.translations:
            text = f"{gateway.title} does not lead from {left} to {right}; choose another family, or other gateways"
            yield Problem((*location, "gateway"), text)
        return
    sides = (experiment.addresses.left_hosts.first, experiment.addresses.right_hosts.first)
    if [host.version for host in sides] != [4 if family == Family.IPV4 else 6 for family in (left, right)]:
        # The addresses have an error of their own.
        return
    yield from _check_links(experiment, (*location, "addresses"))


def _check_reset(reset: ResetConfig, at: Location, *, shared: bool) -> Iterator[Problem]:
    """Refuses resets that a gateway beside others cannot have; `shared`: they are on one machine."""
    if shared and reset.kind.may_boot:
        text = f"the gateways share a machine, and a reset of kind {reset.kind} would end all of them; choose `process`"
        yield Problem((*at, "kind"), text)
    if reset.command and reset.gateway_number is None:
        yield Problem((*at, "gateway_number"), "missing; give the number of the gateway that the `command` resets")


def _check_links(experiment: Experiment, at: Location) -> Iterator[Problem]:
    """Refuses addresses that the links between the gateways have, and mappings that have hosts of both sides."""
    path = experiment.path
    own = [*path.ends.networks]
    translations = [hop.addresses.translation for hop in path.hops if hop.addresses.translation]
    for each in translations:
        own += [each.prefix, *(mapping.ipv6 for mapping in each.mappings)]
    for network in (hop.addresses.left.dut.network for hop in path.hops[1:]):
        if taken := next((each for each in own if each.overlaps(network)), None):
            text = f"{taken} overlaps {network}, which the link between two gateways has; choose other addresses"
            yield Problem(at, text)
    right = experiment.addresses.right_hosts.first
    if mapped := next((each for own in translations for each in own.mappings if right in each.ipv4), None):
        text = f"{mapped.ipv4} has the left hosts, and {right} on the right is in it, too; give hosts that are closer "
        yield Problem((*at, "left_hosts"), text + "together")


def check_systems(experiments: Sequence[tuple[Location, Experiment]]) -> Iterator[Problem]:
    """Yields the first gateway that belongs to another operating system than one before it: the testbed has one DUT."""
    bound = [(location, each, hop) for location, each in experiments for hop in each.gateway.hops if hop.system]
    for location, _, hop in bound[1:]:
        _, named, first = bound[0]
        if hop.system != first.system:
            yield Problem(
                (*location, "gateway"),
                f"{hop.driver} belongs to {hop.system}, but {first.driver} of {named.name!r} to {first.system}, and "
                "the testbed has one DUT; write a plan for each system, with the same names of experiments, and "
                "compare their runs by `natxy compare`",
            )
            return


def _check_translated_both_ways(experiment: Experiment, at: Location) -> Iterator[Problem]:
    """Refuses frames to the left hosts' own addresses, which a gateway that hides them would forward untranslated."""
    gateway = experiment.gateway
    only_replies = experiment.makes_connections or experiment.directions == Directions.FORWARD
    if (
        gateway.hides_left
        and gateway.keeps_connections is False
        and experiment.translation is None
        and not only_replies
    ):
        text = (
            f"{gateway.title} hides the left hosts, and frames that the right side sends to their own addresses would "
            "count although nothing translates them; give the gateway `stateful: true` and `clear`, and the experiment "
            "`connections`, to which the right side replies, or measure only `directions: forward`"
        )
        yield Problem(at, text)


def _check_only_port(experiment: Experiment, location: Location) -> Iterator[Problem]:
    if experiment.translation is None:
        return
    kind, ports = experiment.translation.kind, experiment.ports.destination
    for gateway in experiment.gateway.hops:
        port = gateway.only_port(kind)
        if port is not None and not ports.min == ports.max == port:
            text = f"in a {kind}, {gateway.driver} translates one destination port, {port}; "
            yield Problem((*location, "ports", "destination"), text + f"set it to {port}")
