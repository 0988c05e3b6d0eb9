#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The tests that need a kernel, on Debian 12's own, 6.1, in emulated machines: packets and network
# namespaces. Their results, with the test's name before each, are this test's. BULKHEAD_SMALL=1
# tells them that a machine is some twenty times slower: fewer packets, the same cases.
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

tests=("$build/selftests/diff_packets")
for source in "$top"/selftests/packet_*.c; do
	tests+=("$build/selftests/$(basename "$source" .c)")
done
# The two machines take turns: those that take longest come first, for both to end at about the same time.
mapfile -t -O ${#tests[@]} tests < <(printf '%s\n' \
	"$top"/selftests/net_{upgrade,errors,crash_endpoint,crash,grow,needed,tunnel,audit}.sh \
	"$top"/selftests/net_*.sh | awk '!seen[$0]++')
# KERNEL_TESTS="selftests/net_pmtu.sh ..." runs these and no others.
if [ -n "${KERNEL_TESTS:-}" ]; then
	read -ra tests <<<"$KERNEL_TESTS"
	tests=("${tests[@]/#/$top/}")
fi

# What net_upgrade compares with is compiled here.
export BUILDS=$build/vm/builds
if [[ ${tests[*]} == */net_upgrade.sh* ]]; then
	"$top/selftests/lib/builds.sh" "$BUILDS" || exit
fi

# Two machines, each with every other test: one has one processor.
machine() { # DIR FIRST
	local some=() i
	for ((i = $2; i < ${#tests[@]}; i += 2)); do
		some+=("${tests[$i]}")
	done
	[ ${#some[@]} -eq 0 ] ||
		VM_SECONDS=4500 CLUSTERS=3 "$top/tools/vm" "$1" "$top/selftests/run" "${some[@]}"
}
mkdir -p "$build/vm/second" && ln -sfn ../kernel "$build/vm/second/kernel"
both() {
	machine "$build/vm/second" 1 >"$build/vm/second/said" 2>&1 &
	machine "$build/vm" 0
	wait
	cat "$build/vm/second/said"
}

# A test counts by its subtests' results; its own line only where none of them says as much.
both | awk -v machines=$((${#tests[@]} > 1 ? 2 : 1)) '
	function result(how, name) {
		failed = failed || how != "ok"
		print how " " ++number " - " name
		fflush()
	}

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
	/^[0-9]+ passed, / { ended++ }
	/^    / { print "# " substr($0, 5) }
	END {
		if (ended != machines)
			result("not ok", "the machines ran every test")
		exit failed
	}'
