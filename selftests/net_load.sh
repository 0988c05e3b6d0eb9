#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# load and unload write only the difference, leave nothing behind and touch nothing of others.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web
foreign=$(dirname "$NET_PROBE")/foreign

policy() { # PORT: what web may reach of db
	net_db_and_web
	net_endpoint_at elsewhere worker-2 10.244.9.9 "labels = role=web"
	cat <<-EOF2
	[network-policy shop/db]
	endpoints = role=db
	ingress = from endpoints(role=web) ports TCP/$1
	EOF2
}
policy 80 >"$NET_TMP/one.ini"
policy 443 >"$NET_TMP/two.ini"

programs() { # what is attached in the node's namespace, and the qdiscs
	net_on node bpftool -j net show
	net_on node tc qdisc show
	net_on node tc filter show dev veth-db ingress
}
before=$(programs)
net_check "unload where nothing is loaded" net_bulkhead unload
net_bulkhead load "$NET_TMP/one.ini" >"$NET_TMP/told" 2>&1
net_check "load" net_is $? 0
net_check "says by which hooks it guards the endpoints" \
	grep -Eq "2 endpoints guarded by (TCX links|clsact filters \(TCX needs Linux 6.6\))," "$NET_TMP/told"
net_check "and by which the uplink" \
	grep -Eq "uplink eth0: XDP, (native|generic since native was refused: [^,]*), (by libxdp's|a single)" \
	"$NET_TMP/told"
net_allowed web tcp "$(net_ip db)" 80 "what the policy allows"
net_denied web tcp "$(net_ip db)" 443 "what it does not"
net_check "a second load of the same writes nothing" net_is "$(net_writes "$NET_TMP/one.ini")" 0
net_check "another policy" net_bulkhead load "$NET_TMP/two.ini"
net_allowed web tcp "$(net_ip db)" 443 "what the new policy allows"
net_denied web tcp "$(net_ip db)" 80 "what only the old one did"
net_check "a second load of that writes nothing" net_is "$(net_writes "$NET_TMP/two.ini")" 0
net_check "load -v says so" grep -qx '0 map writes' <(net_bulkhead load -v "$NET_TMP/two.ini")

# The number of writes does not depend on the unchanged endpoints.
others() {
	local i
	for ((i = 0; i < 300; i++)); do
		printf '[endpoint shop/other-%d]\nnode = worker-2\nip = 10.245.%d.%d\nlabels = role=other-%d\n' \
			$i $((i / 250)) $((i % 250)) $((i % 3))
	done
}
alone=$(net_writes "$NET_TMP/one.ini")
net_check "back" net_bulkhead load "$NET_TMP/two.ini"
{ policy 443 && others; } >"$NET_TMP/two-many.ini"
{ policy 80 && others; } >"$NET_TMP/one-many.ini"
net_check "with 300 endpoints more" net_bulkhead load "$NET_TMP/two-many.ini"
net_check "the same change writes as often: $alone" net_is "$(net_writes "$NET_TMP/one-many.ini")" "$alone"
net_check "back to what there was" net_bulkhead load "$NET_TMP/two.ini"
net_check "every map's pin can be dumped" bash -c '
	for pin in '"$NET_PIN"'/*; do
		case $pin in */tcx_* | */tc_* | */assign | */events) continue ;; esac
		bpftool map dump pinned $pin || exit 1
	done'

# A compiled child of the policy in force, and an unrelated policy, whose IDs all differ.
policy 5978 | sed 's/shop/other/' >"$NET_TMP/kin.ini"
compile() {
	"$BULKHEAD" compile "$@" >/dev/null
}
compile -o "$NET_TMP/one.bhp" "$NET_TMP/one.ini"
compile --base "$NET_TMP/one.bhp" -o "$NET_TMP/two.bhp" "$NET_TMP/two.ini"
compile -o "$NET_TMP/kin.bhp" "$NET_TMP/kin.ini"
net_check "unload, for another beginning" net_bulkhead unload
net_check "a policy compiled elsewhere" net_bulkhead load "$NET_TMP/one.bhp"
net_allowed web tcp "$(net_ip db)" 80 "what it allows"
net_denied web tcp "$(net_ip db)" 443 "and nothing of the one before"
net_check "its child" net_bulkhead load "$NET_TMP/two.bhp"
net_check "an older generation is refused" net_fails 2 net_bulkhead load "$NET_TMP/one.bhp"
net_allowed web tcp "$(net_ip db)" 443 "the child is in force"
net_denied web tcp "$(net_ip db)" 80 "and not its parent"
net_check "unless it is asked for" net_bulkhead load --rollback "$NET_TMP/one.bhp"
net_allowed web tcp "$(net_ip db)" 80 "the parent is in force again"
net_denied web tcp "$(net_ip db)" 443 "and not its child"
net_check "that again writes nothing" net_is "$(net_writes "$NET_TMP/one.bhp")" 0
net_check "the child again, staged" net_bulkhead load --stage "$NET_TMP/two.bhp"
net_allowed web tcp "$(net_ip db)" 80 "staged, it is not in force"
net_denied web tcp "$(net_ip db)" 443 "in nothing"
net_check "status tells both generations" bash -c \
	"nsenter --net=/run/netns/$NET-node $BULKHEAD status -j --pin $NET_PIN | tr -d ' ' |
		grep -q '\"installed\":2,\"active\":1'"
net_check "another generation is not staged" net_fails 2 net_bulkhead load --activate 7
net_check "activated" net_bulkhead load --activate 2
net_allowed web tcp "$(net_ip db)" 443 "it is in force"
net_denied web tcp "$(net_ip db)" 80 "and its parent is not"
net_check "stage one, load another" net_bulkhead load --stage "$NET_TMP/kin.bhp"
net_check "which discards what was staged" \
	net_bulkhead load --rollback "$NET_TMP/one.bhp"
net_check "so that there is nothing to activate" net_fails 2 net_bulkhead load --activate 1
net_check "one of no kin, with the same numbers" net_bulkhead load "$NET_TMP/kin.bhp"
net_allowed web tcp "$(net_ip db)" 5978 "what it allows, too"
net_denied web tcp "$(net_ip db)" 80 "and nothing of the parent"
ports=TCP/80,TCP/443,TCP/5978
net_check "the maps say what the policy does" net_is "$(net_bulkhead matrix --port $ports)" \
	"$("$BULKHEAD" matrix --port $ports "$NET_TMP/kin.bhp")"
net_check "the first policy's child by its text" net_bulkhead load "$NET_TMP/two.ini"

net_check "audit" net_bulkhead load --audit "$NET_TMP/two.ini"
net_allowed web tcp "$(net_ip db)" 80 "audited, nothing is dropped"
net_check "and is told so" bash -c \
	"nsenter --net=/run/netns/$NET-node $BULKHEAD status --pin $NET_PIN |
		grep -q 'veth-db.*audited only'"
net_check "back from audit" net_bulkhead load "$NET_TMP/two.ini"
net_denied web tcp "$(net_ip db)" 80 "no longer audited, it is dropped"
net_allowed web tcp "$(net_ip db)" 443 "and the rest is not"

echo "[namespace shop" >"$NET_TMP/bad.ini"
net_check "bad input is refused with status 2" net_fails 2 net_bulkhead load "$NET_TMP/bad.ini"
net_check "an uplink that is not there, with status 3" \
	net_fails 3 net_bulkhead load --uplink nowhere "$NET_TMP/one.ini"
sed 's/^mac.*/interface = veth-nowhere/' "$NET_TMP/one.ini" >"$NET_TMP/lost.ini"
net_check "an interface that is not there, with status 3" \
	net_fails 3 net_bulkhead load "$NET_TMP/lost.ini"
sed '/^\[endpoint shop\/web/,/^\[endpoint shop\/elsewhere/{/^\[endpoint shop\/elsewhere/!d}' \
	"$NET_TMP/two.ini" >"$NET_TMP/less.ini"
net_check "an endpoint's interface as an uplink" \
	net_fails 2 net_bulkhead load --force --uplink veth-web "$NET_TMP/less.ini"
net_check "is told so" bash -c "nsenter --net=/run/netns/$NET-node $BULKHEAD load --force --uplink veth-web \
	--pin $NET_PIN $NET_TMP/less.ini 2>&1 | grep -q 'veth-web is guarded as an endpoint'"
net_allowed web tcp "$(net_ip db)" 443 "after them the policy in force still is"
net_denied web tcp "$(net_ip db)" 80 "and nothing of theirs"

net_check "unload" net_bulkhead unload
net_allowed web tcp "$(net_ip db)" 80 "after unload all is open"
net_check "no program, filter or qdisc is left" net_is "$(programs)" "$before"
net_check "nor the pin folder" test ! -e "$NET_PIN"
net_check "unload again" net_bulkhead unload

# An interface that vanishes takes its hooks along; the next command repairs the rest.
net_check "load to lose an interface" net_bulkhead load "$NET_TMP/one.ini"
ip -n "$NET-node" link del veth-web
net_check "status tells the endpoint that is not guarded" \
	bash -c "nsenter --net=/run/netns/$NET-node $BULKHEAD status --pin $NET_PIN | grep -q 'NOT GUARDED.*shop/web'"
net_check "load goes on without it" net_bulkhead load "$NET_TMP/one.ini"
net_check "and forgets its hooks" net_is "$(net_bulkhead status | grep -c 'endpoint, tc')" 1
net_check "then writes nothing" net_is "$(net_writes "$NET_TMP/one.ini")" 0
net_check "unload after that" net_bulkhead unload

# Other programs stay attached and run: those at db's interface drop all that db sends.
db() { # NAME: that db's replies do not get through
	net_denied node tcp "$(net_ip db)" 80 "$1"
}
tc -n "$NET-node" qdisc add dev veth-db clsact
net_on node "$foreign" clsact veth-db
before=$(programs)
db "a foreign filter works"
net_check "load beside a foreign clsact qdisc and filter" net_bulkhead load "$NET_TMP/one.ini"
db "the foreign filter still works"
net_check "unload beside it" net_bulkhead unload
net_check "the foreign filter is left as it was" net_is "$(programs)" "$before"
db "and still works"
tc -n "$NET-node" qdisc del dev veth-db clsact

net_allowed node tcp "$(net_ip db)" 80 "without a foreign filter all is open"
if net_on node "$foreign" tcx veth-db "${NET_PIN}_foreign" 2>/dev/null; then
	net_check "load beside a foreign TCX program" net_bulkhead load "$NET_TMP/one.ini"
	db "the foreign TCX program still works"
	net_check "unload beside it, too" net_bulkhead unload
	db "and it works when we are gone"
	rm -f "${NET_PIN}_foreign"
	net_allowed node tcp "$(net_ip db)" 80 "without it all is open"
else
	echo "ok $((NET_TEST += 1)) - beside a foreign TCX program # SKIP the kernel has no TCX"
fi

net_on node "$foreign" xdp eth0
net_check "load beside a foreign XDP program says that TC does the work" \
	bash -c "nsenter --net=/run/netns/$NET-node $BULKHEAD load --pin $NET_PIN $NET_TMP/one.ini 2>&1 |
		grep 'eth0.*libxdp does not manage'"
net_denied out tcp "$(net_ip db)" 80 "the foreign XDP program still works"
net_denied web tcp "$(net_ip db)" 443 "and TC guards"
net_check "unload beside it as well" net_bulkhead unload
net_denied out tcp "$(net_ip db)" 80 "it works when we are gone"
ip -n "$NET-node" link set dev eth0 xdpgeneric off
net_allowed out tcp "$(net_ip db)" 80 "without it, outside gets in"

net_end
