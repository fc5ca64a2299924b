# SPDX-License-Identifier: Apache-2.0
"""`python -m natxy`."""

from natxy.cli import main

if __name__ == "__main__":
    main()
