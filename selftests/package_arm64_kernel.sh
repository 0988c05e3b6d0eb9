#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The programs on an arm64 processor: Debian 12's 6.1 for arm64, in an emulated machine whose files are those of an arm64
# Debian. Every run: each program's load and JIT, packet tests, and namespace tests. With BULKHEAD_FULL=1: all packet
# tests and more namespace tests. ARM64_TESTS="selftests/net_pmtu.sh ..." runs only these.
#
# Not run, since they cannot be: pages of 64 kB (Debian 12 has no such kernel: `NOT_RUN` below says what stands for it),
# tests of the helper `fault` (its list of system calls is x86's), and tests that need podman, containerd or Kubernetes.
top=$(cd "$(dirname "$0")/.." && pwd)
NOT_RUN="pages of 64 kB: Debian 12 has no such kernel; rings have 4 MB, and arrays are mapped by their own size"

if [ -n "${ARM64_MACHINE:-}" ]; then
	# shellcheck source=selftests/lib/net.sh
	. "$top/selftests/lib/net.sh"
	NET_PORTS="80 443"
	net_start db web
	echo "# $(uname -srm), pages of $(getconf PAGESIZE) bytes; not run: $NOT_RUN"
	net_check "the machine is arm64, with Linux 6.1" eval 'uname -rm | grep -qE "^6\.1\..*aarch64$"'
	net_policy_of TCP/80 TCP/80 >"$NET_TMP/policy.ini"
	net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
	programs() { # COLUMN: how many of the loaded programs have it
		bpftool prog show | awk -v want="$1" '/^[0-9]+: / { ours = / (sched_cls|xdp|ext) +name / }
			ours && $0 ~ want { n++ } END { print n + 0 }'
	}
	net_check "programs are loaded" test "$(programs xlated)" -ge 2
	net_check "the JIT has compiled each program" net_is "$(programs jited)" "$(programs xlated)"
	atomics() { # the loaded programs have instructions of BPF_ATOMIC
		local id
		for id in $(bpftool prog show | sed -n 's/^\([0-9]*\): \(sched_cls\|xdp\|ext\) .*/\1/p'); do
			bpftool prog dump xlated id "$id"
		done >"$NET_TMP/xlated"
		grep -q 'lock \*(u64' "$NET_TMP/xlated" && grep -qE 'atomic|cmpxchg|xchg' "$NET_TMP/xlated"
	}
	net_check "programs have atomic instructions of both kinds, add and fetch" atomics
	for address in "$(net_ip db)" "$(net_ip6 db)"; do
		net_allowed web tcp "$address" 80 "web reaches $address"
		net_denied web tcp "$address" 443 "web does not reach $address at 443"
	done
	net_check "status --check has no problem" net_bulkhead status --check
	net_check "unload" net_bulkhead unload
	net_end
fi

build=$(dirname "${BULKHEAD:-$top/build/bulkhead}")
skip() {
	echo "1..0 # SKIP $1"
	exit 4
}
command -v aarch64-linux-gnu-gcc qemu-system-aarch64 mmdebstrap >/dev/null ||
	skip "needs gcc-aarch64-linux-gnu, qemu-system-arm and mmdebstrap"
build=$(cd "$build" && pwd)
[[ $build == "$top"/* ]] || skip "needs a build below $top: the machine has this tree and no other folder"
VM_ARCH=arm64 "$top/tools/vm-kernel" "$build/vm/arm64" || skip "no kernel of arm64 to run"

names=(packet_rows)
tests=("$top"/selftests/{package_arm64_kernel,net_policy}.sh)
if [ -n "${ARM64_TESTS:-}" ]; then
	names=()
	read -ra tests <<<"$ARM64_TESTS"
	tests=("${tests[@]/#/$top/}")
elif [ -n "${BULKHEAD_FULL:-}" ]; then
	mapfile -t names < <(cd "$top/selftests" && printf '%s\n' packet_*.c | sed 's/\.c$//')
	tests+=("$top"/selftests/net_{spoof,fragment,pmtu,stage,bridge}.sh)
fi
helpers=(probe stream backend frame pair foreign json)
cross=("${names[@]/#/$build/arm64/selftests/}" "${helpers[@]/#/$build/arm64/selftests/helpers/}")
"$top/tools/cross" "$build" all "${cross[@]}" >"$build/arm64.log" 2>&1 ||
	{ tail -n 20 "$build/arm64.log" | sed 's/^/# /' && echo "not ok 1 - programs and tests are cross-compiled" && exit 1; }
tests=("${names[@]/#/$build/arm64/selftests/}" "${tests[@]}")

BULKHEAD=$build/arm64/bulkhead ARM64_MACHINE=1 BULKHEAD_SMALL=1 JOBS=1 VM_ARCH=arm64 VM_FILES=$build/root/arm64 \
	VM_SECONDS=$((${TEST_SECONDS:-5400} - 300)) "$top/tools/vm" "$build/vm/arm64" "$top/selftests/run" "${tests[@]}" 2>&1 |
	awk -v tests="${tests[*]##*/}" -f "$top/selftests/lib/machine_rows.awk"
