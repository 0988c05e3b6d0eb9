#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Deltas on a node with endpoints of its own: a delta is planned from what it names, also where `endpoint add`
# made a segment that no policy has. A load of the whole policy afterwards finds nothing to change.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

STEP=5 SAMPLE=5
[ -z "${BULKHEAD_SMALL:-}" ] || STEP=97 SAMPLE=1
NET_PORTS="80 443 6379"
net_start db web late
# shellcheck source=selftests/lib/delta.sh
. "$(dirname "$0")/lib/delta.sh"
late4=$(net_ip late) late6=$(net_ip6 late)

# A pod of each role stays on another node, so that each role has its segment.
policy() { # [LINE...]
	net_head
	net_endpoint db
	printf '[endpoint shop/far-%s]\nnode = far\nip = 10.9.1.%s,fd09:1::%s\nlabels = role=%s\n' \
		web 1 1 web db 2 2 db new 3 3 new
	cat <<-END
		[network-policy shop/db]
		endpoints = role=db
		ingress = from endpoints(role=web) ports TCP/80
		ingress = from endpoints(role=new) ports TCP/443
		ingress = from endpoints(role=cache) ports TCP/6379
		[network-policy shop/cache]
		endpoints = role=cache
		ingress = from endpoints(role=db) ports TCP/80
	END
	printf '%s\n' "$@"
}
web() { # LABELS
	net_endpoint web "labels = $1" | sed '/^labels = role=web$/d'
	[ "$1" != role=web ] || echo 'labels = role=web'
}
far() { # NUMBER LABELS
	printf '[endpoint shop/pod-%s]\nnode = far\nip = 10.9.0.%s,fd09::%s\nlabels = %s\n' "$1" "$1" "$1" "$2"
}

# An endpoint of a new kind
policy "$(web role=web)" >"$here/a0.ini"
policy "$(web role=web)" "$(far 1 role=web)" "$(far 2 role=new)" >"$here/a1.ini"
policy "$(web role=new)" "$(far 1 role=db)" >"$here/a2.ini"
policy "$(web role=web)" "$(far 3 role=web)" >"$here/a3.ini"
net_check "compile policies and deltas" chain a0 a1 a2 a3
net_check "load the first policy" load "$here/a0.bhp"
net_check "endpoint add of a new kind" net_bulkhead endpoint add shop/late --ip "$late4,$late6" --labels role=cache
is_cache() { # WHEN
	net_allowed late tcp "$(net_ip db)" 6379 "$1: late is a cache"
	net_denied late tcp "$(net_ip db)" 80 "$1: late reaches no more"
	net_allowed late tcp "$(net_ip6 db)" 6379 "$1: late is a cache over IPv6"
	net_denied late tcp "$(net_ip6 db)" 80 "$1: late reaches no more over IPv6"
	net_allowed db tcp "$late4" 80 "$1: what a cache's policy allows"
	net_denied db tcp "$late4" 443 "$1: what it denies"
	net_allowed db tcp "$late6" 80 "$1: what a cache's policy allows over IPv6"
	net_denied db tcp "$late6" 443 "$1: what it denies over IPv6"
}
is_cache "before any delta"
net_check "a delta with endpoints of another node" load_delta a1
is_cache "after a delta"
net_check "a delta that moves an endpoint of this node" load_delta a2
is_cache "after a second delta"
net_allowed web tcp "$(net_ip db)" 443 "the endpoint has moved"
net_denied web tcp "$(net_ip db)" 80 "the endpoint is no more where it was"
net_allowed web tcp "$(net_ip6 db)" 443 "the endpoint has moved over IPv6"
net_denied web tcp "$(net_ip6 db)" 80 "the endpoint is no more where it was over IPv6"
net_check "a load of the whole policy has nothing to change" whole_changes_nothing a2
is_cache "after the whole load"
net_check "a third delta" load_delta a3
is_cache "after a third delta"
net_check "a whole load after it has nothing to change" whole_changes_nothing a3
segments() {
	net_entries segments
}
before=$(segments)
net_check "endpoint del" net_bulkhead endpoint del shop/late
net_check "nothing is left of the new kind" net_is "$(segments)" "segments $((${before#* } - 1))"

# Endpoints of this node come and go
late() { # LABELS
	net_endpoint late "labels = $1" | sed '/^labels = role=late$/d'
}
policy "$(web role=web)" >"$here/b0.ini"
policy "$(web role=web)" "$(late role=web)" >"$here/b1.ini"
policy "$(web role=web)" "$(late role=new)" "$(far 1 role=web)" >"$here/b2.ini"
policy "$(web role=web)" "$(far 1 role=web)" >"$here/b3.ini"
policy "$(web role=web)" "$(far 1 role=web)" "$(late role=web)" "[endpoint shop/none]" "node = worker-1" \
	"ip = 10.9.0.77" "labels = role=new" >"$here/b4.ini"
policy "$(web role=web)" "$(late role=web)" "$(far 2 role=new)" >"$here/b5.ini"
cp "$here/b3.ini" "$here/b6.ini"
net_check "compile policies and deltas" chain b0 b1 b2 b3 b4 b5 b6
is() { # PORT OTHER WHEN
	net_allowed late tcp "$(net_ip db)" "$1" "$3: late reaches db at its port"
	net_denied late tcp "$(net_ip db)" "$2" "$3: late does not reach another port"
	net_allowed late tcp "$(net_ip6 db)" "$1" "$3: late reaches db over IPv6"
	net_denied late tcp "$(net_ip6 db)" "$2" "$3: late does not reach another port over IPv6"
}
net_check "load the first policy" load --rollback "$here/b0.bhp"
net_check "a delta that brings an endpoint of this node" load_delta b1
is 80 443 "by a delta"
net_check "a load of the whole policy has nothing to change" whole_changes_nothing b1
net_check "a delta that moves it" load_delta b2
is 443 80 "moved"
net_check "a load of the whole policy has nothing to change" whole_changes_nothing b2
net_check "endpoint del" net_bulkhead endpoint del shop/late
net_check "a delta that takes the endpoint" load_delta b3
net_denied late tcp "$(net_ip db)" 80 "late is nobody"
net_denied late tcp "$(net_ip6 db)" 443 "late is nobody over IPv6"
net_check "a load of the whole policy has nothing to change" whole_changes_nothing b3
# Entries that only the added endpoint has go when the policy takes it over.
{ net_endpoint late "labels = role=new" "mac = $(net_mac late)" "allow-source = 10.99.0.0/16" | sed '/^labels = role=late$/d'; } \
	>"$here/late.ini"
net_check "endpoint add" net_bulkhead endpoint add -f "$here/late.ini"
is 443 80 "added"
net_check "a delta that takes the added endpoint over, and brings one without an interface" load_delta b4
is 80 443 "taken over"
net_check "a load of the whole policy has nothing to change" whole_changes_nothing b4
net_check "a delta that takes the one without an interface" load_delta b5
net_check "a load of the whole policy has nothing to change" whole_changes_nothing b5
refused() {
	local said
	said=$(load "$here/b6.bhd" 2>&1)
	net_is $? 2 && grep "shop/late would be taken off" <<<"$said"
}
net_check "an endpoint whose interface is there is not taken off by a load" refused
is 80 443 "after the refusal"
# A load of such a delta that is killed, or fails, anywhere leaves the old policy or the new one active.
one_of() { # OLD NEW
	net_bulkhead diff "$1" || net_bulkhead diff "$2"
}
again() {
	load --rollback --force "$here/b0.bhp"
}
net_check "load the first policy again" again
calls() {
	net_fault all 0 kill load "$here/b1.bhd" && again
}
net_check "count the calls of a load" calls
for how in kill 12; do # 12: ENOMEM
	for at in $(net_places $STEP $SAMPLE); do
		net_fault all "$at" "$how" load "$here/b1.bhd" >"$NET_TMP/fault" 2>&1
		net_check "fault $how at call $at: one of the two is active" one_of "$here/b0.bhp" "$here/b1.bhp"
		net_denied late tcp "$(net_ip db)" 443 "fault $how at call $at: nothing is open"
		net_denied late tcp "$(net_ip6 db)" 443 "fault $how at call $at: nothing is open over IPv6"
		net_check "the next load repairs" load "$here/b1.bhp"
		is 80 443 "repaired after fault $how at call $at"
		net_check "load the old policy again" again
	done
done
net_check "go on with the last delta" load --rollback "$here/b5.bhp"

net_check "the interface goes" ip -n "$NET-node" link del veth-late
net_check "a delta that takes the endpoint whose interface is gone" load_delta b6
net_check "a load of the whole policy has nothing to change" whole_changes_nothing b6

# Backends of a Service come, go and move
service() { # SELECTOR
	printf '[service shop/s]\naddress = 10.96.0.1, fd96::1\nport = TCP/80 to 80\nbackends = endpoints(%s)\n' "$1"
	printf '[service shop/other]\naddress = 10.96.0.2\nport = TCP/81 to 443\nbackends = endpoints(role=new)\n'
}
service=$(service role=web)
policy "$(web role=web)" "$service" >"$here/c0.ini"
policy "$(web role=web)" "$service" "$(far 1 role=web)" >"$here/c1.ini"
policy "$(web role=new)" "$service" "$(far 1 role=web)" >"$here/c2.ini"
policy "$(web role=new)" "$service" "$(far 1 role=new)" "$(far 2 role=web)" >"$here/c3.ini"
policy "$(web role=web)" "$service" >"$here/c4.ini"
net_check "compile policies and deltas" chain c0 c1 c2 c3 c4
net_check "load a policy with Services" load --rollback "$here/c0.bhp"
for i in 1 2 3 4; do
	net_check "delta $i of backends" load_delta "c$i"
	net_check "a load of the whole policy has nothing to change" whole_changes_nothing "c$i"
done

# The Service of the cluster's DNS comes, changes and goes: without it the node asks its own resolvers. The node has its
# own DNS cache from d4 on, and then asks no server of resolv.conf.
dns() { # ADDRESS...
	printf '[service kube-system/kube-dns]\naddress = %s\nport = UDP/53 to 53\nbackends = endpoints(role=dns)\n' "$*"
}
policy "$(web role=web)" >"$here/d0.ini"
policy "$(web role=web)" "$(dns 10.96.0.10, fd96::10)" >"$here/d1.ini"
policy "$(web role=web)" "$(dns 10.96.0.11)" >"$here/d2.ini"
policy "$(web role=web)" >"$here/d3.ini"
policy "$(web role=web)" "$(dns 10.96.0.10, fd96::10)" >"$here/d4.ini"
policy "$(web role=web)" >"$here/d5.ini"
echo "nameserver 192.0.2.53" >"$NET_TMP/resolv.conf"
load() {
	# shellcheck disable=SC2016 # the inner shell's
	net_on node unshare --mount sh -c 'mount --bind "$1" /etc/resolv.conf && shift && exec "$@"' sh \
		"$NET_TMP/resolv.conf" "$BULKHEAD" load --pin "$NET_PIN" "$@"
}
asks() { # DELTA RESOLVERS
	net_check "a delta: the node has $2 resolvers" load_delta "$1"
	net_check "the map has them" net_is "$(net_entries resolvers)" "resolvers $2"
	net_check "a load of the whole policy has nothing to change" whole_changes_nothing "$1"
}
net_check "compile policies and deltas" chain d0 d1 d2 d3 d4 d5
net_check "load a policy without a Service" load --rollback "$here/d0.bhp"
asks d1 2
asks d2 1
asks d3 1
ip -n "$NET-node" addr add 169.254.20.10/32 dev lo
net_check "a load of the whole policy finds the node's new address" load "$here/d3.bhp"
asks d4 3
asks d5 1
net_end
