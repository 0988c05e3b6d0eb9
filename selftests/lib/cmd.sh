# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# For tests of the command that need neither root nor a network: results as KTAP, and a folder, $tmp,
# that goes away when the process ends.
#
#   check "it prints the version" is "$("$BULKHEAD" --version)" "bulkhead 0.1"
#   check_end                   the last line of a test

set -u
top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BULKHEAD=${BULKHEAD:-$top/build/bulkhead}
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
check_number=0
check_failed=0

# Runs a command and reports whether it succeeded; what the command says is shown if it did not.
check() { # NAME COMMAND...
	local name=$1 how=ok
	shift
	check_number=$((check_number + 1))
	if ! "$@" >"$tmp/said" 2>&1; then
		how="not ok"
		check_failed=$((check_failed + 1))
	fi
	echo "$how $check_number - $name"
	[ "$how" = ok ] || sed 's/^/# /' "$tmp/said" | tail -n 20
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
