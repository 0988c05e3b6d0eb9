#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Where memory runs out as inputs are read, compiled and compared, the command says so and ends with status
# 3, never with an answer or by a signal.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

for ((i = 0; i < 4000; i++)); do
	printf '[endpoint a/p%d]\nip = 10.0.%d.%d\nlabels = x=%d\n' $i $((i / 256)) $((i % 256)) $((i % 200))
	[ $((i % 20)) -ne 0 ] ||
		printf '[network-policy a/n%d]\nendpoints = x=%d\ningress = from endpoints(x=%d) ports TCP/%d\n' \
			$i $((i / 20)) $((i / 20 + 1)) $((i + 1))
done >"$tmp/old.ini"
sed 's/^ingress = .*TCP/&\/1, UDP/' "$tmp/old.ini" >"$tmp/new.ini"

# Prints the least address space, in KB, with which the command succeeds.
least() { # ENOUGH-FOR ARGUMENT...
	local low=4096 high=1048576 middle
	while [ $((high - low)) -gt 256 ]; do
		middle=$(((low + high) / 2))
		if (ulimit -v $middle && "$BULKHEAD" "$@" >/dev/null 2>&1); [ $? -le 1 ]; then
			high=$middle
		else
			low=$middle
		fi
	done
	echo $high
}
starts=$(least --version)

# Runs the command with SIZES address spaces between starting and succeeding. The least that succeeds
# differs a little between runs: a run that succeeds must print the whole answer.
runs_out() { # SIZES ARGUMENT...
	local enough sizes=$1 size status refused=0
	shift
	enough=$(least "$@")
	"$BULKHEAD" "$@" >"$tmp/whole"
	for ((i = 0; i < sizes; i++)); do
		size=$((starts + (enough - starts) * i / sizes))
		(ulimit -v "$size" && "$BULKHEAD" "$@" >"$tmp/out" 2>"$tmp/err")
		status=$?
		if [ "$status" -eq 3 ] && grep -qi memory "$tmp/err"; then
			refused=$((refused + 1))
		elif [ "$status" -gt 1 ] || ! cmp "$tmp/out" "$tmp/whole"; then
			echo "status $status with $size of $starts to $enough KB: $(tail -n 1 "$tmp/err")"
			return 1
		fi
	done
	echo "$refused of $sizes"
	[ "$refused" -gt $((sizes / 2)) ]
}
check "compile without memory fails with a message" runs_out 60 compile -o "$tmp/old.bhp" "$tmp/old.ini"
check "diff without memory fails with a message" runs_out 40 diff "$tmp/old.ini" "$tmp/new.ini"
says_json() {
	(ulimit -v $((starts + 1500)) && "$BULKHEAD" compile -j -o "$tmp/x" "$tmp/old.ini" 2>"$tmp/err")
	head -n 1 "$tmp/err" | "$(dirname "$BULKHEAD")/selftests/helpers/json" get message | grep memory
}
check "with -j the message is JSON" says_json
check "with memory compile succeeds" "$BULKHEAD" compile -o "$tmp/old.bhp" "$tmp/old.ini"

# 30 kB of values: their pairs would take 300 MB
{
	cat "$tmp/old.ini"
	printf '[endpoint b/p]\nip = 10.1.0.1\nlabels = x=v7\n[namespace b]\nlabels = t=v7\n[endpoint c/p]\nip = 10.1.0.2\nlabels = x=v7\n[network-policy a/pairs]\nendpoints =\n'
	printf -v values 'v%d,\n ' {1..2000}
	printf 'ingress = from endpoints(x in (%s0) in namespaces(t in (%s0)))\n' "$values" "$values"
} >"$tmp/pairs.ini"
many_values() {
	(ulimit -v $((starts + 65536)) && "$BULKHEAD" compile -o "$tmp/pairs.bhp" "$tmp/pairs.ini")
}
check "memory does not grow with the pairs of two selectors' values" many_values
selects() { # FROM VERDICT
	is "$("$BULKHEAD" trace --from "$1" --to a/p0 --port TCP/80 "$tmp/pairs.bhp" | sed 's/ .*//;q')" "$2"
}
check "a peer with a value of both selectors is allowed" selects b/p allow
check "a peer with a value of one is denied" selects c/p deny
check_end
