#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A command that is killed at any system call that changes something leaves the old policy or the
# new one, whole: of two probes of which each policy allows exactly one, one passes. The next
# command repairs what is left over. CRASH=all walks every system call there is.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web
killat=$(dirname "$NET_PROBE")/killat
db4=$(net_ip db)

# The one denies at the destination what the other denies at the source.
policy() { # INGRESS-PORT EGRESS-PORT
	cat <<-EOF2
	[bulkhead]
	node = worker-1
	[endpoint shop/db]
	node = worker-1
	ip = $db4, $(net_ip6 db)
	mac = $(net_mac db)
	labels = role=db
	[endpoint shop/web]
	node = worker-1
	ip = $(net_ip web), $(net_ip6 web)
	labels = role=web
	[network-policy shop/db]
	endpoints = role=db
	ingress = from endpoints(role=web) ports $1
	[network-policy shop/web]
	endpoints = role=web
	types = Egress
	egress = to endpoints(role=db) ports $2
	EOF2
}
policy TCP/80 "TCP/80, TCP/443" >"$NET_TMP/old.ini"
policy "TCP/80, TCP/443" TCP/443 >"$NET_TMP/new.ini"

# Runs a command and kills it at its Nth change of state. 0: killed.
kill_at() { # N SUBCOMMAND ARGUMENT...
	local n=$1 command=$2
	shift 2
	# shellcheck disable=SC2086
	net_on node "$killat" $CRASH $n "$BULKHEAD" "$command" --pin "$NET_PIN" "$@" \
		>"$NET_TMP/said" 2>&1
	[ $? -eq 99 ]
}

# Prints which policy is in force: old, new, both or none.
in_force() {
	local other
	net_ask web tcp "$db4" 80 150 &
	other=$!
	if net_ask web tcp "$db4" 443 150; then
		if wait $other; then echo both; else echo new; fi
	else
		if wait $other; then echo old; else echo none; fi
	fi
}

CRASH=${CRASH:-}
seen=""

# Kills a load of new.ini over old.ini at each place, and repairs by a load of old.ini.
walk_load() {
	local n=0 state
	while n=$((n + 1)) && kill_at $n load "$NET_TMP/new.ini"; do
		state=$(in_force)
		case $state in
		old | new) seen="$seen $state" ;;
		*) echo "killed at $n: $state is in force" && return 1 ;;
		esac
		net_bulkhead load "$NET_TMP/old.ini" || return 1
		[ "$(in_force)" = old ] || { echo "killed at $n: not repaired" && return 1; }
		net_bulkhead load -v "$NET_TMP/old.ini" | grep -qx '0 map writes' ||
			{ echo "killed at $n: the repair left something to do" && return 1; }
	done
	echo "$n places"
}

# Kills a first load, or an unload, at each place (every third, unless CRASH=all: a first load loads
# the programs each time): all is open or the policy is in force, and the
# next command goes through.
walk_ends() { # SUBCOMMAND ARGUMENT...
	local n=0 state step=3
	[ -z "$CRASH" ] || step=1
	while n=$((n + step)) && kill_at $n "$@"; do
		state=$(in_force)
		case $state in
		both | old) ;;
		*) echo "killed at $n: $state is in force" && return 1 ;;
		esac
		if [ "$1" = load ]; then
			net_bulkhead unload || return 1
			[ ! -e "$NET_PIN" ] || { echo "killed at $n: pins are left" && return 1; }
		else
			net_bulkhead load "$NET_TMP/old.ini" || return 1
			[ "$(in_force)" = old ] || { echo "killed at $n: not repaired" && return 1; }
		fi
	done
}

attached() {
	net_on node bpftool -j net show
	net_on node tc qdisc show
}
before=$(attached)

net_check "a first load killed anywhere" walk_ends load "$NET_TMP/old.ini"
net_check "a load that was not killed" net_bulkhead load "$NET_TMP/old.ini"
net_check "a load over another killed anywhere" walk_load
net_check "it was killed before its flip" grep -q old <<<"$seen"
net_check "and after it" grep -q new <<<"$seen"
net_check "back to the first policy" net_bulkhead load "$NET_TMP/old.ini"
net_check "an unload killed anywhere" walk_ends unload
net_check "an unload that was not killed" net_bulkhead unload
net_check "nothing is left" test "$(attached)" = "$before"

net_end
