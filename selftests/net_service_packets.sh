#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Packets of a connection to a Service other than its plain ones: ICMP errors about translated packets (a
# narrow path, a closed port), fragments, and audited pods.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

NET_PORTS=6379
service_start db bad web trial job

# A host beyond a router; only the router's end of the link has a small MTU.
SERVICE_IP[deep]=192.168.8.2 SERVICE_IP6[deep]=fd08::2
net_host deep
net_link out eth1 02:00:00:00:08:01 deep eth0 02:00:00:00:08:02
ip -n "$NET-out" addr add 192.168.8.1/24 dev eth1
ip -n "$NET-out" addr add fd08::1/64 dev eth1 nodad
ip -n "$NET-deep" addr add 192.168.8.2/24 dev eth0
ip -n "$NET-deep" addr add fd08::2/64 dev eth0 nodad
net_neighbour out eth1 02:00:00:00:08:02 192.168.8.2 fd08::2
net_neighbour deep eth0 02:00:00:00:08:01 192.168.8.1 fd08::1
ip -n "$NET-deep" route add default via 192.168.8.1
ip -n "$NET-deep" -6 route add default via fd08::1
ip -n "$NET-out" link set eth1 mtu 1280

# 11 and up lead to ports where no process listens, 21 and up to those that the test has for a time.
for number in 1:db:6379 2:far:6379 8:bad:6379 11:db:9 12:far:9 13:worse:9 18:bad:9 \
	21:db:7000 22:far:7000 23:worse:7000 24:deep:7000 25:deep:7001 28:bad:7000 31:db:7009 32:far:7009 38:bad:7009; do
	IFS=: read -r number backend port <<<"$number"
	service_leads "$number" "$backend" "$port" || exit 1
done

# web may call db, far and deep. trial is audited, and job its twin; bad lets in no caller from outside.
policy() { # [SETTING]
	service_endpoints ${1:+"$1"} | sed 's,shop/trial,lab/trial,; s,shop/job,lab2/job,'
	cat <<-EOF2
	[namespace lab]
	audit = yes
	[network-policy shop/web]
	endpoints = role=web
	types = Egress
	egress = to endpoints(role in (db, far))
	egress = to cidr(192.168.8.0/24), cidr(fd08::/64) ports TCP/7000, UDP/7000
	[network-policy shop/bad]
	endpoints = role=bad
	ingress = from namespaces()
	[network-policy lab/all]
	endpoints =
	types = Egress
	[network-policy lab2/all]
	endpoints =
	types = Egress
	EOF2
	[ -n "${1:-}" ] || service_objects
}
policy >"$NET_TMP/told.ini"
policy "service-cidr = 10.96.0.0/16, fd96::/64" >"$NET_TMP/range.ini"

# Transfers to a Service's backend by the helper `pair`.
carry() { # FROM NUMBER 4|6 ARGUMENT-BEFORE ARGUMENT-AFTER [NODEPORT]
	local backend port called
	read -r backend port <<<"${SERVICE_LEADS[$2]}"
	called="$(service_address "$2" "$3") 80"
	[ -z "${6:-}" ] || called="$(service_node "$3") $6"
	net_pair "$1" "$(case $backend in far | worse) echo out ;; *) echo "$backend" ;; esac)" "$4" \
		"${called% *},$(service_at "$backend" "$3")" "${called#* },$port" "$5"
}
lost() { # as carry()
	WAIT=$NET_WAIT_DENIED carry "$@"
	net_is $? 1
}

learnt() { # HOST ADDRESS
	ip -n "$NET-$1" route get "$2" | grep -o 'mtu [0-9]*'
}
forget() { # HOST
	ip -n "$NET-$1" route flush cache
	ip -n "$NET-$1" -6 route flush cache
}

# A pod's narrow link is the node's to tell of, deep's the router's.
narrow() { # HOW FROM NUMBER [NODEPORT]
	local family size address
	for family in 4 6; do
		size=1252 address=$(service_address "$3" $family)
		[ $family = 4 ] || size=1232
		[ -z "${4:-}" ] || address=$(service_node $family)
		forget "$2"
		net_check "$1: $2 sends a megabyte to Service $3 over IPv$family" \
			carry "$2" "$3" $family tcp 1000000 "${4:-}"
		net_check "$1: the sender has learnt the path MTU" \
			net_is "$(learnt "$2" "$address")" "mtu 1280"
		forget "$2"
		net_check "$1: an unfragmented datagram gets as large as the path MTU allows" \
			net_is "$(carry "$2" "$3" $family df 1400 "${4:-}")" $size
	done
}

forged() { # ROUTER WEB SERVICE
	net_moved net_frame out eth0 02:00:00:00:07:02 02:00:00:00:07:01 too-big "$1" "$2" "$3" 81
}

unreachable() { # HOW FROM ADDRESS PORT EXPECTED
	local wait=$NET_WAIT_ALLOWED
	[ "$5" != silent ] || wait=$NET_WAIT_DENIED
	net_check "$1: $2 to $3 port $4: $5" net_is \
		"$(net_on "$2" "$NET_HELPERS/backend" ask udp "$3" "$4" $wait 1)" "$5"
}

closed_ports() { # HOW ANSWER-OF-THE-DENIED
	local family address
	for family in 4 6; do
		for number in 11:refused 12:refused "13:$2" "18:$2"; do
			unreachable "$1" web "$(service_address "${number%:*}" $family)" 80 "${number#*:}"
		done
		unreachable "$1" out "$(service_node $family)" 30011 refused
		unreachable "$1" out "$(service_node $family)" 31011 refused
		unreachable "$1" out "$(service_node $family)" 30018 "$2"
		unreachable "$1" out "$(service_node $family)" 31018 "$2"
	done
}

fragments() { # HOW carry|lost-OF-THE-DENIED
	local family
	for family in 4 6; do
		net_check "$1: a datagram of many fragments reaches a local backend over IPv$family" \
			carry web 21 $family udp 60000
		net_check "$1: a datagram of many fragments reaches a remote backend over IPv$family" carry web 22 $family udp 60000
		net_check "$1: $2: a datagram of many fragments to a denied local backend over IPv$family" "$2" web 28 $family udp 60000
		net_check "$1: $2: a datagram of many fragments to a denied remote backend over IPv$family" "$2" web 23 $family udp 60000
		net_check "$1: a datagram of many fragments from outside by a NodePort over IPv$family" carry out 21 $family udp 60000 30021
		net_check "$1: a datagram of many fragments by a NodePort without masquerading over IPv$family" carry out 21 $family udp 60000 31021
		net_check "$1: $2: a datagram of many fragments by a denied NodePort over IPv$family" "$2" out 28 $family udp 60000 30028
		net_check "$1: $2: the same without masquerading over IPv$family" "$2" out 28 $family udp 60000 31028
	done
}

# Checks how a datagram to a Service that nobody answers is counted: at the caller's hook, before it is
# translated, and at the hook behind the translation, unless the datagram was counted at its own hook and leaves
# the node.
counts() { # HOW FROM NUMBER EXPECTED
	local family
	for family in 4 6; do
		net_check "$1: a datagram of $2 to Service $3 counts as ${4//$'\n'/, }" net_is \
			"$(net_moved net_datagram "$2" "$(service_address "$3" $family)" 80)" "$4"
	done
}

audited() { # HOW LOCAL-OF-trial REMOTE-OF-trial EACH-OF-job
	local pod number
	service_allows "$1: an audited pod" trial 1 2 8
	service_denies "$1: its enforced twin" job 1 2 8
	for number in "31:$2" "38:$2" "32:$3"; do
		for pod in db bad out; do
			net_nobody $pod "$(net_ip trial)" "$(net_ip6 trial)"
		done
		counts "$1" trial "${number%%:*}" "${number#*:}"
		for pod in db bad out; do
			ip -n "$NET-$pod" route del blackhole "$(net_ip trial)"
			ip -n "$NET-$pod" -6 route del blackhole "$(net_ip6 trial)"
		done
		counts "$1" job "${number%%:*}" "$4"
	done
}

links() { # MTU of those of the local backends, at the node's end
	ip -n "$NET-node" link set veth-db mtu "$1"
	ip -n "$NET-node" link set veth-bad mtu "$1"
}

denied="denied by the source's policy" opens="pass 1 opens a connection that policy allows"
closed_ports "no policy" refused
fragments "no policy" carry
net_check "load" net_bulkhead load "$NET_TMP/told.ini"
closed_ports told silent
fragments told lost
audited told "audit 2 $denied" "audit 1 $denied" "drop 1 $denied"

links 1280
narrow "a narrow path" web 24
narrow "a narrow link of a local backend" web 21
narrow "by a NodePort" out 21 30021
narrow "by one that is not masqueraded" out 21 31021
for family in 4 6; do
	net_check "web sends nothing to a denied port beyond the narrow path over IPv$family" lost web 25 $family tcp 1
	net_check "an ICMP error about no connection by a Service is dropped over IPv$family" net_is \
		"$(forged "$(net_ip${family#4} out)" "$(net_ip${family#4} web)" "$(service_address 21 $family)")" \
		"drop 1 ICMP error about no connection"
done
links 1500

net_check "load a policy that has only the range of Services" \
	net_bulkhead load --force "$NET_TMP/range.ini"
closed_ports range silent
fragments range lost
audited range "$(printf '%s\n' "$opens" "audit 1 $denied")" "$(printf '%s\n' "$opens" "audit 1 $denied")" \
	"$(printf '%s\n' "$opens" "drop 1 $denied")"
net_check "unload" net_bulkhead unload
net_end
