#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the quickstart once by the program `$1`, into /tmp/run. Nothing may be left in the namespaces that it runs in.
# A busy machine has no result, which is no fault of the package.
set -euo pipefail

"$1" run /tmp/fresh/quickstart.yaml --repeat 1 --output /tmp/run || [ $? = 3 ]
[ -s /tmp/run/report.html ]
/tmp/fresh/left.sh
