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

hooks_pinned() { # PROGRAM: its ID
	hooks_look
	echo "${HOOKS[$1]}"
}

# Looks once at everything. HOOKS has the program's ID of each pin of a program or a link, an interface's number as
# "at NAME", and a program's build as "build ID". HOOKS_OURS are all programs that use our map of endpoints, attached
# or not; HOOKS_XDP are those of XDP, on the uplink directly or under a dispatcher.
declare -A HOOKS
hooks_look() {
	local kind name id build number
	HOOKS=() HOOKS_OURS=() HOOKS_XDP=()
	while IFS=': @' read -r number name _; do
		HOOKS["at $name"]=$number
	done < <(ip -n "$NET-node" -o link)
	while read -r kind name id build; do
		case $kind in
		prog | link) HOOKS[$name]=$id ;;
		user)
			HOOKS_OURS+=("$id")
			HOOKS["build $id"]=$build
			[ "$name" != xdp_uplink ] || HOOKS_XDP+=("$id")
			;;
		esac
	done < <("$NET_HELPERS/pins" "$NET_PIN")
}

# True if an interface carries, by its TCX link or else by a TC filter, the pinned program; without PROGRAM, if it
# carries none. As of the last look.
hooks_carry() { # INTERFACE ingress|egress [PROGRAM]
	local carried=${HOOKS["tcx_${HOOKS["at $1"]:-}_$2"]:-}
	[ -n "$carried" ] ||
		carried=$(tc -n "$NET-node" filter show dev "$1" "$2" | grep -oE ' id [0-9]+' | cut -d' ' -f3)
	net_is "$carried" "${3:+${HOOKS[$3]:-no $3 is pinned}}"
}

# True if the uplink has one XDP program of ours, of the current build, or else the pinned TC program.
hooks_uplink_converged() {
	local build
	if [ ${#HOOKS_XDP[@]} -eq 0 ]; then
		hooks_carry eth0 ingress tc_uplink
		return
	fi
	build=${HOOKS["build ${HOOKS_XDP[0]}"]}
	[ "$build" != none ] || { echo "the program at the uplink is of no build" && return 1; }
	net_is "$build" "${HOOKS["build ${HOOKS[tc_from_endpoint]}"]}"
}

# True if the hooks carry the pinned programs and no other program of ours uses the endpoints: four of TC, sk_node,
# assign, and at most one of XDP. HOOKS_PORT names a port of the endpoints' bridge that is no endpoint's.
hooks_converged() {
	local interface
	# The kernel frees a replaced program after an RCU grace period.
	for _ in {1..200}; do
		hooks_look
		[ ${#HOOKS_OURS[@]} -gt $((6 + ${#HOOKS_XDP[@]})) ] || [ ${#HOOKS_XDP[@]} -gt 1 ] || break
		net_pause 0.1
	done
	for interface in veth-db veth-web; do
		hooks_carry $interface ingress tc_from_endpoint && hooks_carry $interface egress tc_to_endpoint || return
	done
	hooks_carry eth0 egress tc_leave || return
	[ -z "${HOOKS_PORT:-}" ] || hooks_carry "$HOOKS_PORT" ingress tc_uplink || return
	net_is "${HOOKS[sk_node_link]:-}" "${HOOKS[sk_node]:-no sk_node is pinned}" || return
	[ ! -e "$NET_PIN/new" ] || { echo "a pin is left" && return 1; }
	[ ${#HOOKS_XDP[@]} -le 1 ] || { echo "programs of XDP: ${HOOKS_XDP[*]}" && return 1; }
	net_is ${#HOOKS_OURS[@]} $((6 + ${#HOOKS_XDP[@]})) && hooks_uplink_converged
}

# True if each map's place, the array at_<name>, has the map that is pinned as <name>.
hooks_placed() {
	local at name id n=0
	for at in "$NET_PIN"/at_*; do
		name=${at##*/at_}
		id=$(bpftool -j map show pinned "$NET_PIN/$name" | sed 's/.*"id":\([0-9]*\).*/\1/')
		net_is "$name $(bpftool -j map lookup pinned "$at" key 0 0 0 0 | grep -o '"value":[^]]*')" \
			"$name $(printf '"value":["0x%02x","0x%02x","0x%02x","0x%02x"' \
				$((id & 255)) $((id >> 8 & 255)) $((id >> 16 & 255)) $((id >> 24)))" || return
		n=$((n + 1))
	done
	[ $n -gt 10 ] || { echo "$n places" && return 1; }
}

# Opens a TCP connection from web to db; hooks_connected sends over that connection.
hooks_connect() {
	rm -f "$NET_TMP/keep"
	nsenter --net="/run/netns/$NET-db" "$NET_PROBE" keep 7000 </dev/null >"$NET_TMP/keep" 2>&1 &
	NET_SERVERS+=($!)
	until grep -qs ready "$NET_TMP/keep"; do net_pause 0.05; done
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
