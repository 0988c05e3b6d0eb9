#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Deltas that bring and take segments: random pods with labels that no pod had, namespaces, policies with ports
# and port names. Each delta is planned from what it names; a load of the whole policy afterwards finds nothing
# to change. A delta is staged and activated; one that brings a segment is killed and failed at each step.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

STEPS=30 STEP=5 SAMPLE=5
[ -z "${BULKHEAD_SMALL:-}" ] || STEPS=10 STEP=97 SAMPLE=1
RANDOM=${BULKHEAD_SEED:-1}
NET_PORTS="80 443"
net_start db web late
here=$NET_TMP/policies
mkdir "$here"

declare -A role space ports admin cidr service node
kinds=(web db red green blue)
# Pods of another node have one of five roles, a port name, and one of three namespaces.
pods() {
	local name
	for name in "${!role[@]}"; do
		printf '[endpoint %s/far-%s]\nnode = far\nip = 10.9.0.%s,fd09::%s\nlabels = role=%s\nport = api TCP/%s\n' \
			"${space[$name]}" "$name" "$name" "$name" "${role[$name]}" $((8000 + name % 3))
	done
}
policies() {
	local kind
	for kind in "${!ports[@]}"; do
		printf '[network-policy shop/p-%s]\nendpoints = role=%s\n' "$kind" "$kind"
		printf 'ingress = from endpoints(role=%s) ports %s\n' "${kinds[kind % 5]}" "${ports[$kind]}"
		printf 'ingress = from namespaces(team=%s) ports TCP/443\n' "${kinds[(kind + 2) % 5]}"
	done
	for kind in "${!admin[@]}"; do
		printf '[admin-network-policy a-%s]\npriority = %s\nsubject = namespaces(team=%s)\n' "$kind" "$kind" "$kind"
		printf 'ingress = Deny from namespaces(team=%s)\n' "${admin[$kind]}"
	done
}
# Ranges overlap each other, pods' addresses, and the addresses of a node or a Service.
all_cidrs=(192.0.2.0/24 192.0.2.128/25 10.9.0.0/28 10.96.0.0/16 0.0.0.0/0 fd09::/64 fd96::/112 192.168.8.0/24)
others() {
	local n
	for n in "${!cidr[@]}"; do
		printf '[network-policy shop/c-%s]\nendpoints = role=%s\n' "$n" "${kinds[n % 5]}"
		printf 'ingress = from cidr(%s) ports TCP/80\negress = to cidr(%s)\n' "${cidr[$n]}" "${cidr[$n]}"
	done
	for n in "${!node[@]}"; do
		printf '[node n-%s]\nip = 192.168.8.%s,fd08::%s\nlabels = zone=%s\n' "$n" "$n" "$n" "${node[$n]}"
	done
	[ "${#node[@]}" = 0 ] || printf '[admin-network-policy nodes]\npriority = 99\nsubject = namespaces()\negress = Deny to nodes(zone=red)\n'
	for n in "${!service[@]}"; do
		printf '[service shop/s-%s]\naddress = 10.96.0.%s,fd96::%s\n%s\n' "$n" "$n" "$n" "${service[$n]/NODE_PORT/3008$n}"
	done
}
all_services=(
	$'port = TCP/80 to 8080\nbackends = endpoints(role=web)'
	$'port = TCP/80 to 8080\nbackends = endpoints(role=red)\nexternal-address = 192.0.2.200'
	$'port = http TCP/80 to 443\nport = dns UDP/53 to 53\nbackends = endpoints(role=blue)'
	$'port = TCP/80 to 8080 node NODE_PORT\nbackends = endpoints(role=green)\nexternal-traffic = Local'
	$'port = TCP/80 to 8080\nbackends = endpoints(role=nobody)'
	$'port = TCP/80 to 8080\nbackends = 192.168.8.3, 203.0.113.9, 10.9.0.2'
	"port = TCP/80 to 8080 node NODE_PORT"$'\n'"backends = $(net_ip node), $(net_ip6 node)"
)
cluster() {
	local pod
	net_head
	net_node_object
	others
	for pod in db web; do
		net_endpoint "$pod"
	done
	printf '[network-policy shop/db]\nendpoints = role=db\ningress = from endpoints(role=web) ports TCP/80\n'
	printf 'ingress = from endpoints(role=late) ports TCP/443\n'
	printf '[namespace one]\nlabels = team=%s\n[namespace two]\nlabels = team=blue\n' "$team"
	pods
	policies
}
team=red
all_ports=("TCP/80" "TCP/80,UDP/53" "TCP/api" "UDP/1000-2000" "TCP/443,TCP/api")
change() {
	local i n
	for ((i = RANDOM % 3; i >= 0; i--)); do
		n=$((RANDOM % 9 + 1))
		case $((RANDOM % 14)) in
		8) cidr[$n]=${all_cidrs[RANDOM % 8]} ;;
		9) unset "cidr[$n]" ;;
		10) node[$n]=${kinds[RANDOM % 5]} ;;
		11) unset "node[$n]" ;;
		12) service[$((n % 5 + 1))]=${all_services[RANDOM % 7]} ;;
		13) unset "service[$((n % 5 + 1))]" ;;
		0) unset "role[$n]" ;;
		1) ports[$((n % 7))]=${all_ports[RANDOM % 5]} ;;
		2) unset "ports[$((n % 7))]" ;;
		3) admin[$n]=${kinds[RANDOM % 5]} ;;
		4) unset "admin[$n]" ;;
		5) team=${kinds[RANDOM % 5]} ;;
		*)
			role[$n]=${kinds[RANDOM % 5]}
			[ -n "${space[$n]:-}" ] || space[$n]=one
			case $((RANDOM % 3)) in
			0) space[$n]=shop ;;
			1) space[$n]=two ;;
			esac
			;;
		esac
	done
}
compile() {
	"$BULKHEAD" compile "$@" >/dev/null
}
next() { # BASE NAME: compiles NAME.ini as the successor of BASE, and the delta
	compile --base "$here/$1.bhp" -o "$here/$2.bhp" "$here/$2.ini" &&
		compile --base "$here/$1.bhp" --delta -o "$here/$2.bhd" "$here/$2.ini"
}
compile_all() {
	local i
	cluster >"$here/0.ini" && compile -o "$here/0.bhp" "$here/0.ini" || return
	for ((i = 1; i <= STEPS; i++)); do
		change
		cluster >"$here/$i.ini" && next $((i - 1)) "$i" || return
	done
}
net_check "compile a policy and $STEPS deltas" compile_all
load() {
	net_bulkhead load --force "$@"
}
whole_changes_nothing() { # NAME
	[ "$(net_writes "$here/$1.bhp")" = 0 ]
}
# A whole load removes the base; a step may change nothing.
is_a_delta() { # NUMBER
	[ -e "$NET_PIN/blob_base" ] || cmp -s "$here/$(($1 - 1)).bhp" "$here/$1.bhp"
}
net_check "load the first policy" load "$here/0.bhp"
for ((i = 1; i <= STEPS; i++)); do
	net_check "delta $i" load "$here/$i.bhd"
	net_check "delta $i was planned from what it names" is_a_delta "$i"
	net_check "delta $i: a load of the whole policy has nothing to change" whole_changes_nothing "$i"
done

# The first endpoint of its kind, which `endpoint add` brings and a policy takes over
role=() ports=() admin=() cidr=() service=() node=()
chain() { # NAME...: compiles $here/NAME.ini, each as the successor of the one before; the first has no delta
	local last='' name
	for name; do
		if [ -n "$last" ]; then next "$last" "$name" || return; else compile -o "$here/$name.bhp" "$here/$name.ini" || return; fi
		last=$name
	done
}
far() { # NAME ROLE
	printf '[endpoint shop/%s]\nnode = far\nip = 10.9.2.1,fd09:2::1\nlabels = role=%s\n' "$1" "$2"
}
moved() { # the same cluster, but that web has the role late
	cluster | awk '/^\[endpoint shop\/web\]/ { web = 1 } web && sub(/role=web/, "role=late") { web = 0 } { print }'
}
cluster >"$here/b0.ini"
{ cluster && net_endpoint late; } >"$here/b1.ini"
cluster >"$here/b2.ini"
{ cluster && far one kind; } >"$here/b3.ini"
{ cluster && net_endpoint late; } >"$here/b4.ini"
{ moved && net_endpoint late; } >"$here/b5.ini"
net_check "compile policies and deltas" chain b0 b1 b2 b3 b4 b5
late_is_late() { # WHEN
	net_allowed late tcp "$(net_ip db)" 443 "$1: late reaches db at its port"
	net_denied late tcp "$(net_ip db)" 80 "$1: late does not reach another port"
	net_allowed late tcp "$(net_ip6 db)" 443 "$1: late reaches db over IPv6"
	net_denied late tcp "$(net_ip6 db)" 80 "$1: late does not reach another port over IPv6"
}
by_delta() { # NAME
	load "$here/$1.bhd" && [ -e "$NET_PIN/blob_base" ]
}
net_check "load the first policy" load --rollback "$here/b0.bhp"
net_check "endpoint add of the first of its kind" net_bulkhead endpoint add shop/late --ip "$(net_ip late),$(net_ip6 late)" --label role=late
late_is_late "added"
net_check "a delta that takes it over" by_delta b1
late_is_late "taken over"
net_check "the node's own segment is gone" whole_changes_nothing b1
net_check "endpoint del" net_bulkhead endpoint del shop/late
net_check "a delta that takes the last of its kind" by_delta b2
net_denied late tcp "$(net_ip db)" 443 "late is nobody"
net_denied late tcp "$(net_ip6 db)" 443 "late is nobody over IPv6"
net_check "a load of the whole policy has nothing to change" whole_changes_nothing b2
net_check "endpoint add of the first of its kind again" net_bulkhead endpoint add shop/late --ip "$(net_ip late),$(net_ip6 late)" --label role=late
net_check "beside it, a delta with a new segment" by_delta b3
late_is_late "beside a new segment"
net_check "the node's own segment is as after a whole load" whole_changes_nothing b3
net_check "a delta that takes over the one and takes off the other" by_delta b4
late_is_late "taken over again"
net_check "a load of the whole policy has nothing to change" whole_changes_nothing b4

# Two steps: the segment is installed, then the endpoint moves into it.
web_is() { # PORT OTHER WHEN
	net_allowed web tcp "$(net_ip db)" "$1" "$3: web reaches db at its port"
	net_denied web tcp "$(net_ip db)" "$2" "$3: web does not reach another port"
	net_allowed web tcp "$(net_ip6 db)" "$1" "$3: web reaches db over IPv6"
	net_denied web tcp "$(net_ip6 db)" "$2" "$3: web does not reach another port over IPv6"
}
again() {
	load --rollback "$here/b4.bhp"
}
compiled=$("$BULKHEAD" compile --base "$here/b4.bhp" -o "$NET_TMP/again.bhp" "$here/b5.ini")
generation=$(sed 's/.*generation \([0-9]*\),.*/\1/' <<<"$compiled")
net_check "stage a delta that moves web into a new segment" load --stage "$here/b5.bhd"
web_is 80 443 "staged"
net_check "activate it" load --activate "$generation"
web_is 443 80 "activated"
net_check "a load of the whole policy has nothing to change" whole_changes_nothing b5
net_check "load the policy before" again
net_check "stage the delta again" load --stage "$here/b5.bhd"
net_check "load the staged delta" load "$here/b5.bhd"
web_is 443 80 "loaded"
net_check "a load of the whole policy has nothing to change" whole_changes_nothing b5
net_check "load the policy before" again

# A load, and a stage, that is killed or fails anywhere leaves the old policy or the new one active.
one_of() { # OLD NEW
	net_bulkhead diff "$1" || net_bulkhead diff "$2"
}
calls() { # ARGUMENT...
	net_fault all 0 kill load --force "$@" && again
}
for what in "" --stage; do # load, load --stage
	net_check "count the calls of a load $what" calls ${what:+"$what"} "$here/b5.bhd"
	for how in kill 12; do # 12: ENOMEM
		for at in $(net_places $STEP $SAMPLE); do
			net_fault all "$at" "$how" load --force ${what:+"$what"} "$here/b5.bhd" >"$NET_TMP/fault" 2>&1
			net_check "fault $how at call $at $what: one of the two is active" one_of "$here/b4.bhp" "$here/b5.bhp"
			net_check "the next load repairs" load "$here/b5.bhp"
			web_is 443 80 "repaired after fault $how at call $at"
			net_check "a second load has nothing to change" whole_changes_nothing b5
			net_check "load the old policy again" again
			web_is 80 443 "the old policy after fault $how at call $at"
		done
	done
done
net_end
