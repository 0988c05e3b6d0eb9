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
# A small table of connections: below, every place of it is dumped.
net_bulkhead load --set connections=4096 "$NET_TMP/one.ini" >"$NET_TMP/told" 2>&1
net_check "load" net_is $? 0
net_check "load names the hooks of the endpoints" \
	grep -Eq "2 endpoints guarded by (TCX links|clsact filters \(TCX needs Linux 6.6\))," "$NET_TMP/told"
net_check "load names the hook of the uplink" \
	grep -Eq "uplink eth0: XDP, (native|generic since native was refused: [^,]*), (by libxdp's|a single)" \
	"$NET_TMP/told"
net_allowed web tcp "$(net_ip db)" 80 "web sends what the policy allows"
net_denied web tcp "$(net_ip db)" 443 "web does not send what it denies"
net_check "a second load of the same writes nothing" net_is "$(net_writes "$NET_TMP/one.ini")" 0
net_check "load another policy" net_bulkhead load "$NET_TMP/two.ini"
net_allowed web tcp "$(net_ip db)" 443 "web sends what the new policy allows"
net_denied web tcp "$(net_ip db)" 80 "web does not send what only the old one allowed"
net_check "a second load of the new policy writes nothing" net_is "$(net_writes "$NET_TMP/two.ini")" 0
net_check "load -v prints 0 map writes" grep -qx '0 map writes' <(net_bulkhead load -v "$NET_TMP/two.ini")

# The number of writes does not depend on the unchanged endpoints.
others() {
	local i
	for ((i = 0; i < 300; i++)); do
		printf '[endpoint shop/other-%d]\nnode = worker-2\nip = 10.245.%d.%d\nlabels = role=other-%d\n' \
			$i $((i / 250)) $((i % 250)) $((i % 3))
	done
}
alone=$(net_writes "$NET_TMP/one.ini")
net_check "load the second policy again" net_bulkhead load "$NET_TMP/two.ini"
{ policy 443 && others; } >"$NET_TMP/two-many.ini"
{ policy 80 && others; } >"$NET_TMP/one-many.ini"
net_check "load the same with 300 endpoints more" net_bulkhead load "$NET_TMP/two-many.ini"
net_check "with 300 endpoints more the same change makes $alone writes" net_is "$(net_writes "$NET_TMP/one-many.ini")" "$alone"
net_check "load the policy without the 300 endpoints" net_bulkhead load "$NET_TMP/two.ini"
# Of the arrays the first entries: they have hundreds of thousands. Status 141 is that of who writes on then.
net_check "every map's pin can be dumped" bash -c '
	for pin in '"$NET_PIN"'/*; do
		case $pin in */tcx_* | */tc_* | */sk_* | */assign | */forget | */events) continue ;; esac
		bpftool map dump pinned $pin | head -c 100000 >/dev/null
		case ${PIPESTATUS[0]} in 0 | 141) ;; *) exit 1 ;; esac
	done'

# A compiled child of the active policy, and an unrelated policy, whose IDs all differ.
policy 5978 | sed 's/shop/other/' >"$NET_TMP/kin.ini"
compile() {
	"$BULKHEAD" compile "$@" >/dev/null
}
compile -o "$NET_TMP/one.bhp" "$NET_TMP/one.ini"
compile --base "$NET_TMP/one.bhp" -o "$NET_TMP/two.bhp" "$NET_TMP/two.ini"
compile -o "$NET_TMP/kin.bhp" "$NET_TMP/kin.ini"
net_check "unload before compiled policies" net_bulkhead unload
net_check "load a compiled policy" net_bulkhead load "$NET_TMP/one.bhp"
net_allowed web tcp "$(net_ip db)" 80 "web sends what the compiled policy allows"
net_denied web tcp "$(net_ip db)" 443 "web does not send what the policy before allowed"
net_check "load the compiled policy's child" net_bulkhead load "$NET_TMP/two.bhp"
net_check "an older generation is refused" net_fails 2 net_bulkhead load "$NET_TMP/one.bhp"
net_allowed web tcp "$(net_ip db)" 443 "the child is active"
net_denied web tcp "$(net_ip db)" 80 "the parent is not active"
net_check "load --rollback of the parent" net_bulkhead load --rollback "$NET_TMP/one.bhp"
net_allowed web tcp "$(net_ip db)" 80 "the parent is active again"
net_denied web tcp "$(net_ip db)" 443 "the child is not active"
net_check "the same rollback again writes nothing" net_is "$(net_writes "$NET_TMP/one.bhp")" 0
net_check "stage the child" net_bulkhead load --stage "$NET_TMP/two.bhp"
net_allowed web tcp "$(net_ip db)" 80 "what only the parent allows passes while the child is staged"
net_denied web tcp "$(net_ip db)" 443 "what only the child allows is denied while it is staged"
net_check "status has both generations" bash -c \
	"nsenter --net=/run/netns/$NET-node $BULKHEAD status -j --pin $NET_PIN | tr -d ' ' |
		grep -q '\"installed\":2,\"active\":1'"
net_check "a generation that is not staged cannot be activated" net_fails 2 net_bulkhead load --activate 7
net_check "activate the staged child" net_bulkhead load --activate 2
net_allowed web tcp "$(net_ip db)" 443 "the activated child is active"
net_denied web tcp "$(net_ip db)" 80 "the parent is not active any more"
net_check "stage a policy" net_bulkhead load --stage "$NET_TMP/kin.bhp"
net_check "load another policy" \
	net_bulkhead load --rollback "$NET_TMP/one.bhp"
net_check "the load has discarded the staged policy" net_fails 2 net_bulkhead load --activate 1
net_check "load a policy of another lineage with the same generation" net_bulkhead load "$NET_TMP/kin.bhp"
net_allowed web tcp "$(net_ip db)" 5978 "web sends what the other lineage's policy allows"
net_denied web tcp "$(net_ip db)" 80 "web does not send what the old lineage's policy allowed"
ports=TCP/80,TCP/443,TCP/5978
net_check "the maps say what the policy does" net_is "$(net_bulkhead matrix --port $ports)" \
	"$("$BULKHEAD" matrix --port $ports "$NET_TMP/kin.bhp")"
net_check "load the child from its text" net_bulkhead load "$NET_TMP/two.ini"

net_check "load --audit" net_bulkhead load --audit "$NET_TMP/two.ini"
net_allowed web tcp "$(net_ip db)" 80 "under --audit a denied connection opens"
net_check "status has the audit" bash -c \
	"nsenter --net=/run/netns/$NET-node $BULKHEAD status --pin $NET_PIN |
		grep -q 'veth-db.*audited only'"
net_check "load without --audit" net_bulkhead load "$NET_TMP/two.ini"
net_denied web tcp "$(net_ip db)" 80 "without --audit the denied connection is dropped"
net_allowed web tcp "$(net_ip db)" 443 "without --audit the allowed connection opens"

echo "[namespace shop" >"$NET_TMP/bad.ini"
net_check "bad input is refused with status 2" net_fails 2 net_bulkhead load "$NET_TMP/bad.ini"
net_check "an uplink that does not exist is refused with status 3" \
	net_fails 3 net_bulkhead load --uplink nowhere "$NET_TMP/one.ini"
sed 's/^mac.*/interface = veth-nowhere/' "$NET_TMP/one.ini" >"$NET_TMP/lost.ini"
net_check "an interface that does not exist is refused with status 3" \
	net_fails 3 net_bulkhead load "$NET_TMP/lost.ini"
sed '/^\[endpoint shop\/web/,/^\[endpoint shop\/elsewhere/{/^\[endpoint shop\/elsewhere/!d}' \
	"$NET_TMP/two.ini" >"$NET_TMP/less.ini"
net_check "an endpoint's interface is refused as an uplink" \
	net_fails 2 net_bulkhead load --force --uplink veth-web "$NET_TMP/less.ini"
net_check "the message names the interface" bash -c "nsenter --net=/run/netns/$NET-node $BULKHEAD load --force --uplink veth-web \
	--pin $NET_PIN $NET_TMP/less.ini 2>&1 | grep -q 'veth-web is guarded as an endpoint'"
net_allowed web tcp "$(net_ip db)" 443 "after the refused loads the active policy still allows"
net_denied web tcp "$(net_ip db)" 80 "after the refused loads the active policy still denies"

net_check "unload" net_bulkhead unload
net_allowed web tcp "$(net_ip db)" 80 "after unload all is open"
net_check "no program, filter or qdisc is left" net_is "$(programs)" "$before"
net_check "no pin folder is left" test ! -e "$NET_PIN"
net_check "unload again" net_bulkhead unload

# An interface that vanishes takes its hooks along; the next command repairs the rest.
net_check "load before an interface is deleted" net_bulkhead load "$NET_TMP/one.ini"
ip -n "$NET-node" link del veth-web
net_check "status names the endpoint that is not guarded" \
	bash -c "nsenter --net=/run/netns/$NET-node $BULKHEAD status --pin $NET_PIN | grep -q 'NOT GUARDED.*shop/web'"
net_check "load succeeds without the interface" net_bulkhead load "$NET_TMP/one.ini"
net_check "status has one guarded endpoint left" net_is "$(net_bulkhead status | grep -c 'endpoint, tc')" 1
net_check "the same load again writes nothing" net_is "$(net_writes "$NET_TMP/one.ini")" 0
net_check "unload after that" net_bulkhead unload

# Other programs stay attached and run: those at db's interface drop every packet that db sends.
db() { # NAME: that db's replies do not get through
	net_denied node tcp "$(net_ip db)" 80 "$1"
}
tc -n "$NET-node" qdisc add dev veth-db clsact
net_on node "$foreign" clsact veth-db
before=$(programs)
db "a foreign filter works"
net_check "load beside a foreign clsact qdisc and filter" net_bulkhead load "$NET_TMP/one.ini"
db "the foreign filter still works"
net_check "unload beside the foreign filter" net_bulkhead unload
net_check "the foreign filter is left as it was" net_is "$(programs)" "$before"
db "the foreign filter works after the unload"
tc -n "$NET-node" qdisc del dev veth-db clsact

net_allowed node tcp "$(net_ip db)" 80 "without a foreign filter all is open"
if net_on node "$foreign" tcx veth-db "${NET_PIN}_foreign" 2>/dev/null; then
	net_check "load beside a foreign TCX program" net_bulkhead load "$NET_TMP/one.ini"
	db "the foreign TCX program still works"
	net_check "unload beside the foreign TCX program" net_bulkhead unload
	db "the foreign TCX program works after the unload"
	rm -f "${NET_PIN}_foreign"
	net_allowed node tcp "$(net_ip db)" 80 "without a foreign TCX program all is open"
else
	echo "ok $((NET_TEST += 1)) - beside a foreign TCX program # SKIP the kernel has no TCX"
fi

net_on node "$foreign" xdp eth0
net_check "load beside a foreign XDP program says that TC does the work" \
	bash -c "nsenter --net=/run/netns/$NET-node $BULKHEAD load --pin $NET_PIN $NET_TMP/one.ini 2>&1 |
		grep 'eth0.*libxdp does not manage'"
net_denied out tcp "$(net_ip db)" 80 "the foreign XDP program still works"
net_denied web tcp "$(net_ip db)" 443 "TC guards beside the foreign XDP program"
net_check "unload beside the foreign XDP program" net_bulkhead unload
net_denied out tcp "$(net_ip db)" 80 "the foreign XDP program works after the unload"
ip -n "$NET-node" link set dev eth0 xdpgeneric off
net_allowed out tcp "$(net_ip db)" 80 "without the foreign XDP program the outside gets in"

net_end
