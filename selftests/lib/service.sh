# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Services on a test's node, translated by nftables maps as kube-proxy's nftables mode does: from a
# Service's address and port to the backend's. The maps change while packets flow.
#
#   service_start db web              net_start, and a second node's pods `far` and `worse` behind the
#                                     outside host, which also sends from 172.17.0.9 and 172.17.1.9
#   service_leads 1 db 6379           Service 1 leads to db's port 6379, for TCP and UDP
#   service_object 1 db,far 6379      prints the same Service for the policy
#   service_hold 1                    opens sockets of web to Service 1; service_held 1 udp $NET_WAIT_ALLOWED
#                                     asks over them; after service_forget udp 1 the kernel chooses anew
#
# Service N is 10.96.0.N and fd96::N (N is decimal in both) at port 80, or at port 53 in `service_leads
# 53/53 dns 53`. Its NodePorts are 30000+N, which the node masquerades, and 31000+N, where the client's
# address stays, as with externalTrafficPolicy: Local.

# shellcheck source=selftests/lib/net.sh
. "$(dirname "${BASH_SOURCE[0]}")/net.sh"

# Backends that are not net.sh's hosts.
declare -A SERVICE_IP=([far]=10.244.1.1 [worse]=10.244.1.2)
declare -A SERVICE_IP6=([far]=fd44:1::1 [worse]=fd44:1::2)

service_ip() { # NAME
	[ -n "${SERVICE_IP[$1]:-}" ] && echo "${SERVICE_IP[$1]}" || net_ip "$1"
}

service_ip6() { # NAME
	[ -n "${SERVICE_IP6[$1]:-}" ] && echo "${SERVICE_IP6[$1]}" || net_ip6 "$1"
}

service_at() { # NAME 4|6
	service_ip"${2#4}" "$1"
}

service_address() { # NUMBER 4|6
	[ "$2" = 4 ] && echo "10.96.0.$1" || echo "fd96::$1"
}

service_node() { # 4|6
	[ "$1" = 4 ] && net_ip node || net_ip6 node
}

# A pod behind the outside host needs no route here: replies to it take the default route.
service_far() {
	local name
	for name in far worse; do
		ip -n "$NET-out" addr add "$(service_ip $name)/32" dev lo
		ip -n "$NET-out" addr add "$(service_ip6 $name)/128" dev lo nodad
	done
	ip -n "$NET-out" addr add fd17:0::9/128 dev lo nodad
	ip -n "$NET-out" addr add fd17:1::9/128 dev lo nodad
}

service_tables() {
	cat <<-EOF
	table inet services {
		map backends4 { type ipv4_addr . inet_proto . inet_service : ipv4_addr . inet_service; }
		map backends6 { type ipv6_addr . inet_proto . inet_service : ipv6_addr . inet_service; }
		map ports4 { type inet_proto . inet_service : ipv4_addr . inet_service; }
		map ports6 { type inet_proto . inet_service : ipv6_addr . inet_service; }
		set loops4 { type ipv4_addr . ipv4_addr; }
		set loops6 { type ipv6_addr . ipv6_addr; }
		chain several { }
		chain translate {
			jump several
			meta l4proto { tcp, udp } dnat ip to ip daddr . meta l4proto . th dport map @backends4
			meta l4proto { tcp, udp } dnat ip6 to ip6 daddr . meta l4proto . th dport map @backends6
			ip daddr { $(net_ip node), 127.0.0.1 } meta l4proto { tcp, udp } \
				dnat ip to meta l4proto . th dport map @ports4
			ip6 daddr $(net_ip6 node) meta l4proto { tcp, udp } \
				dnat ip6 to meta l4proto . th dport map @ports6
		}
		chain before { type nat hook prerouting priority dstnat; jump translate; }
		chain made { type nat hook output priority -100; jump translate; }
		chain after {
			type nat hook postrouting priority srcnat
			ct status dnat meta l4proto { tcp, udp } ct original proto-dst 30000-30999 masquerade
			ip saddr . ip daddr @loops4 masquerade
			ip6 saddr . ip6 daddr @loops6 masquerade
		}
	}
	EOF
}

service_start() { # POD...
	command -v nft >/dev/null || net_skip "needs nftables"
	net_start "$@"
	service_far
	service_tables | net_on node nft -f - || exit 1
}

# Prints the nft commands that add or delete a Service's map elements.
service_elements() { # add|delete NUMBER[/PORT] BACKEND PORT
	local number=${2%/*} port=80 protocol
	[[ $2 != */* ]] || port=${2#*/}
	for protocol in tcp udp; do
		cat <<-EOF
		$1 element inet services backends4 { 10.96.0.$number . $protocol . $port : $(service_ip "$3") . $4 }
		$1 element inet services backends6 { fd96::$number . $protocol . $port : $(service_ip6 "$3") . $4 }
		EOF
		for port4 in $((30000 + number)) $((31000 + number)); do
			cat <<-EOF
			$1 element inet services ports4 { $protocol . $port4 : $(service_ip "$3") . $4 }
			$1 element inet services ports6 { $protocol . $port4 : $(service_ip6 "$3") . $4 }
			EOF
		done
	done
}

# Replaces the backend in one nft transaction, as kube-proxy does.
declare -A SERVICE_LEADS
service_leads() { # NUMBER[/PORT] BACKEND PORT
	{
		# shellcheck disable=SC2086
		[ -z "${SERVICE_LEADS[$1]:-}" ] || service_elements delete "$1" ${SERVICE_LEADS[$1]}
		service_elements add "$1" "$2" "$3"
	} | net_on node nft -f - || return
	SERVICE_LEADS[$1]="$2 $3"
}

# A pod that may be its own backend: the node masquerades packets that return to the pod.
service_loops() { # POD
	net_on node nft -f - <<-EOF
	add element inet services loops4 { $(net_ip "$1") . $(net_ip "$1") }
	add element inet services loops6 { $(net_ip6 "$1") . $(net_ip6 "$1") }
	EOF
}

service_object() { # NUMBER[/PORT] BACKEND[,BACKEND]... PORT
	local number=${1%/*} port=80 name backends=
	[[ $1 != */* ]] || port=${1#*/}
	for name in ${2//,/ }; do
		backends+="${backends:+, }$(service_ip "$name"), $(service_ip6 "$name")"
	done
	cat <<-EOF
	[service shop/s$number]
	address = 10.96.0.$number, fd96::$number
	port = tcp TCP/$port to $3 node $((30000 + number)), udp UDP/$port to $3 node $((30000 + number))
	port = kept-tcp TCP/$((port + 1)) to $3 node $((31000 + number))
	port = kept-udp UDP/$((port + 1)) to $3 node $((31000 + number))
	backends = $backends
	EOF
}

# Prints each Service that service_leads has made.
service_objects() {
	local number
	for number in "${!SERVICE_LEADS[@]}"; do
		# shellcheck disable=SC2086
		service_object "$number" ${SERVICE_LEADS[$number]}
	done
}

# Prints the head of a policy: the node, its pods with the label role=NAME, and the second node's pods `far`
# and `worse`.
service_endpoints() { # [SETTING...]
	local pod
	printf '%s\n' "[bulkhead]" "node = worker-1" "uplink = eth0" "$@"
	printf '%s\n' "[node worker-1]" "ip = $(net_ip node), $(net_ip6 node)"
	for pod in "${NET_PODS[@]}" far worse; do
		cat <<-EOF
		[endpoint shop/$pod]
		node = $([[ $pod != far && $pod != worse ]] && echo worker-1 || echo worker-2)
		ip = $(service_ip "$pod"), $(service_ip6 "$pod")
		labels = role=$pod
		EOF
	done
}

# Probes each Service over IPv4 and IPv6, TCP and UDP. A denied probe never has the port of an allowed one: it would be
# a packet of that call, which is open, and may go on.
service_allows() { # NAME FROM NUMBER...
	service_ports "$2" 32768 46000 && service_probes net_allowed "$@"
}
service_denies() { # NAME FROM NUMBER...
	service_ports "$2" 46001 60999 && service_probes net_denied "$@"
}
service_ports() { # HOST FIRST LAST: its further sockets get these ports
	net_on "$1" sh -c "echo $2 $3 >/proc/sys/net/ipv4/ip_local_port_range"
}
service_probes() { # net_allowed|net_denied NAME FROM NUMBER...
	local family protocol number
	for family in 4 6; do
		for protocol in tcp udp; do
			for number in "${@:4}"; do
				"$1" "$3" $protocol "$(service_address "$number" $family)" 80 \
					"$2: $3, $protocol, Service $number over IPv$family"
			done
		done
	done
}

# Opens a socket of web, and keeps it.
SERVICE_HOLDS=()
service_hold_one() { # NUMBER-FAMILY-PROTOCOL hold|connect ADDRESS PORT
	local ask hear line
	mkfifo "$NET_TMP/$1.ask" "$NET_TMP/$1.hear"
	nsenter --net="/run/netns/$NET-web" "$NET_HELPERS/backend" "$2" "${1##*-}" "$3" "$4" "$NET_WAIT_ALLOWED" \
		<"$NET_TMP/$1.ask" >"$NET_TMP/$1.hear" &
	NET_SERVERS+=($!)
	exec {ask}>"$NET_TMP/$1.ask" {hear}<"$NET_TMP/$1.hear"
	SERVICE_HOLDS+=("$1 $ask $hear")
	read -r -t 60 -u "$hear" line
	net_is "$line" ready
}

# Opens one for each protocol and IP version.
service_hold() { # [connect] NUMBER...: connect does not wait for the backend
	local how=hold number family protocol
	[ "$1" != connect ] || { how=connect && shift; }
	for number; do
		for family in 4 6; do
			for protocol in tcp udp; do
				service_hold_one "$number-$family-$protocol" $how "$(service_address "$number" $family)" 80 ||
					return
			done
		done
	done
}

# Prints who answers over these sockets.
service_held() { # NUMBER [PROTOCOL] WAIT
	local line name ask hear said
	for line in "${SERVICE_HOLDS[@]}"; do
		read -r name ask hear <<<"$line"
		[[ $name == "$1"-*-${3:+$2}* ]] || continue
		echo "${!#}" >&"$ask"
		read -r -t 60 -u "$hear" said
		echo "${said%% from *}"
	done | sort -u | paste -sd +
}

# Makes the kernel choose a backend anew, as kube-proxy does for UDP whose backend has gone.
service_forget() { # tcp|udp NUMBER
	local family
	for family in 4 6; do
		net_on node conntrack -D -f ipv$family -p "$1" --orig-dst "$(service_address "$2" $family)"
	done >/dev/null 2>&1
}
