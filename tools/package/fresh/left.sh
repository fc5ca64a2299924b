#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Fails if the namespaces that it runs in have network namespaces, interfaces or processes besides its own.
set -euo pipefail

left=$(
	ip netns list
	ip -oneline link | grep -v '^[0-9]*: lo:' || true
	for folder in /proc/[0-9]*; do
		# Of these the first is the whole namespace's, and PPID is the script that asks.
		case ${folder#/proc/} in 1 | $$ | "$PPID" | "$BASHPID") continue ;; esac
		tr '\0' ' ' 2> /dev/null < "$folder/cmdline" || true
	done
)
[ -z "$left" ] || { echo "left behind: $left"; exit 1; } >&2
