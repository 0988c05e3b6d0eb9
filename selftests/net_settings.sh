#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The settings that the first load may make for tables and programs, and a later load's message about them.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web
cat >"$NET_TMP/policy.ini" <<EOF
$(net_head)
$(net_endpoint db)
EOF

refused() { # STATUS PATTERN OPTION...
	net_ends "$1" "$2" net_bulkhead load "${@:3}" "$NET_TMP/policy.ini"
}

room() { # PIN ENTRIES
	net_bulkhead status -j | tr '{' '\n' | grep -q "\"name\":\"$1\".*\"max\":$2\b"
}

net_check "an unknown setting is refused" refused 2 "no setting" --set connection=5000
net_check "a refused setting is one line, without the needs of maps" net_is "$(net_bulkhead load --set connection=5000 "$NET_TMP/policy.ini" 2>&1)" \
	'--set: there is no setting "connection"; did you mean `connections`?'
net_check "a setting out of range is refused" refused 2 'connections: must be 1024 to 67108864, not "12"$' --set connections=12
net_check "a dry run refuses it, too" refused 2 'connections: must be 1024 to 67108864, not "12"$' --set connections=12 --dry-run
net_check "a dry run accepts one in range" refused 0 'make-folder' --set connections=5000 --dry-run
net_check "a setting without a value is refused" refused 2 'rcu: must be expedited or normal, not ""$' --set rcu
net_check "a setting that is not a number is refused" refused 2 'timeout-udp: must be 1 to 1048576 (seconds), not "1m"$' --set timeout-udp=1m
documented() { # each range of OPERATING.md is the one that a refusal names
	local name range
	while IFS='|' read -r _ name _ range _; do
		name=${name//[\` ]/} range=${range//[ ,]/}
		case $range in 01) range=0to1 ;; expeditednormal) range=expeditedornormal ;; esac
		net_bulkhead load --set "$name=?" "$NET_TMP/policy.ini" 2>&1 | tr -d ' ' |
			grep -q "^$name:mustbe$range\((seconds)\)\?,not" || { echo "# $name $range"; return 1; }
	done < <(sed -n '/^| name | default | range/,/^$/p' OPERATING.md | grep '^| `')
}
net_check "OPERATING.md has the range of each setting" documented
# A machine with 100 MB left.
small() {
	sed 's/^MemAvailable:.*/MemAvailable: 102400 kB/' /proc/meminfo >"$NET_TMP/meminfo" || return
	net_on node unshare --mount sh -c 'mount --bind "$1" /proc/meminfo && shift && exec "$@"' sh "$NET_TMP/meminfo" \
		"$BULKHEAD" load --pin "$NET_PIN" --set connections="$1" "$NET_TMP/policy.ini"
}
net_check "a table beyond the memory is refused, with the need and the room" \
	net_ends 2 "connections: 1000000 need [0-9]* MiB of memory, and 100 MiB are available" small 1000000
net_check "the refused loads leave no folder" test ! -e "$NET_PIN"
net_check "load with settings" net_bulkhead load --set connections=5000 --set timeout-tcp-reset=5 \
	--set timeout-udp=20 "$NET_TMP/policy.ini"
net_check "the table of connections has the set size" room ct 5000
net_check "a load with the same settings succeeds" net_bulkhead load --set connections=5000 --set timeout-udp=20 \
	"$NET_TMP/policy.ini"
net_check "a load without settings succeeds" net_bulkhead load "$NET_TMP/policy.ini"
net_check "a load with another time-out is refused" refused 2 "unload, then load" --set timeout-udp=30
net_check "a load with a smaller table is refused" refused 2 "unload, then load" --set connections=4000
net_check "a larger table beyond the memory is refused, too" \
	net_ends 2 "connections: 1000000 need [0-9]* MiB of memory, and 100 MiB are available" small 1000000
net_check "the refused loads change nothing" room ct 5000

net_allowed web udp "$(net_ip db)" 443 "a UDP connection is tracked"
used() {
	net_bulkhead status -j | tr '{' '\n' | sed -n 's/.*"name":"ct","used":\([0-9]*\).*/\1/p'
}
net_check "status has how many connections there are" test "$(used)" -ge 1
tracked() { net_bulkhead show conntrack | grep -q "UDP"; }
net_check "show conntrack has the connection" tracked

# One for each 32 KiB of the machine's memory, 131,072 to 1,048,576 (OPERATING.md).
by_memory() {
	awk '/^MemTotal:/ { n = int($2 / 32); print (n < 131072 ? 131072 : n > 1048576 ? 1048576 : n) }' /proc/meminfo
}
net_check "unload" net_bulkhead unload
net_check "load without a setting" net_bulkhead load "$NET_TMP/policy.ini"
net_check "the table has the size that the memory gives" room ct "$(by_memory)"
# The rows of OPERATING.md, by the tables of the command and of the programs: each setting with its default.
top=$(dirname "$0")/..
documented() {
	local name unit constant seconds bad=0
	while read -r name unit constant; do
		seconds='[^|]*'
		[ "$unit" != COUNT ] || [ "$name" = connections ] ||
			seconds=$(tr '\n\t' '  ' <"$top/kern/tunables.h" | sed -nE "s/.* $constant = +([0-9]+);.*/\1/p")
		[ "$unit" != TIME ] || seconds=$(sed -nE "s/.* $constant = SECONDS\(([0-9]+)\).*/\1/p" "$top/kern/tunables.h")
		grep -q "^| \`$name\` | ${seconds:-none} |" "$top/OPERATING.md" || { echo "$name $seconds" && bad=1; }
	done < <(sed -nE 's/^\t\{"([a-z-]+)", ([A-Z]+),.*RODATA\((.*)\)\},/\1 \2 \3/p' "$top/user/node/kernel/settings.c" | tee "$NET_TMP/settings")
	[ "$(wc -l <"$NET_TMP/settings")" -gt 20 ] && [ $bad = 0 ]
}
net_check "OPERATING.md has each setting with its default" documented
beside() { # the kernel has no time for what a new policy denies
	# shellcheck disable=SC2016 # the backticks of Markdown
	net_is "$(grep '^| `timeout-' "$top/OPERATING.md" | grep -v '^| `timeout-denied`' | grep -v "(\(the \)\?kernel.*: [0-9]")" ""
}
net_check "OPERATING.md has the kernel's default beside each time that the kernel has" beside
net_end
