# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Shows which programs the hooks carry; provides a policy and a TCP connection that must survive changes of
# the programs. Source lib/net.sh first, with the pods db and web and the uplink eth0.

# db admits TCP/80, TCP/7000 and UDP/1001 from web.
hooks_policy() {
	net_db_and_web eth0
	cat <<-EOF
	[network-policy shop/db]
	endpoints = role=db
	ingress = from endpoints(role=web) ports TCP/80, TCP/7000, UDP/1001
	EOF
}

hooks_enforced() {
	net_ask web tcp "$(net_ip db)" 80 $NET_WAIT_ALLOWED || { echo "80 is denied" && return 1; }
	! net_ask web tcp "$(net_ip db)" 443 150 || { echo "443 is allowed" && return 1; }
}

first_id() { # reads bpftool's output
	sed -E 's/^([0-9]+):.*/\1/;q'
}

hooks_pinned() { # PROGRAM: its ID
	bpftool prog show pinned "$NET_PIN/$1" | first_id
}

# Prints the ID of the program of an interface's TCX link, or of its TC filter if there is none.
hooks_at() { # INTERFACE ingress|egress
	local ifindex link
	ifindex=$(ip -n "$NET-node" -o link show dev "$1" | cut -d: -f1)
	link=$NET_PIN/tcx_${ifindex}_$2
	if [ -e "$link" ]; then
		bpftool link show pinned "$link" | grep -oE 'prog [0-9]+' | cut -d' ' -f2
	else
		tc -n "$NET-node" filter show dev "$1" "$2" | grep -oE ' id [0-9]+' | cut -d' ' -f3
	fi
}

# Prints every program that uses our map of endpoints, attached or not; with NAME, those of that name.
hooks_ours() { # [NAME]
	local map
	map=$(bpftool map show pinned "$NET_PIN/endpoints" | first_id)
	bpftool prog show | awk -v id="$map" -v name="${1:-}" '
		/^[0-9]+:/ { program = $1; named = !name || index($0, " name " name " ") }
		named && /map_ids/ { sub(/.*map_ids /, ""); sub(/ .*/, "")
			n = split($0, maps, ","); for (i = 1; i <= n; i++) if (maps[i] == id) print program + 0 }'
}

# Prints our XDP programs: on the uplink directly or under a dispatcher.
hooks_xdp() {
	hooks_ours xdp_uplink
}

hooks_build() { # PROGRAM: the build that it is of
	local maps map
	maps=$(bpftool prog show id "$1" | sed -n 's/.*map_ids \([0-9,]*\).*/\1/p')
	for map in $(bpftool map show | awk -v maps=",$maps," '
		/^[0-9]+:.*rodata / && index(maps, "," $1 + 0 ",") { print $1 + 0 }'); do
		bpftool map dump id "$map" | tr -d ' ",' | sed -n 's/^build://p'
	done
}

# True if the uplink has one XDP program of ours, of the current build, or else the pinned TC program.
hooks_uplink_converged() {
	local xdp build
	xdp=$(hooks_xdp)
	if [ -z "$xdp" ]; then
		net_is "$(hooks_at eth0 ingress)" "$(hooks_pinned tc_uplink)"
		return
	fi
	build=$(hooks_build "$xdp")
	[ -n "$build" ] || { echo "the program at the uplink is of no build" && return 1; }
	net_is "$build" "$(hooks_build "$(hooks_pinned tc_from_endpoint)")"
}

# True if the hooks carry the pinned programs and no other program of ours uses the endpoints: four of TC, sk_node,
# assign, and at most one of XDP. HOOKS_PORT names a port of the endpoints' bridge that is no endpoint's.
hooks_converged() {
	local interface
	for interface in veth-db veth-web; do
		net_is "$(hooks_at $interface ingress)" "$(hooks_pinned tc_from_endpoint)" || return
		net_is "$(hooks_at $interface egress)" "$(hooks_pinned tc_to_endpoint)" || return
	done
	net_is "$(hooks_at eth0 egress)" "$(hooks_pinned tc_leave)" || return
	[ -z "${HOOKS_PORT:-}" ] ||
		net_is "$(hooks_at "$HOOKS_PORT" ingress)" "$(hooks_pinned tc_uplink)" || return
	net_is "$(bpftool link show pinned "$NET_PIN/sk_node_link" | grep -oE 'prog [0-9]+')" \
		"prog $(hooks_pinned sk_node)" || return
	[ ! -e "$NET_PIN/new" ] || { echo "a pin is left" && return 1; }
	# The kernel frees a replaced program after an RCU grace period.
	for _ in {1..200}; do
		[ "$(hooks_ours | wc -l)" -gt $((6 + $(hooks_xdp | wc -l))) ] ||
			[ "$(hooks_xdp | wc -l)" -gt 1 ] || break
		sleep 0.1
	done
	net_is "$(hooks_ours | wc -l)" $((6 + $(hooks_xdp | wc -l))) && hooks_uplink_converged
}

# Opens a TCP connection from web to db; hooks_connected sends over that connection.
hooks_connect() {
	rm -f "$NET_TMP/keep"
	nsenter --net="/run/netns/$NET-db" "$NET_PROBE" keep 7000 </dev/null >"$NET_TMP/keep" 2>&1 &
	NET_SERVERS+=($!)
	until grep -qs ready "$NET_TMP/keep"; do sleep 0.05; done
	coproc HOLD {
		nsenter --net="/run/netns/$NET-web" "$NET_PROBE" hold "$(net_ip db)" 7000 $NET_WAIT_ALLOWED
	}
	NET_SERVERS+=("$HOLD_PID")
}

hooks_disconnect() {
	kill "$HOLD_PID"
	wait "$HOLD_PID" 2>/dev/null
}

hooks_connected() {
	local answer
	echo >&"${HOLD[1]}"
	read -r -u "${HOLD[0]}" answer
	net_is "$answer" answered
}
