#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The first commands of README.md print what README.md says that they print.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

block() { # NUMBER: the lines of that block of code, from 1
	awk -v wanted="$1" '/^```/ { inside = !inside; number += inside; next } inside && number == wanted' "$top/README.md"
}
if git -C "$top" rev-parse --git-dir >/dev/null 2>&1; then
	line=$(block 1 | grep '^git clone ')
	check "the clone line makes a tree, and enters it" env -C "$tmp" REPOSITORY="$top" bash -ec "$line && make -n deps"
else
	check_skip "the clone line makes a tree, and enters it" "this tree is no clone"
fi
block 1 | grep '^bulkhead trace' >"$tmp/commands"
block 2 >"$tmp/wanted"
check "the first block has two questions" is "$(wc -l <"$tmp/commands")" 2
while read -r _ words; do
	# shellcheck disable=SC2086 # the words of a command
	(cd "$top" && "$BULKHEAD" $words)
done <"$tmp/commands" >"$tmp/found" 2>&1
check "the answers are those that the second block shows" diff "$tmp/wanted" "$tmp/found"
BULKHEAD=$BULKHEAD "$top/tools/demo-picture" >"$tmp/demo.svg"
check "the picture is what tools/demo-picture prints" cmp "$tmp/demo.svg" "$top/tools/demo.svg"
check "README.md shows the picture" grep -q '](tools/demo.svg)' "$top/README.md"
check_end
