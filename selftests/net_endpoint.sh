#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# endpoint add, list and del: an endpoint that comes and goes without a load of the cluster.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web late
db4=$(net_ip db) late4=$(net_ip late) late6=$(net_ip6 late)

cat >"$NET_TMP/policy.ini" <<EOF
$(net_head)
$(net_endpoint db "mac = $(net_mac db)" "port = redis TCP/6379")
$(net_endpoint web)
[network-policy shop/db]
endpoints = role=db
ingress = from endpoints(role=web) ports redis
[network-policy shop/web]
endpoints = role=web
ingress = from endpoints(role=db)
EOF

add() {
	net_bulkhead endpoint add shop/late --ip "$late4, $late6" --mac "$(net_mac late)" "$@"
}

net_check "no endpoint is added where nothing is loaded" net_fails 2 add --labels role=web
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_allowed web tcp "$db4" 6379 "web reaches db"
net_denied late tcp "$db4" 6379 "an address that is no endpoint's does not reach db"
net_allowed out tcp "$late4" 80 "anybody reaches an address that is no endpoint's"

net_check "add late as a web" add --labels role=web
net_allowed late tcp "$db4" 6379 "late reaches db as a web"
net_denied late tcp "$db4" 80 "late reaches no other port"
net_allowed late tcp "$(net_ip6 db)" 6379 "late reaches db over IPv6"
net_denied late tcp "$(net_ip6 db)" 80 "late reaches no other port over IPv6"
net_allowed db tcp "$late4" 80 "db, which may reach a web, reaches late"
net_denied out tcp "$late4" 80 "the outside does not reach late"
net_denied out tcp "$late6" 80 "the outside does not reach late over IPv6"
net_check "endpoint list has late as added" net_ends 0 "shop/late.*$late4.*added" net_bulkhead endpoint list
net_check "another endpoint cannot be added with late's address" net_ends 2 "shop/thief: $late4 is shop/late's" \
	net_bulkhead endpoint add shop/thief --ip "$late4"
net_check "another endpoint cannot be added with late's name" net_ends 2 "shop/late: it is active already, with $late4" \
	net_bulkhead endpoint add shop/late --ip 10.9.9.9
net_check "no endpoint can be added with the address of the policy's db" net_ends 2 "shop/thief: $db4 is shop/db's" \
	net_bulkhead endpoint add shop/thief --ip "10.9.9.9, $db4"
net_check "no endpoint can be added with the name of the policy's db" net_ends 2 "shop/db: it is active already, with $db4" \
	net_bulkhead endpoint add shop/db --ip 10.9.9.9
net_check "no endpoint can be added at another's interface" net_fails 2 net_bulkhead endpoint add shop/thief --ip 10.9.9.9 \
	--interface veth-db

# Slips: what has no effect is refused.
net_check "endpoint del with labels is refused" net_ends 2 'del removes the endpoint.*`endpoint set` changes one' \
	net_bulkhead endpoint del shop/late --labels role=web
net_check "endpoint del of two endpoints is refused" net_ends 2 "shop/late: one endpoint at a time" \
	net_bulkhead endpoint del shop/web shop/late
net_check "endpoint list of one endpoint is refused" net_ends 2 "list takes no endpoint" net_bulkhead endpoint list shop/late
net_check "the refused commands delete no endpoint" net_is "$(net_bulkhead endpoint list | cut -d' ' -f1 | sort -u | tr '\n' ' ')" \
	"shop/db shop/late shop/web "
net_check "endpoint add without an address is refused" net_ends 2 "add needs --ip" net_bulkhead endpoint add shop/thief --labels a=b
printf '[endpoint shop/thief]\nip = 10.9.9.9\n[network-policy shop/thief]\nendpoints =\n' >"$NET_TMP/thief.ini"
net_check "endpoint add of a file that has a policy is refused" net_ends 2 "the input has policies: load them" \
	net_bulkhead endpoint add --file "$NET_TMP/thief.ini"
names() { # FIELD OPTION VALUE: a refusal of the option names it, and no line
	net_ends 2 "^$1: " net_bulkhead endpoint add "${THIEF:-shop/thief}" --ip "${IP:-10.9.9.9}" ${2:+"$2" "$3"}
}
net_check "a refused label names --labels" names --labels --labels a=b,a=c
net_check "a refused MAC names --mac" names --mac --mac 01:02:03:04:05:06
net_check "a refused port names --named-port" names --named-port --named-port http
IP=none net_check "a refused address names --ip" names --ip
THIEF=thief net_check "a refused name names the operand" names NAMESPACE/NAME
net_check "no endpoint can be added at the loopback" net_ends 2 "lo is the node's loopback" net_bulkhead endpoint add shop/thief \
	--ip 10.9.9.9 --interface lo
sed 's/^\[endpoint shop\/web\]/&\ninterface = lo/' "$NET_TMP/policy.ini" >"$NET_TMP/loopback.ini"
net_check "no policy can be loaded with an endpoint at the loopback" net_ends 2 "^endpoint shop/web: lo is the node's loopback" \
	net_bulkhead load --force "$NET_TMP/loopback.ini"
net_check "no policy can be loaded with the loopback as an uplink" net_ends 2 "^uplink lo: this is the node's loopback" \
	net_bulkhead load --uplink lo "$NET_TMP/policy.ini"

net_check "delete late" net_bulkhead endpoint del shop/late

# Counts the entries of bh_macs.
macs() { bpftool -j map dump pinned "$NET_PIN/macs" | "$NET_HELPERS/json" count; }
# The node's side of a new pair has a MAC of its own.
net_on node ip link add veth-spare type veth peer name spare
net_on node ip link set veth-spare up
before=$(macs)
net_check "add an endpoint with a MAC" net_bulkhead endpoint add shop/spare --ip 10.9.9.8 --interface veth-spare \
	--mac 02:00:00:09:09:08
net_check "bh_macs has its MAC and that of the node's side" net_is "$(macs)" $((before + 2))
net_check "delete it" net_bulkhead endpoint del shop/spare
net_check "both MACs go with it" net_is "$(macs)" "$before"
net_on node ip link del veth-spare
net_check "no endpoint can be added with another's MAC" net_ends 2 "shop/thief: its interface or MAC is another" \
	net_bulkhead endpoint add shop/thief --ip "$late4" --interface veth-late --mac "$(net_mac db)"
net_denied late tcp "$db4" 6379 "the deleted late does not reach db"
net_allowed out tcp "$late4" 80 "anybody reaches the deleted late's address"
net_check "late cannot be deleted twice" net_fails 2 net_bulkhead endpoint del shop/late

# The CNI plugin guards a new interface by filters, and takes no lock. A load that has listed the interface
# before attaches its own link to it then. Only a kernel with TCX has such links.
guard_by_filters() {
	net_on node tc qdisc add dev veth-late clsact && filter ingress tc_from_endpoint && filter egress tc_to_endpoint
}
filter() { # SIDE PROGRAM
	net_on node tc filter add dev veth-late "$1" prio 1 handle 0xb01d bpf da pinned "$NET_PIN/$2"
}
if [ -e "$NET_PIN/tcx_$(ip -n "$NET-node" -o link show veth-late | cut -d: -f1)_egress" ]; then
	net_check "the plugin's filters come beside the load's link" guard_by_filters
	net_check "add late where both are" add --labels role=web
	net_allowed late tcp "$db4" 6379 "late reaches db with the programs of an endpoint"
	net_denied late tcp "$db4" 80 "late reaches no other port with these"
	net_allowed db tcp "$late6" 80 "db reaches late through them"
	net_denied out tcp "$late6" 80 "the outside does not reach late through them"
	net_check "the filters have gone" net_is "$(net_on node tc qdisc show dev veth-late | grep -c clsact)" 0
	net_check "status misses nothing" net_bulkhead status --check
	net_check "delete late again" net_bulkhead endpoint del shop/late
fi

net_check "add an endpoint of a namespace that the policy does not have" \
	net_ends 0 "lab/late is isolated: it fits none" \
	net_bulkhead endpoint add lab/late --ip "$late4, $late6" --labels role=db
net_check "the command says that the namespace's labels are not known" \
	grep -q "has no namespace lab" "$NET_TMP/said"
net_denied web tcp "$late4" 7000 "nobody reaches late, which fits no segment"
net_denied web tcp "$late6" 7000 "nobody reaches late over IPv6"
net_denied late tcp "$(net_ip out)" 80 "late reaches nobody"
net_denied late tcp "$(net_ip6 out)" 80 "late reaches nobody over IPv6"
{
	cat "$NET_TMP/policy.ini"
	net_endpoint late "labels = role=db" "port = redis TCP/7000"
} >"$NET_TMP/more.ini"
net_check "load a policy that has late's segment" net_bulkhead load "$NET_TMP/more.ini"
net_allowed web tcp "$late4" 7000 "late is reached at its own number of the port's name"
net_allowed web tcp "$late6" 7000 "late is reached over IPv6"
net_allowed late tcp "$(net_ip out)" 80 "late reaches the outside"
net_check "load the policy without late" net_bulkhead load --force "$NET_TMP/policy.ini"
net_allowed out tcp "$late6" 443 "late's address is open"
net_check "add late as a db with another number for the port's name" \
	add --labels role=db --named-port "redis TCP/7000"
net_allowed web tcp "$late4" 7000 "late is reached at once at its number of the port's name"
net_denied web tcp "$late4" 6379 "late is not reached at db's number"
net_allowed web tcp "$late6" 7000 "late is reached at its number over IPv6"
net_denied web tcp "$late6" 6379 "late is not reached at db's number over IPv6"
net_allowed web tcp "$db4" 6379 "db is reached at its own number"
net_denied web tcp "$db4" 7000 "db is not reached at late's number"
net_check "delete late with its own number" net_bulkhead endpoint del shop/late

printf '[endpoint shop/late]\nip = %s, %s\nlabels = role=db\nport = redis TCP/6379\n' \
	"$late4" "$late6" >"$NET_TMP/late.ini"
net_check "add late as a db from a file" net_bulkhead endpoint add --file "$NET_TMP/late.ini"
net_allowed web tcp "$late4" 6379 "late is reached at the file's number of the port's name"
net_denied web tcp "$late4" 80 "late is reached at no other port"

net_allowed web tcp "$late6" 6379 "late is reached over IPv6"
net_denied web tcp "$late6" 80 "late is reached at no other port over IPv6"
net_check "delete the late of the file" net_bulkhead endpoint del shop/late

cat >"$NET_TMP/late.yaml" <<EOF2
apiVersion: v1
kind: Pod
metadata: {namespace: shop, name: late, labels: {role: web}}
spec:
  nodeName: worker-1
  containers: [{name: c, image: i}]
status: {phase: Running, podIP: $late4, podIPs: [{ip: $late4}, {ip: "$late6"}]}
EOF2
net_check "add late as a web from a Pod's manifest" \
	net_bulkhead endpoint add --file "$NET_TMP/late.yaml"
net_allowed late tcp "$db4" 6379 "the late of the manifest reaches db"
net_allowed late tcp "$(net_ip6 db)" 6379 "the late of the manifest reaches db over IPv6"
net_denied out tcp "$late4" 80 "the outside does not reach the late of the manifest"
net_denied out tcp "$late6" 80 "the outside does not reach it over IPv6"
net_check "delete the late of the manifest" net_bulkhead endpoint del shop/late
net_check "add late as a db from the file again" net_bulkhead endpoint add --file "$NET_TMP/late.ini"

net_check "delete the policy's db" net_bulkhead endpoint del shop/db
net_denied out tcp "$late4" 6379 "late stays guarded"
net_allowed out tcp "$db4" 80 "the deleted db is open"
net_check "load puts db back" net_bulkhead load "$NET_TMP/policy.ini"
net_denied out tcp "$db4" 80 "db is guarded again"
net_allowed web tcp "$db4" 6379 "web reaches db again"
net_denied out tcp "$late4" 80 "late stays guarded after the load"
net_allowed web tcp "$late4" 6379 "late stays in its segment after the load"
net_check "the same load again writes nothing" \
	net_ends 0 '^0 map writes' net_bulkhead load -v "$NET_TMP/policy.ini"
net_check "unload" net_bulkhead unload

net_end
