#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Audit of one policy: an audited policy denies nothing and isolates nobody, at either end and over IPv4 and IPv6. The
# flows that the policy would deny are counted and reported under its name, also where another policy allows or denies
# the flow. Taking the annotation off is a delta.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web far

# shop/db lets in TCP 80 from web; guard denies db TCP 443 to web; shop/strict, which is enforced, isolates far.
world() { # AUDIT-OF-DB AUDIT-OF-GUARD
	net_head "uplink = eth0"
	net_node_object
	net_endpoint db
	net_endpoint web
	net_endpoint far
	cat <<-EOF2
	[network-policy shop/db]
	endpoints = role in (db, far)
	audit = $1
	ingress = from endpoints(role=web) ports TCP/80
	[network-policy shop/strict]
	endpoints = role=far
	ingress = from endpoints(role=web) ports TCP/80, TCP/443
	[admin-network-policy guard]
	priority = 10
	audit = $2
	subject = endpoints(role=db in namespaces())
	egress = no-https: Deny to endpoints(role=web in namespaces()) ports TCP/443, UDP/443
	EOF2
}
world yes yes >"$NET_TMP/audited.ini"
world no yes >"$NET_TMP/half.ini"
world no no >"$NET_TMP/enforced.ini"

hits() { # JQ-LIKE PATTERN: the hits of the first row of `show rules` that has it
	net_bulkhead show rules | grep -F -- "$1" | awk '{ for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+$/) n = $i; print n }' | head -n 1
}

events() { # PATTERN... : sends what is audited and denied, and finds an event with all the words of each pattern
	local pattern
	net_watch "$NET_TMP/events" -j
	net_datagram web "$(net_ip db)" 9
	net_datagram db "$(net_ip6 web)" 443
	net_datagram web "$(net_ip far)" 9
	net_printed "$NET_TMP/events"
	for pattern in "$@"; do
		grep -qE "$pattern" "$NET_TMP/events" || { sed 's/^/# /' "$NET_TMP/events"; return 1; }
	done
}

all_pass() { # WHEN
	for version in "" 6; do
		db=$("net_ip$version" db) web=$("net_ip$version" web)
		net_allowed web tcp "$db" 80 "$1: what shop/db allows reaches db over IPv${version:-4}"
		net_allowed web tcp "$db" 443 "$1: what shop/db would deny reaches db over IPv${version:-4}"
		net_allowed web udp "$db" 443 "$1: a datagram that shop/db would deny reaches db over IPv${version:-4}"
		net_allowed far tcp "$db" 80 "$1: a peer that shop/db would deny reaches db over IPv${version:-4}"
		net_allowed db tcp "$web" 443 "$1: what guard would deny leaves db over IPv${version:-4}"
		net_allowed out tcp "$db" 80 "$1: what comes from outside reaches db over IPv${version:-4}"
	done
}

net_check "load with two audited policies, and a count of them" \
	net_ends 0 ': [0-9]\+ policies, 2 of them audited only, ' net_bulkhead load "$NET_TMP/audited.ini"
all_pass audited
for version in "" 6; do
	far=$("net_ip$version" far)
	net_allowed web tcp "$far" 443 "what shop/strict allows reaches far over IPv${version:-4}, though shop/db would not add it"
	net_denied web tcp "$far" 22 "what shop/strict denies does not reach far over IPv${version:-4}"
	net_denied db tcp "$far" 80 "a peer that shop/strict does not allow does not reach far over IPv${version:-4}"
done
# The datagram counts, the server's answer, and the ICMP error with which a socket that is closed refuses either.
counts() { # PATTERN COMMAND...: one of the counters that a command moves has the pattern
	local moved
	moved=$(net_moved "${@:2}")
	grep -qE "$1" <<<"$moved" || { sed 's/^/# /' <<<"$moved"; return 1; }
}
net_check "a would-be denial counts as audited" \
	counts "^audit [123] denied by the destination's policy" net_datagram web "$(net_ip db)" 9
net_check "a would-be denial of the sender counts as audited" \
	counts "^audit [123] denied by the source's policy" net_datagram db "$(net_ip6 web)" 443
net_check "a denial by both counts as a drop" \
	counts "^drop 1 denied by the destination's policy" net_datagram web "$(net_ip far)" 9
net_check "the events name the audited policies" events \
	'"verdict":"audit".*"egress":\{"verdict":"allow".*"audit":\{"verdict":"deny","tier":"admin","policy":"guard","rule":"no-https"' \
	'"verdict":"audit".*"ingress":\{"verdict":"allow".*"audit":\{.*"policies":\["shop/db"\]' \
	'"verdict":"drop".*"ingress":\{"verdict":"deny".*"isolated_by":\["shop/strict"\],"audit":\{.*"policies":\["shop/db"\]'
brief() { # ARGUMENT...: the last of the events as a line of a wide terminal
	env -u COLUMNS NO_COLOR=1 TERM=xterm script -qec "stty cols 200; nsenter --net=/run/netns/$NET-node $BULKHEAD monitor \
		--pin $NET_PIN --last 1 $*" /dev/null </dev/null | tr -d '\r'
}
net_check "a terminal names the audited policy that would isolate" net_ends 0 \
	"audit shop/web -> shop/db UDP/9.*: ingress, audited: deny network-policy shop/db$" brief --from shop/web --to shop/db --port UDP/9
net_check "a terminal names the audited rule that would deny" net_ends 0 \
	"audit shop/db -> shop/web UDP/443.*: egress, audited: deny admin guard/no-https$" brief --from shop/db --to shop/web --port UDP/443
net_check "a terminal names the enforced policy where an audited one would deny, too" net_ends 0 \
	"drop  shop/web -> shop/far UDP/9.*: ingress, isolated by shop/strict$" brief --from shop/web --to shop/far --port UDP/9
before=$(hits "shop/db would isolate")
net_datagram web "$(net_ip db)" 9
net_datagram web "$(net_ip far)" 10
net_check "show rules counts under the audited policy's name" net_is "$(hits "shop/db would isolate")" $((before + 2))
net_check "show rules counts for the audited rule" test "$(hits guard/no-https)" -gt 0
net_check "status says how many endpoints audited policies select" \
	net_ends 0 '2 of them audited only' net_bulkhead status
net_check "trace of the maps says who would deny" net_ends 0 'allow default (audit: deny network-policy shop/db)' \
	net_bulkhead trace --from shop/web --to shop/db --port TCP/443
net_check "the node's own calls are no denials" test -z "$(net_bulkhead trace --from "$(net_ip node)" --to shop/db --port TCP/443 | grep audit:)"
net_check "the same load again writes nothing" net_is "$(net_bulkhead load -v "$NET_TMP/audited.ini" | tail -n 1)" "0 map writes"

metric() { # NAME-AND-LABELS
	net_bulkhead metrics | awk -v name="$1" '$1 == name { print $2 }'
}
net_check "a metric counts under the audited policy's name" \
	test "$(metric 'bulkhead_policy_audited_denials_total{policy="shop/db"}')" -gt 0
net_check "a metric counts the audited policies" net_is "$(metric bulkhead_policies_audited)" 2
net_check "recommend allows what a NetworkPolicy would deny, and no more" net_ends 1 'an Admin or Baseline rule denies' net_bulkhead recommend \
	--events "$NET_TMP/events" "$NET_TMP/audited.ini"

# Taking an annotation off is a delta, by which the node plans only what changes.
"$BULKHEAD" compile -o "$NET_TMP/audited.bhp" "$NET_TMP/audited.ini" >/dev/null
"$BULKHEAD" compile -o "$NET_TMP/half.bhd" --base "$NET_TMP/audited.bhp" --delta "$NET_TMP/half.ini" >/dev/null
"$BULKHEAD" compile -o "$NET_TMP/half.bhp" --base "$NET_TMP/audited.bhp" "$NET_TMP/half.bhd" >/dev/null
"$BULKHEAD" compile -o "$NET_TMP/back.bhd" --base "$NET_TMP/half.bhp" --delta "$NET_TMP/audited.ini" >/dev/null
says() { # PATTERN ARGUMENT...: in what load prints
	net_bulkhead load "${@:2}" >"$NET_TMP/loaded" 2>&1 && grep -qE "$1" "$NET_TMP/loaded" ||
		{ sed 's/^/# /' "$NET_TMP/loaded"; return 1; }
}
net_check "load the audited policies as a compiled file" net_bulkhead load --force "$NET_TMP/audited.bhp"
all_pass "from a compiled file"
net_check "load a delta that enforces shop/db, which is no new policy" \
	says '^generation [0-9]+ is active: [0-9]+ policies, [0-9]+ endpoints' "$NET_TMP/half.bhd"
for version in "" 6; do
	db=$("net_ip$version" db) web=$("net_ip$version" web)
	net_allowed web tcp "$db" 80 "enforced by a delta: what shop/db allows reaches db over IPv${version:-4}"
	net_denied web tcp "$db" 443 "enforced by a delta: what shop/db denies does not reach db over IPv${version:-4}"
	net_denied far tcp "$db" 80 "enforced by a delta: another peer does not reach db over IPv${version:-4}"
	net_allowed db tcp "$web" 443 "enforced by a delta: guard denies nothing over IPv${version:-4}"
done
net_check "load a delta that audits shop/db, and says so" says ', 1 policies newly audited: shop/db$' "$NET_TMP/back.bhd"
net_check "the delta that audits shop/db warns of the policy" \
	grep -qx 'warning: policy shop/db is audited only: it denies nothing any more' "$NET_TMP/loaded"
net_allowed web tcp "$(net_ip db)" 443 "audited by a delta: what shop/db would deny reaches db"
net_check "load with both policies enforced" net_bulkhead load "$NET_TMP/enforced.ini"
for version in "" 6; do
	net_denied db tcp "$("net_ip$version" web)" 443 "enforced: guard denies over IPv${version:-4}"
	net_allowed db tcp "$("net_ip$version" web)" 80 "enforced: guard does not deny another port over IPv${version:-4}"
done

opens() { # PATTERN ARGUMENT...: what load warns of
	says "$@" "$NET_TMP/enforced.ini"
}
net_check "load --audit-policy warns of the policy" opens 'policy shop/db is audited only: it denies nothing any more' \
	--audit-policy shop/db
net_allowed web tcp "$(net_ip db)" 443 "load --audit-policy: what shop/db denies reaches db"
net_denied db tcp "$(net_ip web)" 443 "load --audit-policy: the other policy is enforced"
net_check "load --audit-policy says it in its line" opens '2 policies newly audited: guard, shop/strict|newly audited' \
	--audit-policy guard --audit-policy shop/strict --audit-policy shop/db
net_check "load without the option enforces all" net_bulkhead load "$NET_TMP/enforced.ini"
net_check "load --audit-policy warns of the endpoint" opens 'endpoint shop/far is isolated no longer' \
	--audit-policy shop/db --audit-policy shop/strict
net_check "an unknown policy is refused, and the nearest is named" net_ends 2 'no such policy; did you mean `shop/db`' \
	net_bulkhead load --audit-policy shop/bd "$NET_TMP/enforced.ini"
net_check "a compiled file with --audit-policy is refused" net_ends 2 'a compiled file has no policies to change' \
	net_bulkhead load --audit-policy shop/db "$NET_TMP/audited.bhp"
net_check "load without the option" net_bulkhead load "$NET_TMP/enforced.ini"
net_denied web tcp "$(net_ip db)" 443 "without the option shop/db denies"
net_end
