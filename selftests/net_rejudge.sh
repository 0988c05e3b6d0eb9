#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Connections that are open when policy changes: the next packet, from either side, is evaluated anew.
# Forbidden connections stop and stay stopped, allowed ones go on, and those that are allowed again resume.
# TCP and UDP over IPv4 and IPv6, between endpoints and with a remote peer.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

MOVED=9001 KEPT=9002
NET_PORTS=80
net_start db web

# Each argument allows the kept port only (kept) or both ports (all): db's ingress from web, its ingress
# from outside, its egress, and web's egress.
policy() { # FROM-WEB FROM-OUTSIDE OUT-OF-DB OUT-OF-WEB
	local ports="TCP/$KEPT, UDP/$KEPT"
	local all="$ports, TCP/$MOVED, UDP/$MOVED"
	local words=()
	for word; do
		[ "$word" = all ] && words+=("$all") || words+=("$ports")
	done
	cat <<-EOF
	$(net_head)
	$(net_endpoint db)
	$(net_endpoint web)
	[network-policy shop/db]
	endpoints = role=db
	types = Ingress, Egress
	ingress = from endpoints(role=web) ports ${words[0]}
	ingress = from cidr(192.168.7.0/24), cidr(fd07::/64) ports ${words[1]}
	egress = to cidr(192.168.7.0/24), cidr(fd07::/64) ports ${words[2]}
	[network-policy shop/web]
	endpoints = role=web
	types = Egress
	egress = to endpoints(role=db) ports ${words[3]}
	EOF
}
policy all all all all >"$NET_TMP/all.ini"
# Between db and web: the destination's policy forbids the moved port, or the source's does.
policy kept kept kept all >"$NET_TMP/called.ini"
policy all kept kept kept >"$NET_TMP/caller.ini"
# Both policies forbid the moved port.
policy kept kept kept kept >"$NET_TMP/both.ini"

# Opens a connection by name; one process holds both ends.
TALKS=()
talk() { # FROM TO ADDRESS PORT tcp|udp
	local name="$1-$2-$3-$4-$5"
	mkfifo "$NET_TMP/$name.in" "$NET_TMP/$name.out"
	"$NET_HELPERS/pair" "/run/netns/$NET-$1" "/run/netns/$NET-$2" talk "$3" "$4" "$5" \
		<>"$NET_TMP/$name.in" >"$NET_TMP/$name.out" 2>&1 &
	NET_SERVERS+=($!)
	exec {out}<"$NET_TMP/$name.out" {in}>"$NET_TMP/$name.in"
	TALKS+=("$name $in $out")
	read -r -t 60 -u "$out" said
	net_is "$said" ready
}
talks() { # PORT tcp|udp
	talk web db "$(net_ip db)" "$@" && talk web db "$(net_ip6 db)" "$@" &&
		talk out db "$(net_ip db)" "$@" && talk out db "$(net_ip6 db)" "$@" &&
		talk db out "$(net_ip out)" "$@" && talk db out "$(net_ip6 out)" "$@"
}

# Sends over every connection in one direction at once: the moved ones arrive or are lost as told, the kept
# ones arrive.
all_say() { # there|back arrived|lost
	local name in out said want wait=$NET_WAIT_ALLOWED status=0
	[ "$2" = arrived ] || wait=$NET_WAIT_DENIED
	for line in "${TALKS[@]}"; do
		read -r name in out <<<"$line"
		case $name in
		*-$KEPT-*) echo "$1 $NET_WAIT_ALLOWED" >&"$in" ;;
		*) echo "$1 $wait" >&"$in" ;;
		esac
	done
	for line in "${TALKS[@]}"; do
		read -r name in out <<<"$line"
		read -r -t 60 -u "$out" said
		case $name in
		*-$KEPT-*) want=arrived ;;
		*) want=$2 ;;
		esac
		[ "$said" = "$want" ] || { echo "$name $1: $said" && status=1; }
	done
	return $status
}
load() { # NAME POLICY
	net_check "$1" net_bulkhead load "$NET_TMP/$2.ini"
}
stopped() { # FIRST SECOND: whichever side sends, and sends again
	net_check "forbidden connections stop, $1 first" all_say "$1" lost
	net_check "forbidden connections stay stopped: $2" all_say "$2" lost
	net_check "forbidden connections stay stopped: $1 again" all_say "$1" lost
}
goes_on() { # FIRST SECOND
	net_check "all connections go on, $1 first" all_say "$1" arrived
	net_check "all connections go on: $2" all_say "$2" arrived
}

load "load" all
for port in $MOVED $KEPT; do
	net_check "open TCP connections to $port" talks $port tcp
	net_check "open UDP flows to $port" talks $port udp
done
goes_on there back

load "the called end forbids it" called
stopped there back
load "it is allowed again" all
goes_on there back
load "the calling end forbids it" caller
stopped back there
load "it is allowed again" all
goes_on back there

# A load does not read the connection table: with its pin out of reach, connections are evaluated anew as well.
net_check "move the pin of the connection table away" mv "$NET_PIN/ct" "$NET_PIN/ct-away"
load "both ends forbid it" both
stopped back there
load "it is allowed again" all
goes_on there back
net_check "move the pin of the connection table back" mv "$NET_PIN/ct-away" "$NET_PIN/ct"

# Between two forbidding policies, no packet passes.
load "the called end forbids it" called
stopped back there
load "the calling end does instead" caller
stopped there back
load "the called end does again" called
net_check "between two forbidding policies no packet gets back" all_say back lost
load "it is allowed again" all
goes_on back there

net_end
