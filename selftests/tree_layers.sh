#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The layers of user/, by the symbols of the objects that the build made: a room calls only rooms behind it in the
# Makefile's list, so no two rooms call each other; so does a storey of user/node/, of which those that plan call nothing
# that writes; and no file calls, by whatever way, a file that calls it.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

# Prints the symbols of all objects of a folder. An object without its source is of an older tree.
symbols() { # FOLDER
	find "$build/$1" -name '*.o' | while read -r object; do
		source=${object#"$build"/}
		[ ! -e "$top/${source%.o}.c" ] || echo "$object"
	done | xargs -r nm -A
}
# Prints "CALLER CALLED SYMBOL" for each call from one file of user/ to another, without "user/" and ".o".
calls() {
	symbols user | awk -v from="$build/user/" '
		{
			file = substr($1, length(from) + 1)
			sub(/\.o:.*/, "", file)
			kind = $(NF - 1)
			if (kind == "U") uses[++n] = file " " $NF
			else if (kind ~ /^[TDBRV]$/) defines[$NF] = file
		}
		END {
			for (i = 1; i <= n; i++) {
				split(uses[i], use, " ")
				if (use[2] in defines && defines[use[2]] != use[1])
					print use[1], defines[use[2]], use[2]
			}
		}'
}
# Prints the calls that lead upwards. The layers are folders, the highest first.
upwards() { # LAYER...
	awk -v layers="$*" '
		BEGIN {
			n = split(layers, layer, " ")
		}
		function level(file,   i) {
			for (i = 1; i <= n; i++)
				if (index(file, layer[i] "/") == 1) return i
			return 0
		}
		level($1) && level($2) && level($1) > level($2) {
			print "# " $1 ".c calls " $3 "() of " $2 ".c"
			up = 1
		}
		END {
			exit up
		}' "$tmp/calls"
}
# Prints what the planners of a change, and what they read of the node, call to write.
writers() {
	awk '$1 ~ "^node/(plan|local)/" &&
		$2 ~ "^node/kernel/(write|attach|xdp_attach|dispatch|clear|folder|pinned_policy_write)$" {
			print "# " $1 ".c calls " $3 "() of " $2 ".c"
			writes = 1
		}
		END {
			exit writes
		}' "$tmp/calls"
}
# Prints the files that call each other, as tsort finds them.
circles() {
	cut -d' ' -f1,2 "$tmp/calls" | tsort 2>&1 >/dev/null | sed -n 's/^tsort: \([^ ]*\/[^ ]*\)$/# \1.c/p' >"$tmp/circles"
	cat "$tmp/circles"
	[ ! -s "$tmp/circles" ]
}
# Prints the functions that no other file calls, nor a test: these are static, or of no use.
uncalled() {
	awk -v from="$build/user/" '
		{
			kind = $(NF - 1)
			if (kind == "U") used[$NF] = 1
			else if (kind == "T" && index($1, from) == 1) defines[$NF] = $1
		}
		END {
			for (name in defines)
				if (!(name in used) && name != "main") {
					print "# " name "() of " substr(defines[name], length(from) + 1)
					any = 1
				}
			exit any
		}' "$tmp/symbols"
}
build=$(dirname "$(readlink -f "$BULKHEAD")")
calls >"$tmp/calls"
{ symbols user && symbols selftests; } >"$tmp/symbols"
mapfile -t rooms < <(sed -n 's/^ROOMS := //p' "$top/Makefile" | tr ' ' '\n')

check "the build has calls between files of user/" test "$(wc -l <"$tmp/calls")" -gt 1000
check "each folder of user/ is a room of the Makefile" \
	test "$(printf '%s\n' "${rooms[@]}" | sort | xargs)" = "$(find "$top/user" -mindepth 1 -maxdepth 1 -type d -printf '%f\n' | sort | xargs)"
check "rooms call only those behind them in the Makefile's list" upwards "${rooms[@]}"
check "storeys of user/node/ call only those below them" upwards node/observe node/change node/plan node/local node/kernel
check "planners of user/node/ write nothing" writers
check "no files of user/ call each other in a circle" circles
check "another file, or a test, calls each function of user/ that is not static" uncalled
upwards_is_found() {
	! upwards "$@"
}
write_is_found() {
	! writers
}
circle_is_found() {
	! circles
}
uncalled_is_found() {
	! uncalled
}
echo "model/names compile/compile compile" >>"$tmp/calls"
check "a call from a lower room to a higher one is found" upwards_is_found "${rooms[@]}"
echo "node/plan/repair node/kernel/write write_commit" >>"$tmp/calls"
check "a planner that writes is found" write_is_found
echo "compile/compile model/names name" >>"$tmp/calls"
check "a circle of two files is found" circle_is_found
echo "$build/user/model/names.o:0 T name_that_nobody_calls" >>"$tmp/symbols"
check "a function that nobody calls is found" uncalled_is_found
check_end
