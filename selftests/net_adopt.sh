#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A node with open connections comes under policy: allowed connections go on, denied ones stop.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

command -v nft >/dev/null || net_skip "nft is not installed, so nothing makes the kernel track"
net_start db web vault

cat >"$NET_TMP/policy.ini" <<EOF
$(net_head)
$(net_endpoint db)
$(net_endpoint web)
$(net_endpoint other/vault)
[network-policy shop/db]
endpoints = role=db
types = Ingress, Egress
ingress = from endpoints(role=web), cidr(192.168.7.2/32)
[network-policy other/vault]
endpoints = role=vault
types = Ingress
EOF

declare -A asks hears

# Opens a connection between two hosts; asks[NAME] and hears[NAME] are the pipes of its client.
hold() { # NAME FROM ADDRESS PORT TO-PORT
	local ask hear
	net_server db "$NET_TMP/$1.ready" "$NET_PROBE" keep "$5"
	mkfifo "$NET_TMP/$1.ask" "$NET_TMP/$1.hear"
	nsenter --net="/run/netns/$NET-$2" "$NET_PROBE" hold "$3" "$4" 2000 \
		<"$NET_TMP/$1.ask" >"$NET_TMP/$1.hear" &
	NET_SERVERS+=($!)
	exec {ask}>"$NET_TMP/$1.ask" {hear}<"$NET_TMP/$1.hear"
	asks[$1]=$ask hears[$1]=$hear
}

heard() { # NAME: answered|silent|lost
	local line=lost
	echo again >&"${asks[$1]}"
	read -r -t 60 -u "${hears[$1]}" line
	echo "${line:-lost}"
}

expect() { # NAME WORD TEXT
	local word
	word=$(heard "$1")
	if [ "$word" = "$2" ]; then
		net_result ok "$3"
	else
		net_result "not ok" "$3"
		echo "# the connection is $word"
	fi
}

# Opens UDP from a pod or from outside, which is asked by its name: talks[NAME] and said[NAME] are the pipes.
declare -A talks said
talk() { # NAME FROM TO ADDRESS PORT
	local in out line
	mkfifo "$NET_TMP/$1.in" "$NET_TMP/$1.out"
	"$NET_HELPERS/pair" "/run/netns/$NET-$2" "/run/netns/$NET-$3" talk "$4" "$5" udp \
		<>"$NET_TMP/$1.in" >"$NET_TMP/$1.out" 2>&1 &
	NET_SERVERS+=($!)
	exec {out}<"$NET_TMP/$1.out" {in}>"$NET_TMP/$1.in"
	talks[$1]=$in said[$1]=$out
	read -r -t 60 -u "$out" line
	net_is "$line" ready
}
says() { # NAME there|back arrived|lost
	local line wait=$NET_WAIT_ALLOWED
	[ "$3" = arrived ] || wait=$NET_WAIT_DENIED
	echo "$2 $wait" >&"${talks[$1]}"
	read -r -t 60 -u "${said[$1]}" line
	net_is "$line" "$3"
}

open_all() { # FIRST-PORT
	hold "web-$1" web "$(net_ip db)" "$1" "$1"
	hold "web6-$1" web "$(net_ip6 db)" $(($1 + 1)) $(($1 + 1))
	hold "vault-$1" vault "$(net_ip db)" $(($1 + 2)) $(($1 + 2))
	hold "out-$1" out 192.168.7.1 $(($1 + 100)) $(($1 + 3))
	expect "web-$1" answered "before load, web's connection is open"
	expect "web6-$1" answered "before load, web's connection over IPv6 is open"
	expect "vault-$1" answered "before load, vault's connection is open"
	expect "out-$1" answered "before load, a connection from outside to an address that the node translates is open"
}

echo "# the kernel tracks nothing yet"
net_bulkhead load "$NET_TMP/policy.ini" 2>"$NET_TMP/note"
net_check "load says that open connections will have to reconnect" grep -q reconnect "$NET_TMP/note"
net_check "unload" net_bulkhead unload

net_on node nft -f - <<EOF2
table inet t {
	chain forward { type filter hook forward priority 0; ct state established accept; }
	chain nat {
		type nat hook prerouting priority -100;
		ip daddr 192.168.7.1 tcp dport 9100 dnat ip to $(net_ip db):9003
		ip daddr 192.168.7.1 tcp dport 9300 dnat ip to $(net_ip db):9203
	}
}
EOF2

# Of whom a call by UDP was, the kernel does not know: a pod that had the address before may have made it.
open_all 9000
for family in "" 6; do
	net_check "vault calls the outside by UDP$family" talk vault$family vault out "$(net_ip$family out)" 9500
	net_check "the outside calls db by UDP$family" talk out$family out db "$(net_ip$family db)" 9500
	for name in vault$family out$family; do
		net_check "before load, the answer to $name comes" says $name back arrived
	done
done
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
for family in "" 6; do
	net_check "the callee of an isolated pod's address does not reach the pod, UDP$family" says vault$family back lost
	net_check "the pod's next packet passes, UDP$family" says vault$family there arrived
	net_check "the answer to the pod's next packet passes, UDP$family" says vault$family back arrived
done
net_check "an isolated pod answers a call that came before the load" says out back arrived
expect web-9000 answered "a connection that policy allows goes on"
expect web6-9000 answered "a connection that policy allows goes on over IPv6"
expect out-9000 answered "a translated connection that policy allows goes on"
expect vault-9000 silent "a connection that policy denies stops"
expect web-9000 answered "a connection that policy allows still goes on"
net_check "unload" net_bulkhead unload

open_all 9200
net_check "load --no-adopt" net_bulkhead load --no-adopt "$NET_TMP/policy.ini"
expect web-9200 silent "--no-adopt: segments of no connection drop, allowed or not"
net_allowed web tcp "$(net_ip db)" 80 "a new connection opens"
net_end
