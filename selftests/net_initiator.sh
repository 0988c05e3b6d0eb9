#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Whom a packet comes from where the node translates: behind masquerading, two callers have one address and port
# after each other, and the kernel's conntrack forgets. No caller rides what policy allowed another one.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"
# shellcheck source=selftests/lib/initiator.sh
. "$(dirname "$0")/lib/initiator.sh"

NET_PORTS="80 6379 7000"
service_start db web shut mute
service_leads 1 db 6379
service_leads 2 web 6379
service_leads 3 mute 6379
service_loops mute
service_leads 7 far 7000
service_leads 8 worse 7000

initiator_count out db web shut || exit 1

# web may call far; db and shut are isolated. web admits 172.17.0.0/24 and fd17:0::/64. mute is denied the node.
{
	service_endpoints
	net_node_object
	service_object 8 far,worse 7000
	cat <<-EOF2
	[network-policy shop/web]
	endpoints = role=web
	types = Ingress, Egress
	ingress = from cidr(172.17.0.0/24), cidr(fd17:0::/64) ports TCP/6379, UDP/6379
	egress = to endpoints(role=far) ports TCP/7000, UDP/7000
	[network-policy shop/isolated]
	endpoints = role in (db, shut)
	types = Ingress, Egress
	[admin-network-policy nodes]
	priority = 5
	subject = endpoints(role=mute in namespaces())
	egress = Deny to nodes()
	EOF2
} | awk '/^\[node worker-1\]/ && seen++ { skip = 1 } /^\[/ && !/worker-1\]/ { skip = 0 } !skip' \
	>"$NET_TMP/policy.ini"

leaves() { # FAMILY: a pod after another one behind one source port
	local protocol to
	to=$(service_node "$1")
	initiator_binds web 5000
	initiator_binds shut 5000
	for protocol in udp tcp; do
		net_allowed web $protocol "$to" 30007 "IPv$1: web reaches far by $protocol and a NodePort"
		initiator_forget
		net_denied shut $protocol "$to" 30007 "IPv$1: an isolated pod does not, by $protocol from the same port"
		initiator_forget
	done
	net_check "IPv$1: UDP of web from this port passes again" net_ask web udp "$to" 30007 "$NET_WAIT_ALLOWED"
}

resets() { # FAMILY PORT: a RST with data, by which the kernel forgets the call
	local pod wanted to port=$2
	to=$(service_node "$1")
	for pod in web:2 shut:0; do
		wanted=${pod#*:} pod=${pod%:*} port=$((port + 1))
		initiator_forget
		net_check "IPv$1: of a SYN and a RST with data from $pod, $wanted arrive" net_is "$(initiator_arrives out tcp 7000 \
			reset "$pod" $port "$(service_at "$pod" "$1")" "$to")" "$wanted"
	done
}
reset() { # POD PORT FROM TO
	initiator_from "$1" "$2" tcp "$3" "$4" 30007 2 100
	sleep 0.05
	initiator_from "$1" "$2" data "$3" "$4" 30007 4 101
}

replies() { # FAMILY: an isolated pod sends to its node what is the reply to a dropped call
	local to db protocol kind flags
	to=$(service_node "$1") db=$(service_at db "$1")
	for protocol in udp tcp; do
		kind=$protocol flags=
		[ $protocol = udp ] || flags="2 100"
		initiator_forget
		# shellcheck disable=SC2086
		net_check "IPv$1: a call of outside to the isolated pod drops, by $protocol" net_is "$(initiator_arrives db $protocol \
			6379 initiator_from out 6100 $kind "$(initiator_outside allowed "$1")" "$to" 30001 $flags)" 0
		# shellcheck disable=SC2086
		net_check "IPv$1: what the isolated pod sends to its node is no reply to outside, by $protocol" net_is \
			"$(initiator_arrives out $protocol 6100 initiator_from db 6379 $kind "$db" "$to" 6100 $flags)" 0
		# shellcheck disable=SC2086
		net_check "IPv$1: a call of another isolated pod drops, by $protocol" net_is "$(initiator_arrives db $protocol \
			6379 initiator_from shut 6200 $kind "$(service_at shut "$1")" "$to" 30001 $flags)" 0
		# shellcheck disable=SC2086
		net_check "IPv$1: what the isolated pod sends to its node is no reply to that pod, by $protocol" net_is \
			"$(initiator_arrives shut $protocol 6200 initiator_from db 6379 $kind "$db" "$to" 6200 $flags)" 0
		net_allowed db $protocol "$to" 80 "IPv$1: the isolated pod reaches its node by $protocol"
		net_allowed out $protocol "$to" 30002 "IPv$1: an admitted host reaches web's NodePort by $protocol" \
			"$(initiator_outside allowed "$1")"
	done
}

bridged() { # FAMILY PORT: the same from a bridged pod, which nobody can tell by its bridge
	local source to
	[ "$1" = 4 ] && source=10.50.0.1 || source=fd50::1
	to=$(service_node "$1")
	initiator_forget
	net_check "IPv$1: the RST with data of a bridged pod drops, since nobody can tell its sender" net_is "$(net_moved \
		bridged_reset "$2" "$source" "$to" | grep -c "from an endpoint that nobody can tell")" 1
	net_allowed inner tcp "$to" 30007 "IPv$1: the bridged pod reaches far by the NodePort"
}
bridged_reset() { # PORT FROM TO
	net_frame inner -s "$1" eth0 02:00:00:00:04:01 02:00:00:00:05:01 tcp "$2" "$3" 30007 2 100
	sleep 0.05
	net_frame inner -s "$1" eth0 02:00:00:00:04:01 02:00:00:00:05:01 data "$2" "$3" 30007 4 101
	sleep 0.1
}

outlives() { # FAMILY: what the node itself asked an isolated pod, and then another one by the same port
	local to db caller
	to=$(service_node "$1") db=$(service_at db "$1")
	initiator_binds node 6550
	for caller in out shut; do
		initiator_forget
		net_allowed node udp "$db" 6379 "IPv$1: the node reaches the isolated pod by UDP, before $caller does not"
		initiator_forget
		net_check "IPv$1: $caller does not reach the isolated pod by the node's port" net_is "$(initiator_arrives db udp 6379 \
			initiator_from $caller 6550 udp "$(service_at $caller "$1")" "$to" 30001)" 0
		net_check "IPv$1: the isolated pod does not reply to $caller by the node's port" net_is \
			"$(initiator_arrives $caller udp 6550 initiator_from db 6379 udp "$db" "$to" 6550)" 0
	done
	net_allowed node udp "$db" 6379 "IPv$1: the node reaches the isolated pod by UDP from this port again"
	initiator_binds node "32768 60999"
}

unanswered() { # PORT
	net_on node conntrack -L -p tcp --sport "$1" 2>/dev/null | grep UNREPLIED
}

forgets() { # FAMILY PORT: TCP between the node and an isolated pod, which the node's conntrack forgets
	local to db caller port=$2
	to=$(service_node "$1") db=$(service_at db "$1")
	for caller in out shut; do
		initiator_binds node $((port += 1))
		net_allowed node tcp "$db" 6379 "IPv$1: the node reaches the isolated pod by TCP, before $caller does not"
		initiator_forget
		net_check "IPv$1: a segment of $caller by the node's port does not arrive" net_is "$(initiator_arrives db tcp 6379 \
			initiator_from $caller $port tcp "$(service_at $caller "$1")" "$to" 30001 10 100)" 0
		net_check "IPv$1: a segment of the isolated pod to that port is no answer to $caller" net_is \
			"$(initiator_arrives $caller tcp $port initiator_from db 6379 tcp "$db" "$to" $port 10 100)" 0
		# the segment of shut drops at its own hook, before conntrack sees it
		[ $caller = shut ] ||
			net_check "IPv$1: it drops at the pod: to the node's conntrack the call of $caller has no answer" \
				unanswered $port
	done
	initiator_binds node "32768 60999"
}

answers() { # FAMILY PORT: what a Service's backend sends to its caller, whose call policy allows or denies
	local web to wanted backend port=$2
	web=$(service_at web "$1") to=$(service_address 8 "$1")
	for backend in worse:0 far:1; do
		wanted=${backend#*:} backend=${backend%:*} port=$((port + 1))
		service_leads 8 "$backend" 7000
		initiator_forget
		net_check "IPv$1: of web's datagram by a Service to $backend, $wanted arrives" net_is \
			"$(initiator_arrives out udp 7000 initiator_from web $port udp "$web" "$to" 80)" "$wanted"
		net_check "IPv$1: of $backend's answer to it, $wanted arrives" net_is "$(initiator_arrives web udp $port \
			initiator_from out 7000 udp "$(service_at "$backend" "$1")" "$web" $port)" "$wanted"
	done
	service_leads 8 worse 7000
}

alternate() { # FAMILY: the node and an admitted caller behind one port of the node, one after the other
	local to web from
	to=$(service_node "$1") web=$(service_at web "$1") from=$(initiator_outside allowed "$1")
	initiator_binds node 6560
	for _ in once again; do
		initiator_forget
		net_check "IPv$1: an admitted caller's datagram by the node's port arrives" net_is \
			"$(initiator_arrives web udp 6379 initiator_from out 6560 udp "$from" "$to" 30002)" 1
		initiator_forget
		net_allowed node udp "$web" 6379 "IPv$1: the node reaches web by UDP from the same port"
	done
	initiator_binds node "32768 60999"
}

# A pod that is denied the node sends to the port by which the node has masqueraded a caller, once the node's conntrack
# has forgotten the call: the datagram would find the node's own socket.
heard() { # POD FAMILY SOURCE-PORT PORT: whether the node's socket answers what the pod sends there
	initiator_from "$1" "$3" udp "$(service_at "$1" "$2")" "$(service_node "$2")" "$4"
	sleep 0.1
	net_on node conntrack -L -f "ipv$2" -p udp --orig-src "$(service_at "$1" "$2")" --orig-port-dst "$4" 2>/dev/null |
		grep -cv UNREPLIED
}
sockets() { # FAMILY
	local to caller called
	to=$(service_node "$1")
	initiator_binds out 6590
	initiator_binds mute 6590
	for caller in mute out; do
		called="$(service_address 3 "$1") 80"
		[ $caller = mute ] || called="$to 30003"
		initiator_forget
		# shellcheck disable=SC2086
		net_allowed $caller udp $called "IPv$1: $caller reaches mute by a Service, masqueraded"
		initiator_forget
		net_check "IPv$1: mute, which is denied the node, does not reach the node's socket by the port of $caller" \
			net_is "$(heard mute "$1" 6379 6590)" 0
		initiator_forget
		net_check "IPv$1: db reaches it" net_is "$(heard db "$1" 6300 6590)" 1
	done
	initiator_binds node 6591
	net_allowed node free "$(service_at mute "$1")" 6379 "IPv$1: mute answers a socket of the node that is not connected"
	initiator_binds node "32768 60999"
	initiator_binds out "32768 60999"
}

net_server node "$NET_TMP/node.6590" "$NET_PROBE" serve 6590
initiator_binds mute 6590
for family in 4 6; do
	net_allowed mute udp "$(service_address 3 $family)" 80 "IPv$family: mute reaches itself before there is a policy"
done
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
for family in 4 6; do
	initiator_forget
	net_check "IPv$family: mute does not reach the node's socket by a call of itself that load has adopted" \
		net_is "$(heard mute $family 6379 6590)" 0
done
for family in 4 6; do
	sockets $family
	leaves $family
	resets $family 6340
	initiator_rides $family "$(service_node $family)" "$(service_at web $family)" 6379
	replies $family
	outlives $family
	forgets $family 6570
	answers $family 6320
	alternate $family
done

# Another address of the node may be the one that masquerading takes, once the node has a bridge.
net_bridge inner
net_bridge_routes
net_bridged inner 1 >>"$NET_TMP/policy.ini"
net_check "load a policy with a bridged pod" net_bulkhead load "$NET_TMP/policy.ini"
for family in 4 6; do
	bridged $family 6310
done
net_end
