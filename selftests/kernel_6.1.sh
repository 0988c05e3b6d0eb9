#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The tests that need a kernel, on Debian 12's 6.1 in an emulated machine: what depends on the kernel most, which is each
# program's load, all rows of packets and events, random packets, redirection, sequences through the node's translation,
# SCTP among them, and TC filters in place of TCX (net_policy). With BULKHEAD_FULL=1 (check-kernel, check-full): every packet
# and namespace test, in two machines. This test reports their subtests, each with its test's name before it.
# BULKHEAD_SMALL=1 tells the tests that the machine is about twenty times slower: fewer packets, the same cases. Each
# packet program costs the emulated processor 7 s and more: the kernel verifies the programs. So packet_rows is one
# program of many tests.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
export BULKHEAD=${BULKHEAD:-$top/build/bulkhead} BULKHEAD_SMALL=1 FLIPS=10 KILLS=4
export BULKHEAD_SEED=${BULKHEAD_SEED:-1}
build=$(dirname "$BULKHEAD")

skip() {
	echo "1..0 # SKIP $1"
	exit 4
}

[ "$(id -u)" -eq 0 ] || skip "needs root"
command -v qemu-system-x86_64 >/dev/null || skip "needs qemu-system-x86"
"$top/tools/vm-kernel" "$build/vm" || skip "no kernel to run"

# Caches, races and time are maps and programs, alike on every kernel.
alike=(packet_busy packet_denial packet_floods packet_flow_cache packet_races packet_verdict_cache)
mapfile -t tests < <(cd "$top/selftests" && printf '%s\n' diff_{packets,translation}.c packet_*.c |
	sed 's/\.c$//' | grep -vxF "$(printf '%s\n' "${alike[@]}")" | sed "s|^|$build/selftests/|")
alike=("${alike[@]/#/$build/selftests/}")
long=("$top"/selftests/net_{audit,bridge_port,cni,crash,crash_endpoint,errors,grow,readers,reset}.sh
	"$top"/selftests/net_{unlisted,upgrade}.sh)
mapfile -t others < <(printf '%s\n' "$top"/selftests/net_*.sh |
	grep -vxF "$(printf '%s\n' "${long[@]}")")
machines=1
if [ -n "${KERNEL_TESTS:-}" ]; then
	# KERNEL_TESTS="selftests/net_pmtu.sh ..." runs only these.
	read -ra tests <<<"$KERNEL_TESTS"
	tests=("${tests[@]/#/$top/}")
elif [ -n "${BULKHEAD_FULL:-}" ]; then
	# Two machines take the tests in turn, the longest first, so that both end at about the same time.
	machines=2
	mapfile -t -O ${#tests[@]} tests < <(printf '%s\n' \
		"${alike[@]}" "${long[@]}" "${others[@]}")
else
	tests+=("$top/selftests/net_policy.sh")
fi

# Compiles net_upgrade's other builds here, not in the slow machine.
export BUILDS=$top/build/builds
if [[ ${tests[*]} == */net_upgrade.sh* ]]; then
	"$top/selftests/lib/builds.sh" "$BUILDS" || exit
fi

# Runs every MACHINESth test in a machine with one processor. The kernel does not load these modules by itself.
machine() { # DIR FIRST
	local some=() i
	for ((i = $2; i < ${#tests[@]}; i += machines)); do
		some+=("${tests[$i]}")
	done
	[ ${#some[@]} -eq 0 ] ||
		JOBS=1 VM_SECONDS=$((${TEST_SECONDS:-5400} - 900)) CLUSTERS=3 "$top/tools/vm" "$1" \
			sh -c 'modprobe -a tun br_netfilter nf_conntrack && exec "$@"' sh "$top/selftests/run" "${some[@]}" 2>&1
}
both() {
	mkdir -p "$build/vm/second" && ln -sfn ../kernel "$build/vm/second/kernel"
	[ $machines -eq 1 ] || machine "$build/vm/second" 1 >"$build/vm/second/said" &
	machine "$build/vm" 0
	wait
	[ $machines -eq 1 ] || cat "$build/vm/second/said"
}

# A test's subtests are reported; its own result only if no subtest has failed or was skipped.
both | awk -v tests="${tests[*]##*/}" -f "$top/selftests/lib/machine_rows.awk"
