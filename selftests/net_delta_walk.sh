#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Many small deltas: endpoints of other nodes and one of this node come, move and go, another one of this node
# moves, and some of them are backends of a Service. Each delta reads and writes only the entries that changed,
# and leaves the same entries in every map as the whole policy. A delta that changes nothing writes nothing.
# A load of a delta that is killed anywhere leaves the old policy or the new one active.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

STEPS=20
RANDOM=${BULKHEAD_SEED:-1}
net_start db web late
here=$NET_TMP/policies
mkdir "$here"

declare -A role
late='' # its role; empty: it is not there
roles=(web db other)
# An endpoint of each role stays, by IPv4 inside the CIDR and by IPv6 outside it: no step adds or removes
# a segment.
cluster() {
	local name
	printf '[node far]\nip = 192.168.8.1\n'
	printf '[endpoint shop/db]\nnode = here\nip = %s,%s\nlabels = role=db\n' "$(net_ip db)" "$(net_ip6 db)"
	printf '[endpoint shop/web]\nnode = here\nip = %s,%s\nlabels = role=%s\n' "$(net_ip web)" \
		"$(net_ip6 web)" "${role[0]:-web}"
	[ -z "$late" ] || printf '[endpoint shop/late]\nnode = here\nip = %s,%s\nlabels = role=%s\n' \
		"$(net_ip late)" "$(net_ip6 late)" "$late"
	for name in "${roles[@]}"; do
		printf '[endpoint shop/a-%s]\nnode = far\nip = 10.9.1.%s,fd09:1::%s\nlabels = role=%s\n' "$name" \
			"${#name}" "${#name}" "$name"
	done
	for name in "${!role[@]}"; do
		[ "$name" = 0 ] || printf '[endpoint shop/far-%s]\nnode = far\nip = 10.9.0.%s,fd09::%s\nlabels = role=%s\n' \
			"$name" "$name" "$name" "${role[$name]}"
	done
	printf '[network-policy shop/db]\nendpoints = role=db\n'
	printf 'ingress = from endpoints(role=web) ports TCP/80\n'
	printf 'ingress = from endpoints(role=other), cidr(10.9.0.0/16) ports UDP/443\n'
	printf '[network-policy shop/web]\nendpoints = role=web\ningress = from endpoints(role=db)\n'
}
with_service() {
	cluster
	printf '[service shop/s]\naddress = 10.96.0.1,fd96::1\nport = TCP/80 to 8080\nbackends = endpoints(role=web)\n'
}
# Adds, moves or removes one to three pods.
change() {
	local i n
	case $((RANDOM % 4)) in
	0) late=${roles[RANDOM % 3]} ;;
	1) late='' ;;
	esac
	for ((i = RANDOM % 3; i >= 0; i--)); do
		n=$((RANDOM % 7))
		if [ "$n" -gt 0 ] && [ -n "${role[$n]:-}" ] && [ $((RANDOM % 3)) = 0 ]; then
			unset "role[$n]"
		else
			role[$n]=${roles[RANDOM % 3]}
		fi
	done
}
compile() {
	"$BULKHEAD" compile "$@" >/dev/null
}
compile_all() {
	local i was
	with_service >"$here/0.ini" && compile -o "$here/0.bhp" "$here/0.ini" || return
	for ((i = 1; i <= STEPS; i++)); do
		was=$late
		case $i in
		1 | $((STEPS / 2))) ;; # these steps change nothing: before the first delta, and beside one
		"$STEPS") role[1]=$([ "${role[1]:-}" = web ] && echo db || echo web) ;; # the last always changes an endpoint
		*) change ;;
		esac
		[ -z "$was" ] || [ -n "$late" ] || touch "$here/$i.leaves"
		with_service >"$here/$i.ini"
		compile --base "$here/$((i - 1)).bhp" -o "$here/$i.bhp" "$here/$i.ini" &&
			compile --base "$here/$((i - 1)).bhp" --delta -o "$here/$i.bhd" "$here/$i.ini" ||
			return
	done
}
net_check "compile a policy and $STEPS deltas" compile_all

load() {
	net_bulkhead load -n here --force "$@"
}
state() { # FILE
	net_maps >"$1"
}
pinned() { # the pins of the policy and of its base, which each load that changes a policy makes anew
	stat -c '%n %i' "$NET_PIN"/blob*
}
# A load of a whole policy leaves no base. A delta that changes nothing leaves the pins that it found.
loaded_as_delta() { # NUMBER PINS-BEFORE
	if cmp -s "$here/$(($1 - 1)).bhp" "$here/$1.bhp"; then
		[ "$(pinned)" = "$2" ]
	else
		[ -e "$NET_PIN/blob_base" ] && [ "$(pinned)" != "$2" ]
	fi
}
all() { # SUFFIX: loads the first policy, then each step's file of this suffix
	local i before
	load "$here/0.bhp" || return
	for ((i = 1; i <= STEPS; i++)); do
		# its interface stays: only `endpoint del` takes such an endpoint off
		[ ! -e "$here/$i.leaves" ] || net_bulkhead endpoint del shop/late || return
		before=$(pinned)
		load "$here/$i.$1" && state "$NET_TMP/$i.$1" || return
		[ "$1" = bhp ] || loaded_as_delta "$i" "$before" || echo "delta $i was not loaded as a delta" >>"$NET_TMP/others"
	done
}
same() {
	local i
	for ((i = 1; i <= STEPS; i++)); do
		cmp "$NET_TMP/$i.bhp" "$NET_TMP/$i.bhd" || return
	done
}
net_check "load whole policies one after another" all bhp
net_check "unload" net_bulkhead unload
net_check "load deltas one after another" all bhd
net_check "each delta leaves the same maps as the whole policy" same
: >>"$NET_TMP/others"
net_check "each step was loaded as a delta" diff /dev/null "$NET_TMP/others"
net_check "the pinned policy is a delta of the first one" test -e "$NET_PIN/blob_base"
net_check "the pinned policy is the last one" net_bulkhead diff "$here/$STEPS.bhp"
net_check "load --rollback of a whole policy" load --rollback "$here/$((STEPS - 1)).bhp"
net_check "the whole policy replaces the pinned base and delta" test ! -e "$NET_PIN/blob_base"

# One of the two policies is active as a whole.
one_of() { # OLD NEW
	net_bulkhead diff "$1" || net_bulkhead diff "$2"
}
old=$here/$((STEPS - 1)).bhp new=$here/$STEPS.bhp
cmp -s "$old" "$new" && net_check "the last change is one" false
calls() {
	net_fault state 0 kill load "$here/$STEPS.bhd" && load --rollback "$old"
}
net_check "count the calls of a load" calls
for at in $(net_places 1 8); do
	net_fault state "$at" kill load "$here/$STEPS.bhd" >"$NET_TMP/fault" 2>&1
	net_check "killed at call $at: one of the two is active" one_of "$old" "$new"
	net_check "the next load repairs" load "$new"
	net_check "the repaired policy is active" net_bulkhead diff "$new"
	net_check "load the old policy again" load --rollback "$old"
done

# An endpoint that `endpoint add` brought moves to another segment when its namespace's labels change.
tenants() { # LINE...: the objects of two tenants
	printf '[endpoint shop/db]\nnode = here\nip = %s,%s\nlabels = role=db\n' "$(net_ip db)" "$(net_ip6 db)"
	printf '[endpoint blue/far]\nnode = far\nip = 10.12.0.1\n[namespace blue]\nlabels = tenant=blue\n'
	printf '[endpoint red/far]\nnode = far\nip = 10.12.0.2\n'
	printf '[network-policy shop/db]\nendpoints = role=db\ningress = from namespaces(tenant=blue) ports TCP/80\n'
	printf '%s\n' "$@"
}
tenants >"$here/before.ini"
tenants "[endpoint new/far]" "node = far" "ip = 10.12.0.3" "[namespace new]" "labels = tenant=blue" >"$here/labelled.ini"
labels() {
	compile -o "$here/before.bhp" "$here/before.ini" &&
		compile --base "$here/before.bhp" -o "$here/labelled.bhp" "$here/labelled.ini" &&
		compile --base "$here/before.bhp" --delta -o "$here/labelled.bhd" "$here/labelled.ini" &&
		compile --base "$here/labelled.bhp" --delta -o "$here/back.bhd" "$here/before.ini"
}
net_check "compile deltas that give a namespace labels and take them" labels
net_check "load the policy without the labels" load "$here/before.bhp"
net_check "endpoint add in that namespace" net_bulkhead endpoint add new/late --ip "$(net_ip late),$(net_ip6 late)"
net_denied late tcp "$(net_ip db)" 80 "without the labels late does not reach db"
net_denied late tcp "$(net_ip6 db)" 80 "without the labels late does not reach db over IPv6"
net_check "load the delta that gives the namespace labels" load "$here/labelled.bhd"
net_allowed late tcp "$(net_ip db)" 80 "with the labels late reaches db"
net_allowed late tcp "$(net_ip6 db)" 80 "with the labels late reaches db over IPv6"
net_check "load the delta that takes the labels" load "$here/back.bhd"
net_denied late tcp "$(net_ip db)" 80 "late does not reach db any more"
net_denied late tcp "$(net_ip6 db)" 80 "late does not reach db over IPv6 any more"
net_check "endpoint del" net_bulkhead endpoint del new/late

# Many endpoints at once: small deltas are pinned beside their base; when they outgrow a limit, the whole
# policy is pinned in place of both. The maps are not compared then: an endpoint that `endpoint set` changed, and the
# segment that this node made for another one, stay.
many() { # ENDPOINTS that are in another segment
	local i
	role[0]=web
	late='' cluster
	printf '[network-policy shop/kind]\nendpoints = role=kind\ningress = from endpoints(role=web) ports TCP/80\n'
	for ((i = 0; i < 12000; i++)); do
		printf '[endpoint shop/m-%s]\nnode = far\nip = 10.11.%s.%s\nlabels = role=%s\n' "$i" \
			$((i / 250)) $((i % 250 + 1)) "${roles[i < $1]}"
	done
}
moved() { # FILE COUNT PREV: compiles a policy, and the delta that leads to it from PREV
	many "$2" >"$1.ini" && compile --base "$3" -o "$1.bhp" "$1.ini" &&
		compile --base "$3" --delta -o "$1.bhd" "$1.ini"
}
most() {
	many 0 >"$here/none.ini" && compile -o "$here/none.bhp" "$here/none.ini" &&
		moved "$here/some" 6000 "$here/none.bhp" && moved "$here/most" 12000 "$here/some.bhp" &&
		moved "$here/last" 11999 "$here/most.bhp"
}
net_check "compile policies of 12,000 endpoints" most
net_check "load the first policy of 12,000 endpoints" load "$here/none.bhp"
net_check "load a delta that moves 6,000 endpoints" load "$here/some.bhd"
net_check "the delta is pinned beside its base" test -e "$NET_PIN/blob_base"
net_check "the active policy is the whole one" net_bulkhead diff "$here/some.bhp"
net_check "endpoint set" net_bulkhead endpoint set shop/db --labels role=other
net_check "endpoint add of a new kind" net_bulkhead endpoint add shop/late --ip "$(net_ip late),$(net_ip6 late)" \
	--labels role=kind
stays() { # WHEN
	local to
	for to in "$(net_ip web)" "$(net_ip6 web)"; do
		net_denied db tcp "$to" 80 "$1: db is what endpoint set made it, and does not reach $to"
	done
	for to in "$(net_ip late)" "$(net_ip6 late)"; do
		net_allowed web tcp "$to" 80 "$1: the new kind lets web in at $to"
		net_denied db tcp "$to" 80 "$1: the new kind lets nobody else in at $to"
	done
}
stays "before"
net_check "load a delta that moves 6,000 more" load "$here/most.bhd"
net_check "the policy is pinned whole again" test ! -e "$NET_PIN/blob_base"
stays "once it is pinned whole"
net_check "the next delta" load "$here/last.bhd"
net_check "the next delta is pinned beside the whole policy" test -e "$NET_PIN/blob_base"
stays "after the next delta"
# The same by staging, from a policy with a large delta.
net_check "load the first policy of 12,000 endpoints again" load --rollback "$here/none.bhp"
net_check "load a delta that moves 6,000 endpoints" load "$here/some.bhd"
net_check "endpoint set" net_bulkhead endpoint set shop/db --labels role=other
net_check "stage a delta that moves 6,000 more" load --stage "$here/most.bhd"
net_check "load the staged delta" load "$here/most.bhd"
net_check "the policy is pinned whole" test ! -e "$NET_PIN/blob_base"
stays "once it is staged and active"
net_check "endpoint del" net_bulkhead endpoint del shop/late
net_check "load the whole policy" load "$here/most.bhp"
for to in "$(net_ip web)" "$(net_ip6 web)"; do
	net_allowed db tcp "$to" 80 "a load of the whole policy compares the maps: db is the policy's, and reaches $to"
done
net_check "the active policy is the second whole one" net_bulkhead diff "$here/most.bhp"
net_end
