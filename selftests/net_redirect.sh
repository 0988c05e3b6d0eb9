#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Redirect between two pods of a node (load --set redirect=1): which packets take it, that frames arrive as
# if the host had forwarded them, and that policy, the host's NAT and the host's filter still apply.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

command -v nft >/dev/null || net_skip "needs nftables"
NET_PORTS=80
HELD=20
export WAIT=1000 # ms: for connections that are cut
net_start db web
# shellcheck disable=SC2034 # by way of its name
db4=$(net_ip db) db6=$(net_ip6 db)
liberal=/proc/sys/net/netfilter/nf_conntrack_tcp_be_liberal

policy() { # PORT...: that web may reach db at
	cat <<-EOF2
		$(net_head)
		$(net_endpoint db "mac = $(net_mac db)")
		$(net_endpoint web "mac = $(net_mac web)")
		[network-policy shop/db]
		endpoints = role=db
		ingress = from endpoints(role=web) ports $*
	EOF2
}
policy TCP/80, UDP/80, UDP/1001, TCP/8000-8016, UDP/8007 >"$NET_TMP/policy.ini"
policy TCP/80, UDP/80, UDP/1001, TCP/8009-8016 >"$NET_TMP/less.ini"

# Counts the packets that the host forwards, and those that pods receive without the marks of forwarding.
host_rules() { # RULE-OF-FORWARD
	net_on node nft -f - <<-EOF2
		table inet test
		delete table inet test
		table inet test {
			chain forward {
				type filter hook forward priority 0
				meta l4proto { tcp, udp } counter comment "forwarded"
				$1
			}
			chain translate {
				type nat hook prerouting priority dstnat
				ip daddr 10.96.0.1 dnat ip to $db4
			}
		}
	EOF2
}
host_rules ""
for pod in db web; do
	net_on $pod nft -f - <<-EOF2
		table inet test {
			chain in {
				type filter hook prerouting priority raw
				iif eth0 meta l4proto { tcp, udp } jump look
			}
			chain look {
				counter comment "all"
				ip ttl != 63 counter comment "wrong"
				ip6 hoplimit != 63 counter comment "wrong"
				ether daddr != $(net_mac $pod) counter comment "wrong"
				ether saddr != 02:00:00:00:02:01 counter comment "wrong"
			}
		}
	EOF2
done
count() { # COMMENT HOST...: packets
	local host
	for host in "${@:2}"; do
		net_on "$host" nft list table inet test
	done | sed -n "s/.*counter packets \([0-9]*\) .*\"$1\"/\1/p" | awk "{ n += \$1 } END { print n + 0 }"
}

# Waits until no late acknowledgement arrives any more.
quiet() {
	local got
	until [ "${got:-none}" = "$(count all db web)" ]; do
		got=$(count all db web)
		sleep 0.3
	done
}
counted() {
	net_counters | sed -n 's/^[a-z]* \([0-9]*\) of an allowed connection$/\1/p'
}

refused() {
	net_bulkhead load --set redirect=1 "$NET_TMP/policy.ini"
	[ $? -eq 3 ] && [ ! -e "$NET_PIN/config" ]
}
hold() { # ADDRESS PORT
	net_check "$HELD connections to $1, port $2" net_hold web db "$1" "$2" $HELD
}
# Sends some hundred packets each way.
alive() { # PORT
	local i
	for i in {1..10}; do
		net_is "$(net_alive "$1")" $HELD || return
	done
}
# Runs a command and compares the packets that arrive with those that the host forwards: most bypass the
# host, or none. Retransmissions of connections that were cut pass the host whenever they come.
past_host() { # most|none COMMAND...
	local want=$1 forwarded got
	shift
	quiet
	forwarded=$(count forwarded node) got=$(count all db web)
	"$@" || return
	quiet
	got=$(($(count all db web) - got)) forwarded=$(($(count forwarded node) - forwarded))
	echo "of $got packets, $forwarded by the host"
	case $want in
	most) [ $((2 * forwarded)) -lt $got ] ;;
	none) [ $forwarded -ge $got ] ;;
	esac
}

# After it has learnt the path MTU, a pod sends datagrams that fit.
narrow() { # MTU SIZE
	ip -n "$NET-node" link set veth-db mtu "$1"
	ip -n "$NET-web" route flush cache
	net_is "$(net_pair web db df "$db4" 8007 1400)" "$2"
}
# The host's filter takes effect when the path expires and must be proven again, after some seconds.
stopped() { # PORT
	local i
	for i in {1..30}; do
		[ "$(net_alive "$1")" -eq 0 ] && return
		sleep 1
	done
	false
}

net_on node sh -c "echo 0 >$liberal"
net_check "load --set redirect=1 is refused where the host's conntrack is strict" refused
net_on node sh -c "echo 1 >$liberal"
net_check "load without redirect" net_bulkhead load "$NET_TMP/policy.ini"
hold "$db4" 8000
net_check "without redirect the host forwards every packet" past_host none alive 8000
net_check "unload" net_bulkhead unload
net_check "load --set redirect=1" net_bulkhead load --set redirect=1 "$NET_TMP/policy.ini"

for version in 4 6; do
	address=db$version
	address=${!address}
	net_allowed web tcp "$address" 80 "IPv$version: web reaches db by TCP"
	net_allowed web udp "$address" 80 "IPv$version: web reaches db by UDP"
	hold "$address" 801$version
	net_check "IPv$version: most packets bypass the host" \
		past_host most alive 801$version
	net_check "IPv$version: a megabyte arrives whole" net_pair web db tcp "$address" 8009 1000000
	net_check "IPv$version: connections that a policy will deny open" net_hold web db "$address" 800$version 2
	net_check "IPv$version: these connections are alive" net_is "$(net_alive 800$version)" 2
	for i in {1..5}; do
		net_allowed web udp "$address" 80 "IPv$version: web reaches db by UDP again"
	done
done
for i in {1..5}; do
	net_allowed web tcp 10.96.0.1 80 "a TCP call that the host translates is answered"
	net_allowed web udp 10.96.0.1 80 "a UDP call that the host translates is answered"
done
net_check "a pod learns a narrow path's MTU" narrow 1300 1272
net_check "a pod learns that the path is wide again" narrow 1500 1400

quiet
before=$(counted) got=$(count all db web)
net_check "the open connections go on" alive 8014
quiet
net_check "each packet is counted once" \
	net_is $(($(counted) - before)) $(($(count all db web) - got))
net_check "every packet has one hop less and the last hop's MACs" \
	net_is "$(count wrong db web)" 0

net_check "load a policy that allows less" net_bulkhead load "$NET_TMP/less.ini"
for version in 4 6; do
	net_check "IPv$version: denied connections stop at once" net_is "$(net_alive 800$version)" 0
	net_check "IPv$version: allowed connections go on past the host" past_host most alive 801$version
done
net_check "connections that the host's filter will stop open" net_hold web db "$db4" 8015 2
net_check "these connections are alive" net_is "$(net_alive 8015)" 2
host_rules "tcp dport 8015 drop"
net_check "the host's filter stops them" stopped 8015
net_check "other connections go on" alive 8014
net_check "unload" net_bulkhead unload
net_check "connections go on after unload" alive 8014
net_check "after unload the host forwards every packet" past_host none alive 8016
net_end
