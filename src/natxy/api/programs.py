# SPDX-License-Identifier: Apache-2.0
"""Helps programs beside natxy's own to read, print and explain as natxy does.

What others wrote, such as the names in a file, goes to a terminal by `plain` or `one_line`.
"""

from natxy.installation import installed_again
from natxy.shipped import page, schema_comment
from natxy.system.interrupts import forget
from natxy.untrusted.files import opened_regular
from natxy.untrusted.texts import one_line, plain
from natxy.untrusted.validation import guess

__all__ = ["forget", "guess", "installed_again", "one_line", "opened_regular", "page", "plain", "schema_comment"]
