#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Many deltas in a row: pods of another node come and go, one of this node moves, and one comes and goes. Each
# time the cluster is as it was at first, so is the number of entries of each map, and so are the bytes that
# the pins and the kept policy take. Segments come and go, too.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

# Five deltas a round. Ten thousand take half an hour.
ROUNDS=8
[ -z "${BULKHEAD_FULL:-}" ] || ROUNDS=2000
[ -z "${BULKHEAD_SMALL:-}" ] || ROUNDS=8
NET_PORTS="80 443"
net_start db web late
here=$NET_TMP/policies
mkdir "$here"

pod() { # NAME LABELS NUMBER
	printf '[endpoint shop/%s]\nnode = far\nip = 10.9.0.%s,fd09::%s\nlabels = %s\n' "$1" "$3" "$3" "$2"
}
own() { # POD LABELS
	net_endpoint "$1" "labels = $2" | sed "/^labels = role=$1\$/d"
	[ "$2" != "role=$1" ] || echo "labels = $2"
}
policy() { # LINE...
	net_head
	net_endpoint db
	pod far-web role=web 1
	pod far-db role=db 2
	pod far-new role=new 3
	cat <<-END
		[network-policy shop/db]
		endpoints = role=db
		ingress = from endpoints(role=web) ports TCP/80
		ingress = from endpoints(role=new) ports TCP/443
		ingress = from endpoints(role=kind) ports TCP/8443
	END
	printf '%s\n' "$@"
}
policy "$(own web role=web)" >"$here/0.ini"
policy "$(own web role=web)" "$(pod more role=new 9)" >"$here/1.ini"
policy "$(own web role=new)" "$(pod more role=new 9)" >"$here/2.ini"
policy "$(own web role=new)" "$(own late role=web)" >"$here/3.ini"
policy "$(own web role=web)" "$(own late role=web)" >"$here/4.ini"

# Compiles the next policy of the lineage, and loads the delta to it. A whole load would remove the base.
step() { # NUMBER
	mv "$here/now.bhp" "$here/last.bhp" &&
		"$BULKHEAD" compile --base "$here/last.bhp" -o "$here/now.bhp" "$here/$1.ini" >"$NET_TMP/said" &&
		"$BULKHEAD" compile --base "$here/last.bhp" --delta -o "$here/now.bhd" "$here/$1.ini" >"$NET_TMP/said" &&
		net_bulkhead load --state "$NET_TMP/state" "$here/now.bhd" >"$NET_TMP/said" &&
		test -e "$NET_PIN/blob_base"
}
round() {
	step 1 && step 2 && step 3 && step 4 && net_bulkhead endpoint del shop/late && step 0
}
maps="endpoints prefixes pairs named variations services ifaces macs added allow_source"
# Lists what the pins take, the entries of the hash maps, and the bytes of the kept files.
takes() { # FILE
	# shellcheck disable=SC2086
	{ net_takes && net_entries $maps; } >"$1"
	du -s --apparent-size --block-size=4K "$NET_TMP/state" >>"$1"
}
all() {
	local i
	for ((i = 1; i < ROUNDS; i++)); do
		round && takes "$NET_TMP/now" && diff "$NET_TMP/first" "$NET_TMP/now" || {
			echo "after round $i"
			return 1
		}
	done
}
begin() {
	"$BULKHEAD" compile -o "$here/now.bhp" "$here/0.ini" >"$NET_TMP/said" &&
		net_bulkhead load --state "$NET_TMP/state" "$here/now.bhp" >"$NET_TMP/said"
}
net_check "load a first policy" begin
net_check "endpoint add of a new kind" net_bulkhead endpoint add shop/kind --node far --ip 10.9.0.20,fd09::20 \
	--labels role=kind
net_check "a first round of deltas" round
net_check "note what maps and files take" takes "$NET_TMP/first"
net_check "$ROUNDS rounds of deltas leave nothing" all
net_allowed web tcp "$(net_ip db)" 80 "the last policy is active"
net_denied web tcp "$(net_ip db)" 443 "no other policy is active"
net_allowed web tcp "$(net_ip6 db)" 80 "the last policy is active over IPv6"
net_denied web tcp "$(net_ip6 db)" 443 "no other policy is active over IPv6"
net_check "endpoint del" net_bulkhead endpoint del shop/kind
net_check "the active policy is the last one" net_bulkhead diff "$here/now.bhp"

# The first pod of a kind comes and goes, by deltas that bring and take its segment and its port list. New lists
# go behind all others until bh_ports is full; then a load of the whole policy fills the gaps.
policy "$(own web role=web)" "$(pod kind role=kind 20)" >"$here/5.ini"
entries() { # FILE
	# shellcheck disable=SC2086
	net_entries $maps >"$1"
}
kinds() {
	local i number wholes=0
	for ((i = 0; i < ROUNDS; i++)); do
		for number in 5 0; do
			step "$number" && continue
			wholes=$((wholes + 1))
			net_bulkhead diff "$here/now.bhp" || return
		done
	done
	echo "$wholes of $((2 * ROUNDS)) deltas were loaded as whole policies"
	[ $((wholes * 100)) -le "$ROUNDS" ] && entries "$NET_TMP/after" && diff "$NET_TMP/before" "$NET_TMP/after"
}
net_check "count the entries of each map" entries "$NET_TMP/before"
net_check "a kind that comes and goes $ROUNDS times leaves nothing" kinds
net_allowed web tcp "$(net_ip db)" 80 "the first policy is active again"
net_denied web tcp "$(net_ip db)" 443 "no other policy is active again"
net_end
