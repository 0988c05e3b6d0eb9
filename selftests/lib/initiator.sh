# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Frames with a source port of their own, and counts of what arrives, for tests of whom a packet comes from where
# the node translates. Source net.sh or cluster.sh first.
#
#   initiator_count out db               from now on these hosts count what they receive, before their kernel sees it
#   initiator_from web 6500 udp FROM TO 30001      a frame as web's interface would send it (helpers/frame.c)
#   initiator_arrives db udp 6379 COMMAND...       how many packets arrive at that port of db by the command
#   initiator_forget                     the node's conntrack forgets, as after its timeouts
#   initiator_binds web 5000             makes every socket of web have this source port
#   initiator_rides 4 TO WEB 6379        probes of web's NodePort 30002, at its node's address TO, by two callers
#
# Frames have source ports from 6000 to 6378, to which hosts do not answer. They answer the node's own packets, which
# nobody has forwarded: if a port is taken, the node's kernel chooses another one, which may be one of these.

INITIATOR_NODE=${INITIATOR_NODE:-node}
INITIATOR_NODE_MAC=${INITIATOR_NODE_MAC:-02:00:00:00:07:01}

initiator_count() { # HOST...
	local host
	for host; do
		net_on "$host" nft -f - <<-EOF || return
		table inet seen {
			set ports { typeof meta l4proto . th dport; counter; }
			chain in {
				type filter hook prerouting priority raw
				meta l4proto { tcp, udp } th dport 6000-8999 counter
				meta l4proto { tcp, udp } add @ports { meta l4proto . th dport }
				ip ttl 64 accept
				ip6 hoplimit 64 accept
				meta l4proto { tcp, udp } th sport 6000-6378 counter drop
				meta l4proto { tcp, udp } th dport 6100-6378 counter drop
			}
		}
		EOF
	done
}

initiator_seen() { # HOST PROTOCOL PORT
	net_on "$1" nft list set inet seen ports |
		grep -o "$2 \. $3 counter packets [0-9]*" | awk '{ n = $NF } END { print n + 0 }'
}

initiator_arrives() { # HOST PROTOCOL PORT COMMAND...
	local before
	before=$(initiator_seen "${@:1:3}")
	"${@:4}" || return
	sleep 0.1
	echo $(($(initiator_seen "${@:1:3}") - before))
}

# The node's side of a pod has one MAC.
initiator_from() { # HOST SOURCE-PORT KIND ARGUMENT...
	local mac=02:00:00:00:07:02 to=$INITIATOR_NODE_MAC
	[ "$1" = out ] || { mac=$(net_mac "$1") && to=02:00:00:00:02:01; }
	net_frame "$1" -s "$2" eth0 "$mac" "$to" "${@:3}"
}

# Addresses of `out`, of which policy admits one.
initiator_outside() { # allowed|denied 4|6
	case $1$2 in
	allowed4) echo 172.17.0.9 ;;
	denied4) echo 172.17.1.9 ;;
	allowed6) echo fd17:0::9 ;;
	denied6) echo fd17:1::9 ;;
	esac
}

initiator_forget() {
	net_on "$INITIATOR_NODE" conntrack -F >/dev/null 2>&1
}

initiator_binds() { # HOST PORTS
	net_on "$1" sh -c "echo ${2%% *} ${2##* } >/proc/sys/net/ipv4/ip_local_port_range"
}

# A denied caller after an allowed one, behind one port of the node.
initiator_rides() { # FAMILY NODE-ADDRESS WEB-ADDRESS WEB-PORT
	local who wanted
	for who in allowed:1 denied:0 allowed:1; do
		wanted=${who#*:} who=${who%:*}
		initiator_forget
		net_check "IPv$1: of a datagram of the $who caller to web's NodePort, $wanted arrives" net_is "$(initiator_arrives web \
			udp "$4" initiator_from out 6300 udp "$(initiator_outside "$who" "$1")" "$2" 30002)" "$wanted"
		net_check "IPv$1: of web's reply to the $who caller, $wanted arrives" net_is \
			"$(initiator_arrives out udp 6300 initiator_from web "$4" udp "$3" "$2" 6300)" "$wanted"
	done
}
