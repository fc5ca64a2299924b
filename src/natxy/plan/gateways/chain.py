# SPDX-License-Identifier: Apache-2.0
"""Settings of several gateways, one behind the other, such as the two of 464XLAT (RFC 6877)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate, product
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import AfterValidator, Field

from natxy.addressing.port_sets import PortSet
from natxy.plan.gateways.base import GatewayModel
from natxy.plan.model.base import Shorthand
from natxy.plan.model.problems import Location
from natxy.plan.model.terms import Family, MapEnd, SoftwireEnd, TranslationKind

if TYPE_CHECKING:
    # The union of all other gateways, which `natxy.plan.gateways` makes.
    HopConfig = GatewayModel

MOST_HOPS: Final = 4
ONCE_A_MACHINE: Final = ("conntrack_max", "hash_size")
"""Settings that exist once for the machine."""

Kind = TranslationKind | SoftwireEnd | MapEnd | None
"""The translation of a gateway, or its end of a softwire or of MAP-T; None if its two links are of one family."""
Kinds = tuple[Kind, ...]
# Where both ends are of one family, what a gateway does another one undoes.
_THERE_AND_BACK: Final[dict[Kind, set[Kind]]] = {
    TranslationKind.CLAT: {TranslationKind.NAT64, TranslationKind.SIIT},
    SoftwireEnd.EDGE: {SoftwireEnd.CORE},
    MapEnd.EDGE: {MapEnd.CORE},
}

_ENTERED: Final[dict[Kind, int]] = {SoftwireEnd.EDGE: 1, SoftwireEnd.CORE: -1, MapEnd.EDGE: 1, MapEnd.CORE: -1}


def _hop(given: GatewayModel) -> GatewayModel:
    """Returns the gateway. ValueError if it cannot stand beside another one."""
    if not given.is_gateway or given.on_other_machine:
        raise ValueError(
            f"{given.driver} cannot be one of several gateways; choose gateways that Linux runs, such as nftables or "
            "tayga"
        )
    return given


def _with_a_gateway_between(given: tuple[GatewayModel, ...]) -> tuple[GatewayModel, ...]:
    """Returns the boxes. ValueError unless the tester plays the first box, the last box or none."""
    if any(each.is_played for each in given[1:-1]):
        raise ValueError("the tester plays the first box or the last one; choose a gateway for those between")
    if given[0].is_played and given[-1].is_played:
        raise ValueError(
            "the tester plays one box, the first or the last; choose a gateway for the other, e.g. softwire"
        )
    real = [each for each in given if not each.is_played]
    if len(real) > 1 and (alone := next((each for each in real if each.polls or each.in_virtual_time), None)):
        raise ValueError(f"{alone.driver} can only stand beside `tester`; choose other gateways")
    return given


class ChainConfig(GatewayModel):
    """Several gateways, one behind the other, each in a place of its own, with a link between two neighbours."""

    driver: Literal["chain"] = "chain"
    gateways: Annotated[
        tuple[Annotated[HopConfig, AfterValidator(_hop), Shorthand("driver", "Hop")], ...],
        Field(min_length=2, max_length=MOST_HOPS),
        AfterValidator(_with_a_gateway_between),
    ]
    """The gateways from left to right, e.g. [tayga, tayga-netfilter]; `tester` for a box that the tester plays."""

    def on_one_machine(self) -> ChainConfig:
        """Returns a copy in which every gateway has the sizes that exist once for the machine, if one sets them."""
        given = self.gateways
        for name in ONCE_A_MACHINE:
            values = {value for each in given if (value := getattr(each, name, None)) is not None}
            if len(values) == 1:
                update = {name: values.pop()}
                given = tuple(each.model_copy(update=update) if hasattr(each, name) else each for each in given)
        return self.model_copy(update={"gateways": given})

    @property
    def boxes(self) -> tuple[GatewayModel, ...]:
        return self.gateways

    @property
    def hops(self) -> tuple[GatewayModel, ...]:
        return tuple(hop for _, hop in self.located_hops)

    @property
    def located_hops(self) -> tuple[tuple[Location, GatewayModel], ...]:
        places = ((("gateways", number), box) for number, box in enumerate(self.gateways))
        return tuple((at, box) for at, box in places if not box.is_played)

    @property
    def title(self) -> str:
        return " → ".join(hop.driver for hop in self.gateways)

    @property
    def hop_titles(self) -> tuple[str, ...]:
        drivers = [hop.driver for hop in self.hops]
        return tuple(
            driver if drivers.count(driver) == 1 else f"{driver} (gateway {number})"
            for number, driver in enumerate(drivers, 1)
        )

    @property
    def in_virtual_time(self) -> bool:
        return any(hop.in_virtual_time for hop in self.hops)

    @property
    def is_probed(self) -> bool:
        return all(hop.is_probed for hop in self.hops)

    @property
    def polls(self) -> bool:
        return any(hop.polls for hop in self.hops)

    @property
    def rests(self) -> bool:
        return all(hop.rests for hop in self.hops)

    @property
    def keeps_connections(self) -> bool | None:
        own = [hop.keeps_connections for hop in self.hops]
        return True if True in own else None if None in own else False

    @property
    def hides_left(self) -> bool:
        return any(hop.hides_left or _is_nat64(hop) for hop in self.gateways)

    @property
    def has_private_left(self) -> bool:
        kinds = self.kinds(Family.IPV4, Family.IPV4) or ()
        return self.hides_left or TranslationKind.NAT64 in kinds

    @property
    def drops_unknown_replies(self) -> bool:
        return any(hop.drops_unknown_replies or _is_nat64(hop) for hop in self.gateways)

    @property
    def is_counted(self) -> bool:
        return all(hop.is_counted for hop in self.hops if hop.keeps_connections is not False)

    @property
    def translations(self) -> frozenset[TranslationKind | None]:
        plain = {None} if any(self.kinds(family, family) for family in Family) else set()
        return frozenset({*plain, *(kind for kind in TranslationKind if self.kinds(*kind.families, kind))})

    def kinds(self, left: Family, right: Family, kind: TranslationKind | None = None) -> Kinds | None:
        """Returns each gateway's translation, or end of a softwire or of MAP-T, between ends of these families; None if
        there is no such way.

        `kind` is the translation from end to end; without it, there is none, or one that is undone further on.
        """
        fitting = self._fitting(left, right, kind)
        return min(fitting, key=lambda kinds: (len(kinds) - kinds.count(None), str(kinds)), default=None)

    def _fitting(self, left: Family, right: Family, kind: TranslationKind | None) -> Iterator[Kinds]:
        # A gateway whose settings take any translation keeps connections or not.
        possible: list[list[Kind]] = [
            [*(own for own in hop.translations if _fits(own, hop.keeps_connections)), *hop.softwire_ends, *hop.map_ends]
            for hop in self.gateways
        ]
        for kinds in product(*possible):
            # Replies to what another gateway hides would come back to no host of the translation's, and the tester's
            # ports are at the ends of one.
            pairs = [*zip(kinds, self.gateways, strict=True)]
            alone = not any(
                hop.hides_left if own is None else hop.is_played and isinstance(own, TranslationKind)
                for own, hop in pairs
            )
            fits = _joined(kinds, left) == right and _is_from_end_to_end(kinds, kind) and (alone or kind is None)
            if fits and not self._hides_between_ends(kinds):
                yield kinds

    def _hides_between_ends(self, kinds: Kinds) -> bool:
        """Returns true if a NAT stands between the ends of a softwire or of MAP-T: it would replace their addresses."""
        between = accumulate(_ENTERED.get(own, 0) for own in kinds)
        return any(
            depth and own is None and hop.hides_left
            for depth, own, hop in zip(between, kinds, self.gateways, strict=True)
        )

    @property
    def tells_sides_by_interface(self) -> bool:
        return any(hop.tells_sides_by_interface for hop in self.gateways)

    @property
    def own_ports(self) -> PortSet | None:
        return next((own for hop in self.hops if (own := hop.own_ports)), None)

    @property
    def no_pool(self) -> str | None:
        last = self.gateways[-1]
        return None if _is_nat64(last) else last.no_pool

    def clearing_s(self, connections: int) -> float:
        return sum(hop.clearing_s(connections) for hop in self.gateways)


def _fits(kind: TranslationKind | None, keeps: bool | None) -> bool:
    """Returns true if a gateway that keeps connections, or not, can have this translation."""
    if kind == TranslationKind.NAT64:
        return keeps is not False
    return keeps is not True if kind and kind.is_stateless else True


def _joined(kinds: Kinds, left: Family) -> Family | None:
    """Returns the family on the right of gateways with these translations; None if one gets the wrong family."""
    family = left
    for kind in kinds:
        if kind and kind.families[0] != family:
            return None
        family = kind.families[1] if kind else family
    return family


def _is_from_end_to_end(kinds: Kinds, kind: TranslationKind | None) -> bool:
    """Returns true if nothing but `kind` is left when each gateway has undone what the one before it did."""
    if sum(isinstance(each, TranslationKind) for each in kinds) > (1 if kind else 2):
        return False
    left: list[Kind] = []
    for each in kinds:
        if each is None:
            continue
        if left and each in _THERE_AND_BACK.get(left[-1], ()):
            left.pop()
        else:
            left.append(each)
    return left == [kind] if kind else not left


def _is_nat64(gateway: GatewayModel) -> bool:
    """Returns true for a gateway that replaces the left side's addresses by translating them alone."""
    return bool(gateway.keeps_connections) and None not in gateway.translations
