#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The first endpoint of its kind: `endpoint add` and `set` of labels that no active segment has. What the
# policies that are active say of these labels counts at once, for both IP versions and both directions; a
# stream meanwhile loses nothing and leaks nothing. Then policies that know the endpoint, and policies that
# do not, deltas and reloads; when the endpoint goes, nothing is left of its segment.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

# PAIRS: how often the first of its kind comes and goes. Ten thousand take half an hour.
PAIRS=10
[ -z "${BULKHEAD_FULL:-}" ] || PAIRS=10000
[ -z "${BULKHEAD_SMALL:-}" ] || PAIRS=10
NET_PORTS="80 443 6379 7000"
net_start db web late
late4=$(net_ip late) late6=$(net_ip6 late)

# Rules of each kind select role=cache, which no endpoint has.
policy() { # [LINE...]
	net_head
	net_endpoint db "mac = $(net_mac db)" "port = data TCP/6379"
	net_endpoint web
	printf '%s\n' "$@"
	cat <<-EOF
		[namespace shop]
		labels = team=a
		[network-policy shop/db]
		endpoints = role=db
		ingress = from endpoints(role=web) ports TCP/80
		ingress = from endpoints(role=cache) ports TCP/data, UDP/1080
		[network-policy shop/cache]
		endpoints = role=cache
		types = Ingress, Egress
		ingress = from endpoints(role=web) ports TCP/data, UDP/1080
		ingress = from cidr($(net_ip out)/32), cidr($(net_ip6 out)/128) ports TCP/443
		egress = to endpoints(role=db) ports TCP/6379, TCP/80, UDP/1080
		[admin-network-policy guard]
		priority = 5
		subject = endpoints(role=cache in namespaces(team=a))
		ingress = Deny from endpoints(role=web in namespaces(team=a)) ports TCP/80
		ingress = Allow from endpoints(role=db in namespaces(team=a)) ports TCP/80
	EOF
}
policy >"$NET_TMP/policy.ini"
policy "[endpoint shop/other]" "ip = 10.9.0.1" "labels = role=other" >"$NET_TMP/next.ini"
policy "$(net_endpoint late "labels = role=cache" "port = data TCP/7000" | sed '/^labels = role=late/d')" >"$NET_TMP/knows.ini"

add() { # LABEL [ARGUMENT...]
	net_bulkhead endpoint add shop/late --ip "$late4,$late6" --mac "$(net_mac late)" --labels "role=$1" \
		--named-port "data TCP/7000" "${@:2}"
}
is_cache() { # WHEN
	net_allowed web tcp "$late4" 7000 "$1: its port's name has its number"
	net_denied web tcp "$late4" 6379 "$1: and not another's"
	net_allowed web tcp "$late6" 7000 "$1: over IPv6"
	net_denied web tcp "$late6" 6379 "$1: nor there"
	net_denied web tcp "$late4" 80 "$1: an admin policy denies"
	net_allowed db tcp "$late4" 80 "$1: and allows"
	net_denied db tcp "$late4" 7000 "$1: and no more"
	net_allowed db tcp "$late6" 80 "$1: allows over IPv6"
	net_denied db tcp "$late6" 7000 "$1: and no more there"
	net_allowed out tcp "$late4" 443 "$1: a CIDR allows"
	net_denied out tcp "$late4" 80 "$1: one port"
	net_allowed out tcp "$late6" 443 "$1: over IPv6 too"
	net_denied out tcp "$late6" 80 "$1: one port there"
	net_allowed late tcp "$(net_ip db)" 6379 "$1: both ends allow, by a name and by a number"
	net_denied late tcp "$(net_ip db)" 80 "$1: one end does not"
	net_allowed late tcp "$(net_ip6 db)" 6379 "$1: over IPv6, both"
	net_denied late tcp "$(net_ip6 db)" 80 "$1: and one"
	net_denied late tcp "$(net_ip web)" 80 "$1: who it may not reach"
	net_denied late tcp "$(net_ip6 web)" 80 "$1: over IPv6 neither"
	net_allowed web tcp "$(net_ip db)" 80 "$1: others reach each other as before"
	net_denied web tcp "$(net_ip db)" 6379 "$1: and no more"
}
# Counts what each map has: another policy may have other IDs and slots.
left() {
	net_entries segments pairs named variations endpoints added
}

net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
left >"$NET_TMP/before"
net_check "the entries of each map are counted" test -s "$NET_TMP/before"
net_check "a dry run says that it makes a segment" \
	net_ends 0 "segments" add cache --dry-run
net_check "a dry run makes no segment" cmp "$NET_TMP/before" <(left)
net_check "add the first cache" add cache -v
is_cache "the first"
net_check "the first cache is in a segment" grep "shop/late.*segment 10737.*added" <(net_bulkhead endpoint list)
net_check "show has the segment" grep -q 10737 <(net_bulkhead show segments)
net_check "status finds nothing wrong" net_bulkhead status --check
net_check "trace names the rule of an admin policy" \
	net_ends 1 "deny admin guard/ingress\[0\]" \
	net_bulkhead trace --from shop/web --to shop/late --port TCP/80
net_check "trace names the rule of a NetworkPolicy" net_ends 0 "allow network-policy shop/cache/ingress\[0\]" \
	net_bulkhead trace --from shop/web --to shop/late --port TCP/7000
net_check "the same policy again changes nothing" net_is "$(net_writes "$NET_TMP/policy.ini")" 0

net_check "a policy that does not know it" net_bulkhead load "$NET_TMP/next.ini"
is_cache "unknown to the next"
net_check "a policy is compiled" "$BULKHEAD" compile -o "$NET_TMP/a.bhp" "$NET_TMP/policy.ini"
net_check "the compiled policy is loaded" net_bulkhead load --rollback "$NET_TMP/a.bhp"
is_cache "by a compiled policy"
net_check "a delta of it" "$BULKHEAD" compile --base "$NET_TMP/a.bhp" --delta -o "$NET_TMP/b.bhd" "$NET_TMP/next.ini"
net_check "the delta finds its base" net_bulkhead load "$NET_TMP/b.bhd"
is_cache "after a delta"

# Streams over changes: from web at UDP 1080, which is allowed, and from outside at UDP 1443, which is not.
net_stream late recv 1080 1443
net_stream out send "$late4" 1443 "1443@$late6"
net_stream web send "$late4" 1080
for ((i = 0; i < 8; i++)); do
	net_bulkhead load "$NET_TMP/policy.ini" && net_bulkhead load "$NET_TMP/next.ini" &&
		net_bulkhead endpoint set shop/late --labels "role=cache,try=$i" || break
done >"$NET_TMP/loads" 2>&1
net_check "loads and labels, eight times" net_is "$i" 8
net_check "a policy that brings its segment" net_bulkhead load "$NET_TMP/knows.ini"
net_stream_end
net_check "somebody tried" test "$(net_count out 1443)" -gt 10
net_check "nothing that policy denies came through" net_is "$(net_count late 1443)" 0
net_check "the flow that every policy allows lost no packet" net_is "$(net_count late 1080)" "$(net_count web 1080)"
is_cache "with a segment of the policy"
net_check "the node has none of its own" \
	net_fails 1 grep -q 10737 <(net_bulkhead show segments)
net_check "a policy that does not know it" net_bulkhead load --force "$NET_TMP/policy.ini"
net_allowed out tcp "$late4" 80 "nobody guards it then"
net_check "the load leaves the maps as they were at first" cmp "$NET_TMP/before" <(left)

net_check "add it as nobody's kind" add free
net_allowed out tcp "$late4" 80 "no policy selects it"
net_allowed late tcp "$(net_ip web)" 443 "the pod of nobody's kind reaches web"
net_allowed late tcp "$(net_ip6 web)" 443 "the pod of nobody's kind reaches web over IPv6"
net_denied late tcp "$(net_ip db)" 6379 "db's policy counts for a pod of nobody's kind"
net_check "the pod becomes a cache" net_bulkhead endpoint set shop/late --labels role=cache
is_cache "by set"
net_check "take it off" net_bulkhead endpoint del shop/late
net_check "the removal leaves the maps as they were at first" cmp "$NET_TMP/before" <(left)
net_allowed out tcp "$late4" 80 "nobody guards the address of the pod that is gone"

add cache && net_bulkhead endpoint del shop/late
net_takes >"$NET_TMP/room"
net_check "the memory of the pins is noted" test -s "$NET_TMP/room"
for ((i = 0; i < PAIRS; i++)); do
	add cache && net_bulkhead endpoint del shop/late || break
done >"$NET_TMP/adds" 2>&1
[ "$i" = "$PAIRS" ] || tail -n 5 "$NET_TMP/adds"
net_check "the first of its kind comes and goes $PAIRS times" net_is "$i" "$PAIRS"
net_check "nothing of them is left in the maps" cmp "$NET_TMP/before" <(left)
net_check "no pin and no kernel memory is left of them" cmp "$NET_TMP/room" <(net_takes)

net_check "while a policy is staged" net_bulkhead load --stage "$NET_TMP/next.ini"
net_check "the first of its kind waits" net_ends 0 "gets its segment when the staged policy" add cache
net_denied web tcp "$late4" 7000 "the waiting pod is isolated"
net_denied late tcp "$(net_ip db)" 6379 "the waiting pod does not reach db"
net_check "the staged policy is activated" net_bulkhead load "$NET_TMP/next.ini"
is_cache "activated"
net_check "unload" net_bulkhead unload
net_end
