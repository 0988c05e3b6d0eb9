#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Who tries to open an address by a domain name without the resolver: the pod itself, another pod, a host outside, a
# port of the same bridge, a server that is no resolver, and bytes that look like an answer. The same answer opens
# the address where the resolver gives it. And who tries to use up what others need.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/dns.sh
. "$(dirname "$0")/lib/dns.sh"

NET_PORTS=80
NET_WAIT_DENIED=400
GATEWAY=02:00:00:00:02:01
OUTSIDE=02:00:00:00:07:02
far4=172.18.0.53 far6=fd18::53 # a resolver outside
net_start web other dns
for address in "$far4/32" "$far6/128 nodad" "198.18.255.1/32" "fd98::ff01/128 nodad"; do
	# shellcheck disable=SC2086
	ip -n "$NET-out" addr add $address dev lo
done
ip -n "$NET-out" route add local 198.18.0.0/16 dev lo
ip -n "$NET-out" -6 route add local fd98::/64 dev lo
for n in 1 2 3; do
	ip -n "$NET-out" addr add 172.18.0.$n/32 dev lo
done
net_bridge left right server
net_bridge_routes
net_neighbour node br0 02:00:00:00:04:01 10.50.0.1

policy() {
	cat <<-END
	$(net_head "uplink = eth0" "resolver = $(net_ip dns), $(net_ip6 dns), $far4, $far6, $out4, 10.50.0.3")
	$(net_endpoint web "mac = $(net_mac web)")
	$(net_endpoint other "mac = $(net_mac other)")
	$(net_endpoint dns "mac = $(net_mac dns)")
	$(net_bridged left 1)
	$(net_bridged right 2)
	$(net_bridged server 3)
	[cluster-network-policy names]
	tier = Admin
	priority = 10
	subject = namespaces()
	egress = Accept to cidr(0.0.0.0/0), cidr(::/0) ports UDP/53, TCP/53
	egress = Accept to names(api.example.com, *.svc.example.org) ports TCP/80
	egress = Deny to cidr(0.0.0.0/0), cidr(::/0)
	END
}
policy >"$NET_TMP/policy.ini"
net_check "load a policy with names" net_bulkhead load --set dns-grace=600 "$NET_TMP/policy.ini"

# ---- forged answers ----

count() { # RESULT: answers with that result so far
	net_bulkhead metrics | sed -n "s/^bulkhead_dns_messages_total{result=\"$1\"} //p"
}

# An open question of web: its port and transaction ID are the same each time, which helps who guesses.
asks() { # HOST RESOLVER
	net_on "$1" "$DNS" leave 5300 77 "$2" api.example.com
}

forges() { # HOST INTERFACE FROM-MAC TO-MAC SOURCE DESTINATION [ID] [COUNT] [PORT] [CUT]
	net_on "$1" "$DNS" forge "$2" "$3" "$4" "$5" "$6" "${9:-5300}" "${7:-77}" "${8:-1}" api.example.com \
		172.18.0.1 ${10:+"${10}"}
}

closed() { # WHO
	net_denied web tcp 172.18.0.1 80 "$1 opens nothing"
}

# The resolver's own answer opens the address. Then the address is closed again.
twin() { # NAME FORGES-ARGUMENT...
	net_check "$1 answers" forges "${@:2}"
	net_allowed web tcp 172.18.0.1 80 "the same answer by $1 opens the address"
	again
}

# Nobody has learned or asked anything any more, or has a connection to a resolver. A load after an unload begins so,
# too, but the kernel takes most of a second for its programs.
again() {
	local map
	for map in questions learned learn_order learners streams carries; do
		bpftool -j map dump pinned "$NET_PIN/$map" | jq -r '.[].key | join(" ")' |
			sed "s|^|map delete pinned $NET_PIN/$map key |"
	done >"$NET_TMP/learned"
	net_check "all is forgotten that was asked and learned" bpftool batch file "$NET_TMP/learned"
}

web_mac=$(net_mac web) other_mac=$(net_mac other) dns_mac=$(net_mac dns)
for version in 4 6; do
	address=net_ip far=$far4
	[ $version = 4 ] || address=net_ip6 far=$far6
	web=$($address web) other=$($address other) dns=$($address dns)

	echo "# IPv$version: a resolver that is a pod"
	net_check "web asks the pod dns" asks web "$dns"
	forges web eth0 "$web_mac" $GATEWAY "$dns" "$web"
	closed "a pod that answers itself by the resolver's address"
	forges web eth0 "$dns_mac" $GATEWAY "$dns" "$web"
	closed "a pod that answers itself by the resolver's address and MAC"
	forges web eth0 "$web_mac" $GATEWAY "$web" "$web"
	closed "a pod that answers itself by its own address"
	forges other eth0 "$other_mac" $GATEWAY "$dns" "$web"
	closed "another pod by the resolver's address"
	forges other eth0 "$other_mac" $GATEWAY "$other" "$web"
	closed "another pod by its own address"
	forges out eth0 $OUTSIDE 02:00:00:00:07:01 "$dns" "$web"
	closed "a host outside by the address of a pod"
	forges dns eth0 "$dns_mac" $GATEWAY "$dns" "$web" 78
	closed "the resolver with another transaction ID"
	twin "the pod dns" dns eth0 "$dns_mac" $GATEWAY "$dns" "$web"

	echo "# IPv$version: a resolver outside"
	net_check "web asks the resolver outside" asks web "$far"
	forges web eth0 "$web_mac" $GATEWAY "$far" "$web"
	closed "a pod that answers itself by the address of a resolver outside"
	before=$(count unasked)
	net_check "a host outside guesses 40,000 transaction IDs" \
		forges out eth0 $OUTSIDE 02:00:00:00:07:01 "$far" "$web" 78 40000
	closed "a host outside that guesses transaction IDs"
	net_check "each guess is counted" test $(($(count unasked) - before)) -gt 30000
	forges out eth0 $OUTSIDE 02:00:00:00:07:01 "$far" "$web" 77 1 5301
	closed "a host outside that guesses the port"
	twin "the resolver outside" out eth0 $OUTSIDE 02:00:00:00:07:01 "$far" "$web"

	echo "# IPv$version: a server that is no resolver"
	net_check "web asks another pod" asks web "$other"
	forges other eth0 "$other_mac" $GATEWAY "$other" "$web"
	closed "a pod that answers as it was asked, and is no resolver"
done

echo "# fragments"
net_check "web asks the pod dns" asks web "$(net_ip dns)"
forges web eth0 "$web_mac" $GATEWAY "$(net_ip dns)" "$(net_ip web)" 77 1 5300 56
closed "a pod that answers itself by fragments"
forges other eth0 "$other_mac" $GATEWAY "$(net_ip dns)" "$(net_ip web)" 77 1 5300 56
closed "another pod by fragments"
# The first fragment has UDP's 8 bytes, the header's 12, the question's 21, and in 64 bytes one record of 16.
forges dns eth0 "$dns_mac" $GATEWAY "$(net_ip dns)" "$(net_ip web)" 77 1 5300 48
closed "the resolver's fragment without a whole record"
net_check "web asks the pod dns again" asks web "$(net_ip dns)"
forges dns eth0 "$dns_mac" $GATEWAY "$(net_ip dns)" "$(net_ip web)" 77 1 5300 64
net_allowed web tcp 172.18.0.1 80 "the record in the first fragment of the resolver's answer opens its address"
net_denied web tcp 198.18.0.1 80 "a record in a later fragment opens nothing"
again

echo "# a bridge"
net_check "a pod of the bridge asks another one" asks left 10.50.0.3
forges right eth0 02:00:00:00:04:02 02:00:00:00:04:01 10.50.0.3 10.50.0.1
net_denied left tcp 172.18.0.1 80 "another port of the bridge by the resolver's address opens nothing"
forges right eth0 02:00:00:00:04:03 02:00:00:00:04:01 10.50.0.3 10.50.0.1
net_denied left tcp 172.18.0.1 80 "another port of the bridge by its address and MAC opens nothing"
forges left eth0 02:00:00:00:04:01 02:00:00:00:04:01 10.50.0.3 10.50.0.1
net_denied left tcp 172.18.0.1 80 "the pod itself opens nothing through the bridge"
forges server eth0 02:00:00:00:04:03 02:00:00:00:04:01 10.50.0.3 10.50.0.1
net_allowed left tcp 172.18.0.1 80 "the resolver on the bridge opens the address"

# ---- bytes that look like an answer ----

echo "# TCP"
dns_answers text=172.18.0.2
net_check "web gets an answer that has another answer in it" net_on web "$DNS" smuggle "$out4" api.example.com
net_denied web tcp 172.18.0.2 80 "an answer within the data of a record opens nothing, though a segment begins with it"
for size in 1 2 3 20 46; do
	again
	dns_answers a=172.18.0.2 pieces=$size
	net_check "web gets an answer in segments of $size bytes" net_on web "$DNS" ask tcp "$out4" api.example.com
	net_allowed web tcp 172.18.0.2 80 "an answer in segments of $size bytes opens the address"
done
dns_answers many=200 a=172.18.0.3 pieces=700
net_check "web gets 201 addresses in segments of 700 bytes" net_on web "$DNS" ask tcp "$out4" api.example.com
net_allowed web tcp 172.18.0.3 80 "the last of 201 addresses in segments is open"

# Segments of the resolver's address that follow nothing of the connection, whoever sends them.
question='\0\041\0\001\001\0\0\001\0\0\0\0\0\0\003api\007example\003com\0\0\001\0\001'
mkfifo "$NET_TMP/later.in" "$NET_TMP/later.out"
exec {ask}<>"$NET_TMP/later.in" {hear}<>"$NET_TMP/later.out"
connects() { # web's connection, by which it asks later; sets $port, web's
	local said
	nsenter --net="/run/netns/$NET-web" bash -c "exec 3<>/dev/tcp/$out4/53 && echo ready && read -r &&
		printf '$question' >&3 && head -c 49 <&3 | wc -c" <"$NET_TMP/later.in" >"$NET_TMP/later.out" &
	NET_SERVERS+=($!)
	read -r -t 60 -u "$hear" said
	port=$(net_on web ss -Htn state established dst "$out4" dport = :53 | awk '{ sub(".*:", "", $3); print $3 }')
	net_is "$said" ready
}
asks_by_it() {
	local said
	echo >&"$ask"
	read -r -t 60 -u "$hear" said
	net_is "$said" 49
}
dns_answers a=172.18.0.2
for forged in "tcp 12" "tcp 2" "data 10"; do
	again
	net_check "web connects to the resolver" connects
	for number in 11111111 91111111; do
		# shellcheck disable=SC2086
		net_check "a forged segment: $forged $number" net_frame out -s 53 eth0 $OUTSIDE 02:00:00:00:07:01 \
			${forged% *} "$out4" "$(net_ip web)" "$port" ${forged#* } $number
	done
	net_check "web asks by that connection" asks_by_it
	net_allowed web tcp 172.18.0.2 80 "after forged segments ($forged), the answer opens the address"
done

# Each of web's carries gets the word that says whose it is: 2 while another CPU has it.
carries() { # WORD
	local bucket key
	key=$(bpftool -j map dump pinned "$NET_PIN/carries" | jq -r '.[0].key[:4] | join(" ")')
	for bucket in {0..15}; do
		# shellcheck disable=SC2046,SC2086
		bpftool map update pinned "$NET_PIN/carries" key $key "$bucket" 0 0 0 \
			value "$1" $(printf '0 %.0s' {2..4120}) || return
	done
}
again
dns_answers a=172.18.0.3 pieces=20
dns_asks web other.example.com A tcp
net_check "another CPU has each carry" carries 2
dns_asks web api.example.com A tcp
net_denied web tcp 172.18.0.3 80 "an answer in segments opens nothing while another CPU has the carry"
net_check "the other CPU leaves each carry" carries 0
dns_asks web api.example.com A tcp
net_allowed web tcp 172.18.0.3 80 "an answer in segments opens the address once no CPU has the carry"

dns_answers class a=172.18.0.1
net_check "web gets an answer of another class" net_on web "$DNS" ask udp "$out4" api.example.com
closed "an answer of another class"

# ---- what others need ----

echo "# a pod that asks too much"
resolver=$far4
dns_answers each
net_check "web learns an address" net_on web "$DNS" ask udp "$far4" kept.svc.example.org
kept=198.18.0.1
net_allowed web tcp $kept 80 "the address that web has learned is open"
many=20000
[ -z "${BULKHEAD_FULL:-}" ] || many=1000000
net_check "another pod asks for $many names" net_ends 0 '^198' net_on other "$DNS" many $many udp "$far4" svc.example.org
last=$(tail -n 1 "$NET_TMP/said")
net_allowed other tcp "$last" 80 "the last address of the pod that asks too much is open"
net_denied other tcp 198.18.0.2 80 "the first address of the pod that asks too much is open no longer"
net_allowed web tcp $kept 80 "the address that web has learned stays open"
net_check "no map was full" net_is "$(count full)" 0

# ---- the key of the hashes, and what stays ----

echo "# the key"
keys() {
	bpftool -j map dump pinned "$NET_PIN/domains" | grep -o '"key":[^]]*]' | sort
}
first=$(keys)
net_check "the policy's names have keys" test -n "$first"
{ cat "$NET_TMP/policy.ini" && echo "[namespace more]"; } >"$NET_TMP/more.ini"
net_check "load another policy" net_bulkhead load "$NET_TMP/more.ini"
net_check "a load keeps the key" net_is "$(keys)" "$first"
net_allowed web tcp $kept 80 "the address that web has learned stays open over a load"
for at in 1 2 4; do
	net_check "a load is killed at its change $at" net_fails 99 net_fault state $at kill load "$NET_TMP/policy.ini"
	net_allowed web tcp $kept 80 "the address that web has learned stays open over a load that was killed at $at"
done
net_check "load after that" net_bulkhead load "$NET_TMP/policy.ini"
net_allowed web tcp $kept 80 "the address that web has learned stays open over the load after the kills"
net_check "unload" net_bulkhead unload
net_check "load again" net_bulkhead load --set dns-grace=600 "$NET_TMP/policy.ini"
net_check "each node, and each time that it begins, has a key of its own" test "$(keys)" != "$first"

echo "# an endpoint for which there is no place among those that learn"
entries() { # MAP
	bpftool -j map dump pinned "$NET_PIN/$1" | jq length
}
# Each place of `learners` that is free gets an interface that is not there.
fill_learners() {
	seq 1000001 1001024 | while read -r n; do
		echo "map update pinned $NET_PIN/learners key $((n & 255)) $((n >> 8 & 255)) $((n >> 16)) 0 value$(printf ' 0%.0s' {1..24})"
	done | bpftool batch file - >"$NET_TMP/learners" 2>&1
	net_is "$(entries learners)" 1024
}
net_check "web asks, and has a place" net_on web "$DNS" ask udp "$far4" first.svc.example.org
net_check "all places of those that learn are taken" fill_learners
before=$(entries questions) learned=$(entries learned) full=$(count full)
net_check "a pod of the bridge without a place asks" asks left 10.50.0.3
net_check "the question of a pod without a place is counted as one without room" test "$(count full)" -gt "$full"
net_check "the question of a pod without a place takes no room of those that have one" net_is "$(entries questions)" "$before"
net_check "web asks again" net_on web "$DNS" ask udp "$far4" more.svc.example.org
net_check "web, which has a place, learns another address" net_is "$(entries learned)" $((learned + 1))
net_end
