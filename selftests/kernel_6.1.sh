#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The tests that need a kernel, on Debian 12's own, 6.1, in an emulated machine: packets and network
# namespaces. Their results, with the test's name before each, are this test's. BULKHEAD_SMALL=1
# tells them that the machine is some twenty times slower: fewer packets, the same cases.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
export BULKHEAD=${BULKHEAD:-$top/build/bulkhead} BULKHEAD_SMALL=1 FLIPS=10 KILLS=4
build=$(dirname "$BULKHEAD")

skip() {
	echo "1..0 # SKIP $1"
	exit 4
}

[ "$(id -u)" -eq 0 ] || skip "needs root"
command -v qemu-system-x86_64 >/dev/null || skip "needs qemu-system-x86"
"$top/tools/vm-kernel" "$build/vm" || skip "no kernel to run"

# Those in which the kernel has a part that differs: attaching, live connections, endpoints that come and
# go, flips, what bridges and the host's translation show, XDP beside another's program. Each takes half
# a minute or more there. KERNEL_TESTS="selftests/net_pmtu.sh ..." runs others.
names=(selftests/net_{adopt,audit,bridge,endpoint,endpoint_owner,events,flip,load,nodeport,policy,stage,xdp_beside}.sh)
[ -z "${KERNEL_TESTS:-}" ] || read -ra names <<<"$KERNEL_TESTS"
tests=("$build/selftests/diff_packets")
for source in "$top"/selftests/packet_*.c; do
	tests+=("$build/selftests/$(basename "$source" .c)")
done
for name in "${names[@]}"; do
	tests+=("$top/$name")
done

# A test counts by its subtests' results; its own line only where none of them says as much.
VM_SECONDS=3000 CLUSTERS=3 "$top/tools/vm" "$build/vm" "$top/selftests/run" "${tests[@]}" | awk '
	function result(how, name) { print how " " ++number " - " name; fflush() }

	/^# Subtest: / { test = $3; bad = skipped = 0; why = ""; next }
	/^    +(not )?ok [0-9]+/ {
		how = $1 == "ok" ? "ok" : "not ok"
		bad += how != "ok"
		skipped += / # SKIP/
		sub(/^ +(not )?ok [0-9]+( - )?/, "")
		result(how, test ": " $0)
		next
	}
	/^    1\.\.0 # SKIP / { why = substr($0, 17); next }
	/^not ok / && !bad { sub(/^not ok [0-9]+ - /, ""); result("not ok", $0) }
	/^ok .*# SKIP/ && !skipped { result("ok", test " # SKIP " why) }
	/^[0-9]+ passed, / { ended = 1 }
	/^    / { print "# " substr($0, 5) }
	/^not ok / { failed = 1 }
	END {
		if (!ended)
			result("not ok", "the machine ran every test")
		exit !ended || failed
	}'
