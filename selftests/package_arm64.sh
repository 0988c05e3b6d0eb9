#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The command for arm64: cross-compiled without warnings and run in an emulated processor, it compiles
# policies to the same bytes, gives the same answers and passes the tests that need no kernel.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"
build=$(dirname "$BULKHEAD")
root=$build/root/arm64 arm=$build/arm64
skip() {
	echo "1..0 # SKIP $1"
	exit 4
}
command -v aarch64-linux-gnu-gcc qemu-aarch64-static mmdebstrap >/dev/null ||
	skip "needs gcc-aarch64-linux-gnu, qemu-user-static and mmdebstrap"
cross() { # TARGET...
	"$top/tools/cross" "$build" "$@"
}
emulated() { # PROGRAM ARGUMENT...
	qemu-aarch64-static -L "$root" "$@"
}
check "the command is cross-compiled" cross all
check "the command is arm64's" eval 'readelf -h "$arm/bulkhead" | grep -q "Machine: *AArch64"'
# They have barriers that x86 does without (kern/tunables.h).
check "the programs for the kernel are arm64's" eval '! cmp "$arm/gen/build_id.h" "$build/gen/build_id.h"'
check "the cross-compiled command runs" is "$(emulated "$arm/bulkhead" --version)" "$("$BULKHEAD" --version)"

compiled=0 differ=
for input in "$top"/policies/*/; do
	for form in yaml ini; do
		[ -d "$input$form" ] || [ -e "$input$form" ] || continue
		"$BULKHEAD" compile -o "$tmp/here.bhp" "$input$form" >"$tmp/said" 2>&1 || continue
		compiled=$((compiled + 1))
		emulated "$arm/bulkhead" compile -o "$tmp/there.bhp" "$input$form" >"$tmp/said" 2>&1 &&
			cmp -s "$tmp/here.bhp" "$tmp/there.bhp" || differ="$differ $input$form"
	done
done
check "each of $compiled examples compiles to the same bytes" eval '[ $compiled -ge 10 ] && is "$differ" ""'
demo=$top/policies/demo/yaml
for words in "matrix --port TCP/6379,UDP/53" "show segments" "show rules" "lint" \
	"trace --from shop/cart --to default/db --port TCP/6379"; do
	# shellcheck disable=SC2086
	check "$words: the same answer" is "$(emulated "$arm/bulkhead" $words "$demo" 2>&1; echo $?)" \
		"$("$BULKHEAD" $words "$demo" 2>&1; echo $?)"
done

check "the tests are cross-compiled" cross quick
for test in "$arm"/selftests/unit_*; do
	[ -x "$test" ] && [[ $test != *.* ]] || continue
	check "${test##*/} passes" eval '(cd "$top" && BULKHEAD_SMALL=1 emulated "$test")'
	sed -n "s/^# \(BULKHEAD_SMALL.*\)/# ${test##*/}: \1/p" "$tmp/said"
done
check_end
