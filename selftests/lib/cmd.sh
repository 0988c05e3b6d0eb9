# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# For tests of the command that need neither root nor a network: prints results as KTAP; the folder $tmp is
# removed when the process ends.
#
#   check "the command prints its version" is "$("$BULKHEAD" --version)" "bulkhead 0.1.0"
#   check_end                   the last line of a test

set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BULKHEAD=${BULKHEAD:-$top/build/bulkhead}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
check_number=0
check_failed=0

check_result() { # STATUS NAME FILE...: 0 is a success; else the files' last lines are shown
	check_number=$((check_number + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $check_number - $2"
		return
	fi
	check_failed=$((check_failed + 1))
	echo "not ok $check_number - $2"
	tail -n 20 "${@:3}" | sed 's/^/# /'
}

# Runs a command and reports whether it succeeded; shows the command's output if it failed.
check() { # NAME COMMAND...
	"${@:2}" >"$tmp/said" 2>&1
	check_result $? "$1" "$tmp/said"
}

# Runs bulkhead with its output in $tmp/out and $tmp/err, for at most ten minutes: beside other work, seconds become minutes.
run_bulkhead() { # ARGUMENT...
	timeout 600 "$BULKHEAD" "$@" >"$tmp/out" 2>"$tmp/err"
}

# Reports the result of the last run_bulkhead.
check_run() { # STATUS NAME
	check_result "$1" "$2" "$tmp/out" "$tmp/err"
}

check_skip() { # NAME WHY
	check_number=$((check_number + 1))
	echo "ok $check_number - $1 # SKIP $2"
}

check_end() {
	echo "1..$check_number"
	[ $check_failed -eq 0 ]
	exit
}

is() { # ACTUAL EXPECTED
	[ "$1" = "$2" ] || { printf 'got: %s\nnot: %s\n' "$1" "$2" && false; }
}
