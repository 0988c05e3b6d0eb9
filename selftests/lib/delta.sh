# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Deltas in a test with its own network (lib/net.sh): policies $here/NAME.ini become policies $here/NAME.bhp and
# deltas $here/NAME.bhd.

here=$NET_TMP/policies
mkdir "$here"

compile() {
	"$BULKHEAD" compile "$@" >/dev/null
}

# Compiles a chain of policies, each with the delta from the one before.
chain() { # NAME...: files $here/NAME.ini
	local last='' name
	for name; do
		compile ${last:+--base "$here/$last.bhp"} -o "$here/$name.bhp" "$here/$name.ini" || return
		[ -z "$last" ] || compile --base "$here/$last.bhp" --delta -o "$here/$name.bhd" "$here/$name.ini" || return
		last=$name
	done
}

load() {
	net_bulkhead load "$@"
}

# Loads a delta. A whole load would have removed the base.
load_delta() { # NAME
	load "$here/$1.bhd" && test -e "$NET_PIN/blob_base"
}

state() { # FILE
	net_maps >"$1" && "$NET_HELPERS/entries" "$NET_PIN" added allow_source link_locals tunnels resolvers >>"$1" &&
		bpftool -j map dump pinned "$NET_PIN/config" | grep -o '"generation":[0-9]*' >>"$1"
}

whole_changes_nothing() { # NAME
	state "$NET_TMP/by-delta" && load "$here/$1.bhp" && state "$NET_TMP/by-whole" &&
		diff "$NET_TMP/by-delta" "$NET_TMP/by-whole"
}

# Loads as a follower does.
follower() { # NAME.bhp|NAME.bhd
	net_on node "$NET_HELPERS/quarantine" "$NET_PIN" "$here/$1"
}

follower_step() { # NAME WHAT
	net_check "a follower's delta: $2" net_is "$(follower "$1.bhd")" delta
	net_check "$2: a follower's load of the whole policy has nothing to change" follower_changes_nothing "$1"
}

follower_changes_nothing() { # NAME
	state "$NET_TMP/by-delta" && follower "$1.bhp" && state "$NET_TMP/by-whole" &&
		diff "$NET_TMP/by-delta" "$NET_TMP/by-whole"
}

# Of the ports 80 and 443, FROM reaches the pod TO by this one alone, over IPv4 and IPv6.
reaches_by() { # PORT|- FROM TO WHEN
	local address port
	for address in "$(net_ip "$3")" "$(net_ip6 "$3")"; do
		for port in 80 443; do
			if [ "$port" = "$1" ]; then
				net_allowed "$2" tcp "$address" "$port" "$4: $2 reaches $3 at $address by port $port"
			else
				net_denied "$2" tcp "$address" "$port" "$4: $2 does not reach $3 at $address by port $port"
			fi
		done
	done
}
