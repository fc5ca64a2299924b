# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pytest
from pydantic import ValidationError

from natxy.plan.testbeds.cards import CardSettings


@pytest.mark.parametrize(("written", "word"), [("on", "on"), ("off", "off"), (True, "on"), (False, "off")])
def test_an_offload_is_on_or_off_however_yaml_reads_it(written: object, word: str) -> None:
    assert CardSettings.model_validate({"offloads": {"rx-gro-list": written}}).offloads == {"rx-gro-list": word}


@pytest.mark.parametrize("offloads", [{"rx-gro-list": "auto"}, {"rx-gro-list": 1}, {"RX": "on"}, {"": "on"}])
def test_what_is_no_setting_of_an_offload_is_refused(offloads: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        CardSettings.model_validate({"offloads": offloads})
