# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import ValidationError

from natxy.plan.model.homes import HomesPlan
from natxy.plan.model.table_subscribers import PLAN_FOLDER, TableSubscribers, TableSubscribersPlan

SHARED: Final = "".join(f"198.18.128.{a},{p},fd00:2:7::{a:x}{p:x}\n" for a in (2, 1) for p in (1, 0))
CSV: Final = f"ipv4,psid,b4\n{SHARED}"
SNABB: Final = (
    "softwire { ipv4 198.18.128.1; psid 0; b4-ipv6 fd00:2:7::1; br-address fd00:2:5::1;\n"
    " port-set { psid-length 0; reserved-ports-bit-count 0; } }\n"
)


def subscribers(**own: Any) -> TableSubscribers:
    return TableSubscribers.of(TableSubscribersPlan.model_validate(own))


def test_a_file_is_seen_from_the_plans_folder(tmp_path: Path) -> None:
    (tmp_path / "street.csv").write_text(CSV)
    plan = TableSubscribersPlan.model_validate({"table": "street.csv"}, context={PLAN_FOLDER: tmp_path})
    assert plan == TableSubscribersPlan.model_validate({"table": CSV})
    assert plan == TableSubscribersPlan.model_validate({"table": str(tmp_path / "street.csv")})
    with pytest.raises(ValidationError, match=r"street\.csv cannot be read: No such file"):
        TableSubscribersPlan.model_validate({"table": "street.csv"})


def test_a_table_without_lengths_has_those_of_its_psids() -> None:
    own = subscribers(table=CSV)
    assert (own.psid_length, own.offset, own.core, own.count, own.share_addresses) == (1, 6, None, 4, True)
    assert (str(own.ipv4), str(own.ipv6), own.port_limits) == ("198.18.128.0/30", "fd00:2:7::/122", (1024, 65535))
    assert str(own.addresses) == "198.18.128.1 to 198.18.128.2"
    assert str(own.bindings.subscriber(2).address) == "fd00:2:7::20"


def test_what_a_table_says_need_not_be_said_again() -> None:
    own = subscribers(table=SNABB)
    assert (own.psid_length, own.offset, str(own.core), own.count) == (0, 0, "fd00:2:5::1", 1)
    assert own == subscribers(table=SNABB, core="fd00:2:5::1", offset=0)
    # A resolved plan has the lines, and what else the table said beside them.
    again = own.model_dump(mode="json")
    assert again == {
        "table": "ipv4,psid,b4\n198.18.128.1,0,fd00:2:7::1\n", "psid_length": 0, "offset": 0, "core": "fd00:2:5::1",
    }  # fmt: skip
    assert TableSubscribers.model_validate(again) == own


def test_addresses_with_gaps_are_listed() -> None:
    own = subscribers(table="ipv4,psid,b4\n198.18.128.9,0,fd00::1\n198.18.128.1,,fd00::2\n")
    assert [str(each) for each in own.addresses.ranges] == ["198.18.128.1", "198.18.128.9"]
    assert not own.share_addresses


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ({"table": SNABB, "psid_length": 4}, "`psid_length` is 4, and the table has 0; remove one of the two"),
        ({"table": SNABB, "offset": 6}, "`offset` is 6, and the table has 0"),
        ({"table": SNABB, "core": "fd00::"}, "`core` is fd00::, and the table has fd00:2:5::1"),
        ({"table": CSV, "psid_length": 0}, "`psid_length` is 0, and the table has a PSID of 1"),
        ({"table": CSV, "psid_length": 1, "offset": 16}, "at most 16 bits together, got 16 and 1"),
        ({"table": CSV, "psid_length": 2}, "each address has 2 of 4 PSIDs of 2 bits"),
        ({"table": 7}, "expected the path of a table of softwires, got 7"),
        ({"table": "ipv4,psid,b4\nx,0,fd00::1\n"}, "line 2: ipv4: expected an IPv4 address, got 'x'"),
    ],
)
def test_what_contradicts_the_table_is_refused(own: dict[str, Any], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        subscribers(**own)


def test_homes_have_one_address() -> None:
    homes = HomesPlan.model_validate({"inner": "192.168.1.2", "count": "1k"})
    assert (homes.count, homes.addresses.size, str(homes.ipv4)) == (1000, 1000, "192.168.1.2/32")


@pytest.mark.parametrize(
    ("own", "told"),
    [
        ({"inner": "8.8.8.8"}, "expected a private address such as 192.168.1.2, which homes have, got 8.8.8.8"),
        ({"inner": "224.0.0.1"}, "expected a private address"),
        ({"inner": "fd00::1"}, "IPv4 address"),
        (
            {"inner": "192.168.1.2", "count": 65_537},
            "65,537 homes need 17 bits behind fd00:2:6::/48.*such as one of 47",
        ),
        ({"inner": "192.168.1.2", "count": 0}, "at least 1"),
        ({"inner": "192.168.1.2", "count": "9M"}, "less than or equal to 8388608"),
    ],
)
def test_homes_that_cannot_be_are_refused(own: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        HomesPlan.model_validate(own)
