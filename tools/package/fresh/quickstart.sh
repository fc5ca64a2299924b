#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Measures the quickstart once by the program `$1`, into /tmp/run. The NAT has to have a result, whatever else a busy
# machine keeps from having one, and nothing may be left in the namespaces that it runs in.
set -euo pipefail

"$1" run /tmp/fresh/quickstart.yaml --repeat 1 --output /tmp/run || [ $? = 3 ]
[ -s /tmp/run/report.html ]
"$1" report /tmp/run --format csv | grep '^nat-rate,.*,done,'
/tmp/fresh/left.sh
