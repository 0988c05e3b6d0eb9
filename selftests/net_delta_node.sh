#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Deltas on a node with endpoints of its own: a delta is planned from what it names, also where `endpoint add`
# made a segment that no policy has. A load of the whole policy afterwards finds nothing to change.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 443 6379"
net_start db web late
here=$NET_TMP/policies
mkdir "$here"
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
compile() {
	"$BULKHEAD" compile "$@" >/dev/null
}
# Compiles a chain of policies, each with the delta from the one before.
chain() { # NAME...: files $here/NAME.ini
	local last='' name
	for name; do
		compile ${last:+--base "$here/$last.bhp"} -o "$here/$name.bhp" "$here/$name.ini" || return
		[ -z "$last" ] || compile --base "$here/$last.bhp" --delta -o "$here/$name.bhd" "$here/$name.ini" || return
		last=$name
	done
}
load() {
	net_bulkhead load "$@"
}
# Loads a delta. A whole load would have removed the base.
load_delta() { # NAME
	load "$here/$1.bhd" && test -e "$NET_PIN/blob_base"
}
state() { # FILE
	net_maps >"$1" && bpftool -j map dump pinned "$NET_PIN/added" >>"$1" &&
		bpftool -j map dump pinned "$NET_PIN/config" | grep -o '"generation":[0-9]*' >>"$1"
}
whole_changes_nothing() { # NAME
	state "$NET_TMP/by-delta" && load "$here/$1.bhp" && state "$NET_TMP/by-whole" &&
		cmp "$NET_TMP/by-delta" "$NET_TMP/by-whole"
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
	net_denied late tcp "$(net_ip db)" 80 "$1: and no more"
	net_allowed late tcp "$(net_ip6 db)" 6379 "$1: late is a cache over IPv6"
	net_denied late tcp "$(net_ip6 db)" 80 "$1: and no more over IPv6"
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
net_denied web tcp "$(net_ip db)" 80 "and is no more where it was"
net_allowed web tcp "$(net_ip6 db)" 443 "the endpoint has moved over IPv6"
net_denied web tcp "$(net_ip6 db)" 80 "and is no more where it was over IPv6"
net_check "a load of the whole policy has nothing to change" whole_changes_nothing a2
is_cache "after the whole load"
net_check "a third delta" load_delta a3
is_cache "after a third delta"
net_check "a whole load after it has nothing to change" whole_changes_nothing a3
segments() {
	bpftool map dump pinned "$NET_PIN/segments" | grep -c '"id": [1-9]'
}
before=$(segments)
net_check "endpoint del" net_bulkhead endpoint del shop/late
net_check "nothing is left of the new kind" test "$(segments)" = $((before - 1))
net_end
