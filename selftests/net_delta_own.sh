#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Deltas that change an endpoint of this node: its MAC, addresses, mode and audit, its namespace's audit, where it may
# send from, its interface, and whose an address is; a follower's, which moves between two interfaces. Each is planned
# from what it names; a load of the whole policy afterwards finds nothing to change.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 443"
net_start db web late extra
# shellcheck source=selftests/lib/delta.sh
. "$(dirname "$0")/lib/delta.sh"
late4=$(net_ip late) late6=$(net_ip6 late)

policy() { # LINE...
	net_head
	net_endpoint db
	echo "${WEB:-$(net_endpoint web "mac = $(net_mac web)" ${SOURCE:+"allow-source = $SOURCE"})}"
	# each role keeps its segment, whoever of this node is there
	printf '[endpoint shop/far-%s]\nnode = far\nip = 10.9.1.%s,fd09:1::%s\nlabels = role=%s\n' \
		web 1 1 web late 2 2 late
	cat <<-END
		[network-policy shop/db]
		endpoints = role=db
		ingress = from endpoints(role=web) ports TCP/80
		ingress = from endpoints(role=late) ports TCP/443
		[network-policy shop/late]
		endpoints = role=late
		ingress = from endpoints(role=web) ports TCP/80
	END
	printf '%s\n' "$@"
}
late() { # ADDRESSES [LINE...]
	net_endpoint_at late worker-1 "$1" "${@:2}"
}
both="$late4, $late6"
policy "$(late "$both")" >"$here/0.ini"
policy "$(late "$both" "mac = 02:00:00:00:00:99")" >"$here/mac.ini"
policy "$(late "$both" "mac = $(net_mac late)" "audit = yes")" >"$here/audit.ini"
policy "$(late "$both" "mac = $(net_mac late)")" >"$here/enforced.ini"
policy "$(late "$both" "mac = $(net_mac late)")" '[namespace shop]' 'audit = yes' >"$here/audits.ini"
policy "$(late "$both" "mac = $(net_mac late)")" '[namespace shop]' 'audit = no' >"$here/enforces.ini"
policy "$(late "$late4" "mac = $(net_mac late)")" >"$here/one.ini"
policy "$(late "$both")" >"$here/two.ini"
SOURCE=10.98.0.0/16 policy "$(late "$both")" >"$here/source.ini"
SOURCE=10.99.0.0/16 policy "$(late "$both")" >"$here/other.ini"
policy "$(late "$both" "mode = l2")" >"$here/mode.ini"
policy "$(late "$both")" >"$here/last.ini"
policy "$(late "$both" "mac = $(net_mac late)" "allow-source = 10.98.0.0/16")" >"$here/known.ini"
policy "$(late "$both" "mac = $(net_mac late)" "interface = veth-late")" >"$here/moved.ini"
policy "$(late "$both" "mac = $(net_mac late)" "interface = veth-extra")" >"$here/off.ini"
WEB=$(net_endpoint web) policy "$(late "$both")" >"$here/bare.ini"
WEB=$(net_endpoint_at web worker-1 "$both") \
	policy "$(net_endpoint_at late worker-1 "$(net_ip web), $(net_ip6 web)")" >"$here/swapped.ini"
cp "$here/moved.ini" "$here/back.ini"
policy "$(late "$late4" "mac = $(net_mac late)")" \
	"$(net_endpoint_at extra worker-1 "$(net_ip extra), $late6" "interface = veth-extra" "labels = role=web")" >"$here/part.ini"
policy "$(late "$both" "mac = $(net_mac late)")" >"$here/whole.ini"
policy "$(net_endpoint_at other far "$both" "labels = role=late")" >"$here/away.ini"
policy "$(late "$both" "mac = $(net_mac late)")" >"$here/home.ini"
net_check "compile policies and deltas" \
	chain 0 mac audit enforced audits enforces one two source other mode last known moved bare swapped back part whole away home off
step() { # NAME WHAT
	net_check "a delta: $2" load_delta "$1"
	net_check "$2: a load of the whole policy has nothing to change" whole_changes_nothing "$1"
}
is_late() { # WHEN ADDRESS OF DB, OF LATE
	net_allowed late tcp "$2" 443 "$1: late reaches $2 at its port"
	net_denied late tcp "$2" 80 "$1: late does not reach another port"
	net_allowed web tcp "$3" 80 "$1: web reaches $3 at its port"
	net_denied web tcp "$3" 443 "$1: web does not reach another port"
}
is_late_by_both() { # WHEN
	is_late "$1" "$(net_ip db)" "$late4"
	is_late "$1" "$(net_ip6 db)" "$late6"
}
net_check "load the first policy" load "$here/0.bhp"
is_late_by_both "at first"

net_check "a delta: another MAC" load_delta mac
net_denied late tcp "$(net_ip db)" 443 "with another MAC, late sends nothing"
net_denied late tcp "$(net_ip6 db)" 443 "with another MAC, late sends nothing over IPv6"
net_check "another MAC: a load of the whole policy has nothing to change" whole_changes_nothing mac

step audit "late is audited, with its MAC"
for address in "$(net_ip db)" "$(net_ip6 db)"; do
	net_allowed late tcp "$address" 443 "audited: late reaches $address at its port"
	net_denied late tcp "$address" 80 "audited: db, which is not, still lets late in at one port only"
done
for address in "$late4" "$late6"; do
	net_allowed web tcp "$address" 443 "audited: what late's policy denies passes at $address"
done
step enforced "late is audited no more"
is_late_by_both "enforced again"
says_audit() {
	load "$here/audits.bhd" >"$NET_TMP/said" 2>&1 && test -e "$NET_PIN/blob_base" &&
		grep "shop/late" "$NET_TMP/said"
}
net_check "a delta: the namespace is audited, which the load says" says_audit
net_allowed late tcp "$(net_ip db)" 80 "the namespace is audited: what db's policy denies passes"
net_allowed late tcp "$(net_ip6 db)" 80 "the namespace is audited: what db's policy denies passes over IPv6"
net_check "the namespace is audited: a load of the whole policy has nothing to change" whole_changes_nothing audits
# An added endpoint is audited as its namespace is.
net_check "endpoint add in the audited namespace" net_bulkhead endpoint add shop/extra \
	--ip "$(net_ip extra),$(net_ip6 extra)" --labels role=web
net_allowed extra tcp "$(net_ip db)" 443 "an added endpoint is audited, too"
step enforces "the namespace is audited no more, beside an added endpoint"
net_denied extra tcp "$(net_ip db)" 443 "the added endpoint is audited no more"
net_denied extra tcp "$(net_ip6 db)" 443 "the added endpoint is audited no more over IPv6"
net_allowed extra tcp "$(net_ip db)" 80 "the added endpoint reaches its port"
net_allowed extra tcp "$(net_ip6 db)" 80 "the added endpoint reaches its port over IPv6"
net_check "endpoint del" net_bulkhead endpoint del shop/extra
is_late_by_both "enforced by the namespace again"

step one "an address goes"
is_late "one address" "$(net_ip db)" "$late4"
net_denied late tcp "$(net_ip6 db)" 443 "the address that is late's no more sends nothing"
step two "an address comes"
is_late_by_both "both addresses"

for address in 10.98.0.1 10.99.0.1; do
	ip -n "$NET-web" address add $address dev lo
	ip -n "$NET-node" route add $address dev veth-web
	net_neighbour node veth-web "$(net_mac web)" $address
done
step source "web may send from a CIDR"
net_allowed web udp "$(net_ip out)" 80 "web sends from the CIDR" 10.98.0.1
net_denied web udp "$(net_ip out)" 80 "web does not send from another one" 10.99.0.1
step other "web may send from another CIDR in its place"
net_allowed web udp "$(net_ip out)" 80 "web sends from the other CIDR" 10.99.0.1
net_denied web udp "$(net_ip out)" 80 "web sends no more from the first one" 10.98.0.1
step mode "another mode"
step last "the former mode"
is_late_by_both "at last"

step known "late's MAC and a CIDR that it may send from"
net_check "late's interface goes" ip -n "$NET-node" link del veth-late
net_plug late
net_denied late tcp "$(net_ip db)" 443 "at an interface that is not its own, late sends nothing"
net_denied late tcp "$(net_ip6 db)" 443 "at an interface that is not its own, late sends nothing over IPv6"
step moved "late is at another interface"
is_late_by_both "at another interface"

# An address passes from one endpoint to another.
step bare "late and web without MACs"
step swapped "late and web swap their addresses, and so their interfaces"
is_swapped() { # ADDRESS OF DB, OF WEB, OF LATE
	net_allowed web tcp "$1" 443 "swapped: what was web reaches $1 at late's port"
	net_denied web tcp "$1" 80 "swapped: what was web does not reach web's port"
	net_allowed late tcp "$1" 80 "swapped: what was late reaches $1 at web's port"
	net_denied late tcp "$1" 443 "swapped: what was late does not reach late's port"
	net_allowed late tcp "$2" 80 "swapped: $2 is late, and lets web in"
	net_denied late tcp "$2" 443 "swapped: $2 lets web in at one port only"
	net_allowed web tcp "$3" 443 "swapped: $3 is web, and lets all in"
}
is_swapped "$(net_ip db)" "$(net_ip web)" "$late4"
is_swapped "$(net_ip6 db)" "$(net_ip6 web)" "$late6"
step back "late and web swap their addresses back"
is_late_by_both "swapped back"
# On the node's side, all pods' interfaces of this test have one MAC, but for this one.
own_mac=02:00:00:00:02:09
net_check "the node has a MAC of its own on the way to extra" ip -n "$NET-node" link set veth-extra address $own_mac
net_neighbour extra eth0 $own_mac 169.254.1.1 fe80::1
has_own_mac() {
	"$NET_HELPERS/entries" "$NET_PIN" macs | grep "^${own_mac//:/}01"
}
net_check "without an endpoint that MAC is nobody's" eval '! has_own_mac'
step part "another endpoint of this node gets one of late's addresses"
net_check "with an endpoint that MAC is the node's" has_own_mac
is_late "by one address" "$(net_ip db)" "$late4"
net_denied late tcp "$(net_ip6 db)" 443 "late sends nothing from the address that another endpoint has"
net_allowed extra tcp "$(net_ip db)" 80 "the other endpoint reaches db at its port"
net_denied extra tcp "$(net_ip db)" 443 "the other endpoint does not reach another port"
net_check "the other endpoint's interface goes" ip -n "$NET-node" link del veth-extra
step whole "late gets its address back from an endpoint that goes"
net_check "without the endpoint that MAC is nobody's again" eval '! has_own_mac'
is_late_by_both "with both addresses again"
net_check "late's interface goes" ip -n "$NET-node" link del veth-late
step away "an endpoint of another node gets late's addresses"
net_plug late
isolated() { # FILE: the counts of isolated endpoints that its load says
	load -j "$here/$1" | tr -d ' \n' | grep -o '"isolated":{[^}]*}'
}
comes_home() {
	isolated home.bhd >"$NET_TMP/isolated" && test -e "$NET_PIN/blob_base"
}
back="late gets its addresses back from another node's endpoint"
net_check "a delta: $back" comes_home
net_check "$back: a load of the whole policy has nothing to change" whole_changes_nothing home
net_check "$back: the delta's load counted the isolated endpoints as a load of the whole policy does" \
	net_is "$(cat "$NET_TMP/isolated")" "$(isolated home.bhp)"
is_late_by_both "home again"
net_plug extra

net_check "a delta that moves late off an interface that is there is refused" \
	net_ends 2 "shop/late would be taken off" load "$here/off.bhd"
is_late_by_both "after the refusal"
policy "$(late "$both" "mac = $(net_mac late)")" "$(net_endpoint_at extra worker-1 10.9.9.9 "interface = lo")" >"$here/lo.ini"
net_check "compile a delta with an endpoint at the loopback" \
	compile --base "$here/home.bhp" --delta -o "$here/lo.bhd" "$here/lo.ini"
net_check "a delta with an endpoint at the loopback is refused" \
	net_ends 2 "^endpoint shop/extra: lo is the node's loopback" load --force "$here/lo.bhd"

# A follower's endpoint moves between two interfaces that are there.
for name in here over back-again; do
	interface=veth-late
	[ $name != over ] || interface=veth-extra
	policy "$(late "$both" "interface = $interface")" >"$here/$name.ini"
done
reaches() { # POD: late's addresses are at its interface
	ip -n "$NET-extra" address replace "$late4/32" dev eth0 && ip -n "$NET-extra" address replace "$late6/128" dev eth0 nodad &&
		ip -n "$NET-node" route replace "$late4" dev "veth-$1" && ip -n "$NET-node" route replace "$late6" dev "veth-$1" &&
		net_neighbour node "veth-$1" "$(net_mac "$1")" "$late4" "$late6"
}
is_at() { # POD OTHER WHEN
	local ends late db
	for ends in "$late4 $(net_ip db)" "$late6 $(net_ip6 db)"; do
		late=${ends% *} db=${ends#* }
		net_allowed "$1" tcp "$db" 443 "$3: $late at $1's interface reaches $db at its port" "$late"
		net_denied "$1" tcp "$db" 80 "$3: $late at $1's interface does not reach another port" "$late"
		net_allowed web tcp "$late" 80 "$3: web reaches $late at $1's interface at its port"
		net_denied web tcp "$late" 443 "$3: web does not reach another port of $late"
		net_denied "$2" tcp "$db" 443 "$3: $late at $2's interface sends nothing" "$late"
	done
}
net_check "compile policies and deltas" chain here over back-again
net_check "load late at its own interface" load "$here/here.bhp"
net_check "late's addresses are at its own interface" reaches late
is_at late extra "at its own interface"
net_check "late's addresses move to extra's interface" reaches extra
net_denied web tcp "$late4" 80 "before the delta: web does not reach late at extra's interface"
follower_step over "late moves to extra's interface"
is_at extra late "moved"
net_check "late's addresses move back" reaches late
follower_step back-again "late moves back to its own interface"
is_at late extra "moved back"
net_end
