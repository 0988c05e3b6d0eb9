#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A verdict counts for the end that it was looked up for. For multicast and broadcast, each receiver's own
# policy decides; so does the policy of an endpoint behind an address that the policy does not list. A pod's
# packets from a link-local address or from none open no other pod's connection.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 7000"
net_start open shut x y z
RECEIVERS="before job after"

# The bridge floods in port order: `before` and `after` are isolated, on either side of `job`. `lan` is no
# endpoint.
net_bridge before web job after lan
mac_of() { echo 02:00:00:00:04:0"$1"; }
link_of() { echo "fe80::ff:fe00:40$1"; } # made from the MAC

# Second addresses of two routed pods, one of them isolated; and the pods' link-local addresses.
VIP=("10.99.0.1 fd99::1" "10.99.0.2 fd99::2")
for pod in open shut; do
	for vip in ${VIP[$(($(net_number $pod) - 1))]}; do
		ip -n "$NET-$pod" addr add "$vip" dev lo
		ip -n "$NET-node" route add "$vip" via "$(net_ip $pod)" dev veth-$pod 2>/dev/null ||
			ip -n "$NET-node" -6 route add "$vip" via "$(net_ip6 $pod)" dev veth-$pod
	done
	ip -n "$NET-node" route add "$(net_ip $pod)" dev veth-$pod 2>/dev/null
done
host=02:00:00:00:02:01 node_link=fe80::ff:fe00:201 x_link=fe80::ff:fe00:103

{
	net_head "uplink = eth0"
	net_node_object
	net_bridged before 1
	net_bridged web 2
	net_bridged job 3
	net_bridged after 4
	for pod in open shut x y z; do
		net_endpoint $pod
		[ $pod != open ] || echo "allow-source = 10.99.0.1/32, fd99::1/128"
	done
	for pod in before after shut; do
		printf '%s\n' "[network-policy shop/$pod]" "endpoints = role=$pod" \
			"types = Ingress, Egress"
	done
	# `open` may send replies only.
	cat <<-EOF
	[network-policy shop/open]
	endpoints = role=open
	types = Ingress, Egress
	ingress = ports UDP/7000, TCP/80
	[admin-network-policy guard]
	priority = 10
	subject = namespaces(kubernetes.io/metadata.name=shop)
	egress = Pass to endpoints(role=x in namespaces())
	[namespace guarded]
	$(net_endpoint_at guarded/none worker-2 10.9.0.1)
	[network-policy shop/y]
	endpoints = role=y
	types = Egress
	[admin-network-policy node]
	priority = 11
	subject = endpoints(role=y in namespaces())
	egress = Deny to nodes()
	[admin-network-policy port]
	priority = 12
	subject = endpoints(role=z in namespaces())
	egress = Deny to nodes() ports UDP/67, UDP/7777
	EOF
} >"$NET_TMP/policy.ini"

counts() { # PORT: how many the receivers have got, each
	for pod in $RECEIVERS; do
		net_count "$pod" "$1"
	done | paste -sd ' '
}
group() { # KIND: the MAC and the address that all receivers listen to, and web's own
	case $1 in
	multicast) echo 01:00:5e:00:00:01 224.0.0.1 10.50.0.2 10.50.0.5 ;;
	broadcast) echo ff:ff:ff:ff:ff:ff 255.255.255.255 10.50.0.2 10.50.0.5 ;;
	ipv6) echo 33:33:00:00:00:01 ff02::1 "$(link_of 2)" "$(link_of 5)" ;;
	esac
}
groups="multicast broadcast ipv6"
three() { # FROM NUMBER MAC SOURCE DESTINATION PORT
	net_frame "$1" -n 3 eth0 "$(mac_of "$2")" "$3" udp "$4" "$5" "$6"
}
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

names() { echo "${NET_BRIDGED[$(($1 - 1))]}"; }
address() { # PREFIX NUMBER
	[ "$1" = fe80 ] && link_of "$2" || echo "$1$2"
}
prefixes="10.50.0. fd50:: fe80"
port=7000 ports=""
for _ in $groups $groups $prefixes $prefixes; do
	port=$((port + 1))
	ports+=" $port"
done
for pod in $RECEIVERS; do
	# shellcheck disable=SC2086
	net_stream "$pod" recv $ports
done
port=7000
for kind in $groups; do
	read -r mac to web lan <<<"$(group "$kind")"
	port=$((port + 2))
	for _ in 1 2; do
		three web 2 "$mac" "$web" "$to" $((port - 1))
		three lan 5 "$mac" "$lan" "$to" $port
	done
done

# A frame to the broadcast MAC with a unicast IP address opens no connection between the two pods, in either
# direction.
talk() { # NUMBER SOURCE-OF-WEB ITS-OWN PORT: unicast there, and back
	three web 2 "$(mac_of "$1")" "$2" "$3" "$4"
	net_frame "$(names "$1")" -n 3 -s "$4" eth0 "$(mac_of "$1")" "$(mac_of 2)" udp "$3" "$2" 40000
}
for prefix in $prefixes; do
	web=$(address "$prefix" 2)
	for number in 1 3; do
		to=$(address "$prefix" $number)
		port=$((port + 1))
		three web 2 ff:ff:ff:ff:ff:ff "$web" "$to" $port
		net_moved talk $number "$web" "$to" $port >"$NET_TMP/talk"
		if [ $number = 1 ]; then
			net_check "an isolated pod's connection does not open after a broadcast frame by $to" net_is "$(cat "$NET_TMP/talk")" \
				"drop 3 denied by the source's policy
drop 3 denied by the destination's policy"
		else
			net_check "an allowed connection opens after a broadcast frame by $to" \
				test "$(grep -c '^drop' "$NET_TMP/talk")" = 0
		fi
	done
done
sleep 0.1
net_stream_end
port=7000
for kind in $groups; do
	port=$((port + 2))
	net_check "$kind from a pod: the isolated receivers get none, the open one all" net_is "$(counts $((port - 1)))" "0 6 0"
	net_check "$kind from another port of the bridge: the same receivers get it" net_is "$(counts $port)" "0 6 0"
done
for prefix in $prefixes; do
	port=$((port + 2))
	net_check "no receiver of a frame to all by $(address "$prefix" 1), an isolated pod's" net_is "$(counts $((port - 1)))" "0 0 0"
	net_check "the open receiver alone of a frame to all by $(address "$prefix" 3)" net_is "$(counts $port)" "0 6 0"
done

# An address that the policy does not list: the endpoint behind it has a policy all the same.
for i in 0 1; do
	read -r open _ <<<"${VIP[0]}"
	read -r shut _ <<<"${VIP[1]}"
	[ $i = 0 ] || open=${VIP[0]#* } shut=${VIP[1]#* }
	for from in out x; do
		net_denied $from udp "$shut" 7000 "$from does not reach the isolated pod behind $shut"
		net_denied $from tcp "$shut" 80 "$from does not reach the isolated pod behind $shut over TCP"
		net_allowed $from udp "$open" 7000 "$from reaches the pod behind $open, which admits it"
		net_allowed $from tcp "$open" 80 "$from reaches the pod behind $open over TCP"
		net_denied $from udp "$open" 80 "$from reaches no other port behind $open"
	done
done

# Link-local: the same addresses and ports on two links are two connections.
by() { # POD DESTINATION-PORT [OPTION...]: by the fe80 address of x
	net_moved net_frame "$1" "${@:3}" eth0 "$(net_mac "$1")" $host udp $x_link $node_link "$2" |
		grep -v "ICMP error" # the node's ICMP error, from a closed port
}
passes() { # all counters that moved are of packets that pass
	net_is "$(cut -c 1-4 <<<"$1" | sort -u)" pass
}
denied="drop 1 denied by the source's policy"
net_check "x speaks to its node by a link-local address" passes "$(by x 7000)"
net_check "y, which is denied, does not reach the node by the same address" net_is "$(by y 7000)" "$denied"
net_check "x's connection goes on" passes "$(by x 7000)"
net_check "y does not reach the node with other ports" net_is "$(by y 7001)" "$denied"
net_check "x reaches the node with those ports" passes "$(by x 7001)"
sed 's/priority = 10/priority = 9/' "$NET_TMP/policy.ini" >"$NET_TMP/other.ini"
net_check "load another policy" net_bulkhead load "$NET_TMP/other.ini"
net_check "y, first after the commit, does not reach the node" net_is "$(by y 7001)" "$denied"
net_check "x's connection goes on after the commit" passes "$(by x 7001 -n 10)"

# A pod's packet to a group reaches its node, and the node has no receiver's hook: the pod's own hook asks whether an Admin
# rule denies the node.
to_all() { # POD PORT KIND
	local mac to own
	read -r mac to own <<<"$(group "$3")"
	own=$(net_ip "$1")
	[ "$3" != ipv6 ] || own=$(net_ip6 "$1")
	net_moved net_frame "$1" eth0 "$(net_mac "$1")" "$mac" udp "$own" "$to" "$2"
}
net_stream node recv 67 7777 7778
for kind in $groups; do
	net_check "x sends $kind to the node" passes "$(to_all x 7777 "$kind")"
	net_check "z, which may not call that port of the node, does not by $kind" net_is "$(to_all z 7777 "$kind")" "$denied"
	net_check "z sends $kind to another port" passes "$(to_all z 7778 "$kind")"
done
to_zero() { # POD: what the kernel takes for a broadcast as well
	net_moved net_frame "$1" -s 68 eth0 "$(net_mac "$1")" $host udp 0.0.0.0 0.0.0.0 67
}
net_check "x sends from and to the unspecified address" passes "$(to_zero x)"
net_check "z, which may not call that port of the node, does not by that address" net_is "$(to_zero z)" "$denied"
sleep 0.1
net_stream_end
net_check "the node has got what these two sent" \
	net_is "$(net_count node 7777) $(net_count node 7778) $(net_count node 67)" "3 3 1"

# A packet from the unspecified address belongs to its own link as well.
asks() { # POD: for one
	net_moved net_frame "$1" -s 68 eth0 "$(net_mac "$1")" ff:ff:ff:ff:ff:ff udp 0.0.0.0 255.255.255.255 67
}
net_check "x's DHCP request passes" net_is "$(asks x | cut -c 1-6)" "pass 1"
net_check "y's DHCP request is dropped" net_is "$(asks y)" "$denied"
net_check "x's DHCP request passes again" net_is "$(asks x | cut -c 1-6)" "pass 1"

net_end
