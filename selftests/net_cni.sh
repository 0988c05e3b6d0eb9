#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The CNI plugin against the CNI specification, behind ptp and bridge, and with packets: a pod is isolated
# until its name is known, and then under its policy; also what GC and DEL remove, and when.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"

net_start
cni_start
cat >"$NET_TMP/policy.ini" <<EOF
[bulkhead]
node = worker-1
[namespace shop]
[endpoint shop/db]
labels = role=db
port = redis TCP/6379
[endpoint shop/web]
uid = u-1
labels = role=web
[network-policy shop/db]
endpoints = role=db
ingress = from endpoints(role=web) ports redis
[network-policy shop/web]
endpoints = role=web
ingress = from endpoints(role=db)
egress = to endpoints(role=db)
EOF
cni_conf ptp "$(cni_ptp 10.50.0.0/24 fd50::/64)" "$(cni_own)"
cni_conf bridge "$(cni_bridge cni0 '"isGateway": true,' 10.51.0.0/24 fd51::/64)" "$(cni_own)"
cni_conf other "$(cni_ptp 10.52.0.0/24)" "$(cni_own)"
own=$CNI_DIR/bin/bulkhead-cni

# The plugin alone, with the environment and the configuration given.
ask() { # CONFIGURATION VARIABLE=VALUE...
	local config=$1
	shift
	echo "$config" | net_on node env -i "$@" "$own" >"$NET_TMP/cni.out" 2>"$NET_TMP/cni.err"
}
own_config() { # [MEMBERS]
	cni_own "${1:+$1, }\"cniVersion\": \"${VERSION:-1.0.0}\", \"name\": \"ptp\""
}
answers() { # PATTERN COMMAND...
	local pattern=$1
	shift
	"$@"
	grep -qE "$pattern" "$NET_TMP/cni.out" || { cat "$NET_TMP/cni.out" && false; }
}
lists() { # PATTERN
	net_bulkhead endpoint list >"$NET_TMP/list"
	grep -qE "$1" "$NET_TMP/list" || { cat "$NET_TMP/list" && false; }
}
lists_not() { ! lists "$1" >/dev/null || { cat "$NET_TMP/list" && false; }; }
host_side() { # ADDRESS
	net_bulkhead endpoint list | awk -v a="$1" '$2 == a { for (i = 3; i <= NF; i++) if ($i ~ /^veth/) print $i }'
}
add=(CNI_COMMAND=ADD CNI_CONTAINERID=c1 CNI_IFNAME=eth0 "CNI_NETNS=/run/netns/$NET-db")
result='"prevResult": {"cniVersion": "1.0.0", "interfaces": [], "ips": []}'

# The specification's calls and errors.
cni_pod db
net_check "VERSION" answers \
	'^\{"cniVersion":"1.0.0","supportedVersions":\["0.4.0","1.0.0","1.1.0"\]\}$' \
	ask '{"cniVersion": "1.0.0"}' CNI_COMMAND=VERSION
net_check "no such command" cni_fails 4 ask "$(own_config)" CNI_COMMAND=FIX
for variable in CNI_CONTAINERID CNI_IFNAME CNI_NETNS; do
	net_check "ADD without $variable names it" answers "\"code\":4,.*$variable" \
		ask "$(own_config)" "${add[@]}" "$variable="
done
net_check "a container's ID that is no name" cni_fails 4 ask "$(own_config)" "${add[@]}" CNI_CONTAINERID=../x
net_check "an interface's name that is none" cni_fails 4 ask "$(own_config)" "${add[@]}" CNI_IFNAME=a/b
net_check "a network's name that is none" cni_fails 7 \
	ask '{"cniVersion": "1.0.0", "name": "../x"}' "${add[@]}"
net_check "no JSON" cni_fails 6 ask '{' "${add[@]}"
net_check "JSON, and more" cni_fails 6 ask '{} {}' "${add[@]}"
for VERSION in 0.3.1 2.0.0 ''; do
	net_check "version '$VERSION'" cni_fails 1 ask "$(cni_own "\"cniVersion\": \"$VERSION\", \"name\": \"ptp\"")" "${add[@]}"
done
unset VERSION
net_check "a field that is not known, with its value" answers '"code":2,.*unkown: \\"admit\\"' \
	ask "$(own_config '"unkown": "admit"')" "${add[@]}"
net_check "a value that is not known" cni_fails 7 ask "$(own_config '"unknown": "pass"')" "${add[@]}"
net_check "a source that nobody can trust" cni_fails 7 ask "$(own_config '"trust": ["labels"]')" "${add[@]}"
net_check "extensions of the specification are not refused" cni_fails 7 \
	ask "$(own_config '"cni.dev/x": 1, "capabilities": {}, "args": {}, "runtimeConfig": {}')" "${add[@]}"
net_check "ADD as the first of a chain" answers '"code":7,.*prevResult' ask "$(own_config)" "${add[@]}"
net_check "ADD without that interface" cni_fails 101 ask "$(own_config "$result")" "${add[@]}"
net_check "ADD without that network namespace" answers '"code":4,.*CNI_NETNS' \
	ask "$(own_config "$result")" "${add[@]}" CNI_NETNS=/run/netns/none
net_check "ADD of the node's own" answers '"code":4,.*CNI_NETNS' \
	ask "$(own_config "$result")" "${add[@]}" CNI_NETNS=/proc/self/ns/net
net_check "an interface that has no other side" cni_fails 101 \
	ask "$(own_config "$result")" "${add[@]}" CNI_IFNAME=lo
net_check "STATUS is of 1.1" cni_fails 1 ask "$(own_config)" CNI_COMMAND=STATUS
VERSION=1.1.0
net_check "STATUS where nothing is loaded" cni_fails 50 ask "$(own_config)" CNI_COMMAND=STATUS
net_check "ADD where nothing is loaded: try again" cni_fails 11 cni ptp ADD db
net_check "it leaves no attachment" net_is "$(ls "$CNI_STATE")" ""
net_check "nor a pin folder" test ! -e "$NET_PIN"
net_check "DEL, by the whole chain" cni ptp DEL db
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_check "STATUS" ask "$(own_config)" CNI_COMMAND=STATUS
net_check "it says nothing" test ! -s "$NET_TMP/cni.out"
unset VERSION

# A pod that the policy expects, and its result.
passes_on() { # The last result is what the plugin before gave, to the byte as JSON.
	RUNTIME_ONLY=ptp cni_named shop/x ptp ADD "$1" &&
		cp "$NET_TMP/cni.out" "$NET_TMP/before" &&
		ask "$(own_config "\"prevResult\": $(cat "$NET_TMP/before")")" \
			"${add[@]}" CNI_ARGS="IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=db" CNI_CONTAINERID=db &&
		cmp "$NET_TMP/before" "$NET_TMP/cni.out"
}
net_check "ADD passes the result on unchanged" passes_on db
cp "$NET_TMP/before" "$CNI_DIR/cache/ptp-db-eth0"
db=$(cni_address) db6=$(cni_address 1)
net_check "the pod has the name and segment that the policy expects" \
	lists "^shop/db +$db +segment [0-9]+ variation 1 +veth.* added"
net_check "over IPv6 too" lists "^shop/db +$db6 +segment [0-9]+ variation 1 +veth"
net_check "CHECK" cni ptp CHECK db
net_serve db

cni_pod web
CNI_ARGS="K8S_POD_UID=u-1"
net_check "a pod of the UID that the policy expects" cni_named shop/web ptp ADD web
unset CNI_ARGS
web=$(cni_address) web6=$(cni_address 1)
net_serve web
for address in "$db" "$db6"; do
	net_allowed web tcp "$address" 6379 "what policy allows works: $address"
	net_denied web tcp "$address" 80 "another port does not"
	net_denied out tcp "$address" 6379 "nor does it from outside"
done
net_denied web tcp 192.168.7.2 80 "nor to outside"
net_allowed db tcp 192.168.7.2 80 "which another pod may"
net_allowed db tcp "$web" 80 "and that pod the first one"
for address in "$db" "$web" "$web6"; do
	net_allowed node tcp "$address" 80 "the own node reaches $address"
done

# A pod whose name is not known is isolated, and the node still reaches it.
cni_pod late
CNI_ARGS="K8S_POD_UID=u-2"
net_check "a pod of another UID than the one that is expected" cni_named shop/web2 ptp ADD late
unset CNI_ARGS
late=$(cni_address) late6=$(cni_address 1)
net_serve late
net_check "is listed as isolated" lists "^shop/web2 +$late +isolated +veth"
for address in "$late" "$late6"; do
	net_denied out tcp "$address" 80 "nobody reaches it: $address"
	net_denied db tcp "$address" 80 "nor does another pod"
	net_allowed node tcp "$address" 80 "the own node does"
done
net_denied late tcp 192.168.7.2 80 "and it reaches nobody"
net_denied late udp "$web" 80 "no other pod"
net_check "a load of the same policy leaves it so" net_bulkhead load "$NET_TMP/policy.ini"
net_denied late tcp 192.168.7.2 80 "it still reaches nobody"
printf '[endpoint shop/web2]\nuid = u-9\nlabels = role=none\n' >"$CNI_DIR/records/1.ini"
refresh() { net_on node "$BULKHEAD" cni refresh --pin "$NET_PIN" --records "$CNI_DIR/records" --state "$CNI_STATE"; }
net_check "a record of another UID" refresh
net_denied late tcp 192.168.7.2 80 "does not name it"
printf '[endpoint shop/web2]\nuid = u-2\nlabels = role=db\nport = redis TCP/6379\n' >"$CNI_DIR/records/1.ini"
net_check "a record of its UID" refresh
net_allowed late tcp 192.168.7.2 80 "does"
net_allowed web tcp "$late" 6379 "who may reach its kind reaches it"
net_denied web tcp "$late" 80 "at no other port"
net_check "DEL" cni ptp DEL late
net_check "takes it off" lists_not "shop/web2"
net_check "ADD again finds the record" cni_named shop/web2 ptp ADD late
net_check "at once" lists "^shop/web2 +[0-9.]+ +segment"
net_check "DEL once more" cni ptp DEL late
rm "$CNI_DIR/records/1.ini"
net_check "without the record it comes in isolated" cni_named shop/web2 ptp ADD late
net_check "and inherits nothing" lists "^shop/web2 +[0-9.]+ +isolated"
net_bulkhead endpoint set shop/web2 --labels role=db --named-port "redis TCP/6379" >/dev/null
net_check "endpoint set names it" lists "^shop/web2 +[0-9.]+ +segment"
cni ptp DEL late
printf 'nonsense\n' >"$CNI_DIR/records/0.ini"
printf '[endpoint shop/web2]\nlabels = role=db\n' >"$CNI_DIR/records/1.ini"
net_check "a record that does not parse is no other pod's trouble" cni_named shop/web2 ptp ADD late
net_check "the pod has its own" lists "^shop/web2 +[0-9.]+ +segment"
cni ptp DEL late
cp "$CNI_DIR/records/1.ini" "$CNI_DIR/records/2.ini"
net_check "two records of one pod" cni_named shop/web2 ptp ADD late
net_check "name nobody" lists "^shop/web2 +[0-9.]+ +isolated"
cni ptp DEL late
rm -f "$CNI_DIR"/records/*
trusts() { # TRUST ANNOTATION ARGUMENT
	cni_conf ptp "$(cni_ptp 10.50.0.0/24 fd50::/64)" "$(cni_own "\"trust\": [$1]")"
	CNI_ARGS="${3:+BULKHEAD_LABELS=$3;BULKHEAD_PORTS=redis TCP/6379}" \
		RUNTIME_ADDS="{\"runtimeConfig\": {\"io.kubernetes.cri.pod-annotations\":
			{\"bulkhead.dev/labels\": \"$2\", \"bulkhead.dev/ports\": \"redis TCP/6379\"}}}" \
		cni_named shop/web2 ptp ADD late
}
net_check "annotations and arguments" trusts '' role=db role:db
net_check "count only where the configuration says so" lists "^shop/web2 +[0-9.]+ +isolated"
cni ptp DEL late
net_check "annotations" trusts '"annotations"' role=db ''
net_check "count where it does" lists "^shop/web2 +[0-9.]+ +segment"
cni ptp DEL late
net_check "arguments" trusts '"args"' '' role:db,x:y
net_check "as well" lists "^shop/web2 +[0-9.]+ +segment"
cni ptp DEL late
net_check "labels that are none" trusts '"annotations"' 'role=d b' ''
net_check "name nobody, too" lists "^shop/web2 +[0-9.]+ +isolated"
cni ptp DEL late
net_check "nor does what would say more than labels" trusts '"annotations"' 'role=db\n[network-policy shop/db]' ''
net_check "of a pod" lists "^shop/web2 +[0-9.]+ +isolated"
cni ptp DEL late
cni_conf ptp "$(cni_ptp 10.50.0.0/24 fd50::/64)" "$(cni_own)"
cni_conf admits "$(cni_ptp 10.53.0.0/24)" "$(cni_own '"unknown": "admit"')"
printf '[endpoint shop/plain]\n' | cat "$NET_TMP/policy.ini" - >"$NET_TMP/plain.ini"
net_check "a policy that knows a pod without labels" net_bulkhead load "$NET_TMP/plain.ini"
net_check "where the unknown are admitted" cni_named shop/web2 admits ADD late
net_serve late
net_allowed late tcp 192.168.7.2 80 "a pod comes in without labels"
net_denied late tcp "$db" 6379 "and is not what it is not"
net_check "DEL" cni admits DEL late
net_check "the policy as before" net_bulkhead load "$NET_TMP/policy.ini"

# A pod that the policy in force lists with the addresses from before the node's restart.
printf '[endpoint shop/back]\nnode = worker-1\nuid = u-7\nip = 10.50.9.9, fd50::99\nlabels = role=web\n' |
	cat "$NET_TMP/policy.ini" - >"$NET_TMP/back.ini"
net_check "a policy that has a pod with other addresses" net_bulkhead load "$NET_TMP/back.ini"
CNI_ARGS="K8S_POD_UID=u-7"
net_check "ADD of that pod" cni_named shop/back ptp ADD late
late=$(cni_address) late6=$(cni_address 1)
net_check "finds it by its name" lists "^shop/back +$late +segment"
net_check "and has nothing of it elsewhere" lists_not " 10.50.9.9 "
net_serve late
net_allowed late tcp "$db" 6379 "it may what it might"
net_allowed late tcp "$db6" 6379 "over IPv6 too"
net_denied late tcp 192.168.7.2 80 "and no more"
sed 's/ports redis/ports redis, TCP\/443/' "$NET_TMP/back.ini" >"$NET_TMP/back2.ini"
net_check "another policy that has it" net_bulkhead load "$NET_TMP/back2.ini"
net_allowed late tcp "$db" 443 "gives it what that says"
net_denied late tcp 192.168.7.2 80 "and no more"
net_check "a policy that does not have it" net_bulkhead load --force "$NET_TMP/policy.ini"
net_check "isolates it" lists "^shop/back +$late +isolated"
net_denied late tcp "$db" 6379 "it may nothing"
net_check "the first policy again" net_bulkhead load "$NET_TMP/back.ini"
net_allowed late tcp "$db" 6379 "it may what it might"
net_check "DEL" cni ptp DEL late
net_check "load" net_bulkhead load "$NET_TMP/back.ini"
CNI_ARGS="K8S_POD_UID=u-8"
net_check "ADD of another pod of that name" cni_named shop/back ptp ADD late
late=$(cni_address)
net_check "is isolated" lists "^shop/back +$late +isolated"
net_denied late tcp "$db" 6379 "and may nothing"
net_check "DEL" cni ptp DEL late
unset CNI_ARGS
net_check "the policy as before" net_bulkhead load --force "$NET_TMP/policy.ini"

# DEL removes its own sandbox's state only, and hooks stay while their interface exists.
held() { # a DEL by our plugin alone leaves the interface, and so the hooks
	cni_named shop/web2 ptp ADD late &&
		late=$(cni_address) &&
		RUNTIME_ONLY=bulkhead-cni cni ptp DEL late
}
net_check "DEL, and the interface still stands" held
net_serve late
net_denied late tcp 192.168.7.2 80 "nothing passes there"
net_denied late tcp "$db" 6379 "to nobody"
net_check "nor after a load" net_bulkhead load "$NET_TMP/policy.ini"
net_denied late tcp 192.168.7.2 80 "nothing passes there"
rm -f "$CNI_DIR/cache/ptp-late-eth0"
RUNTIME_ONLY=ptp cni ptp DEL late
RUNTIME_ONLY=ptp NETNS=- cni ptp DEL late
ip netns del "$NET-late"

cni_pod new
cni_pod old
CONTAINER=old1
net_check "a sandbox of a pod" cni_named shop/web2 ptp ADD old
old=$(cni_address)
CONTAINER=new1
net_check "a new one of the same pod, before the old one has gone" cni_named shop/web2 ptp ADD new
new=$(cni_address)
net_check "has a name beside" lists "^shop/web2:new1:eth0 +$new "
CONTAINER=old1
cp "$CNI_DIR/cache/ptp-old1-eth0" "$NET_TMP/old"
net_check "the late DEL of the old one" cni ptp DEL old
net_check "takes that off" lists_not "$old "
net_check "and not the new one" lists "^shop/web2:new1:eth0 +$new "
cp "$NET_TMP/old" "$CNI_DIR/cache/ptp-old1-eth0"
net_check "once more" cni ptp DEL old
CONTAINER=new1
net_check "the new one is as ADD left it" cni ptp CHECK new
net_check "and goes by its own DEL" cni ptp DEL new
net_check "for good" lists_not "shop/web2"
unset CONTAINER

# A policy gives the new sandbox the pod's own name, which the old one still has.
CONTAINER=old2
net_check "an old sandbox" cni_named shop/web2 ptp ADD old
old=$(cni_address)
CONTAINER=new2
net_check "a new one of the same pod" cni_named shop/web2 ptp ADD new
new=$(cni_address) new6=$(cni_address 1)
printf '[endpoint shop/web2]\nnode = worker-1\nip = %s, %s\nlabels = role=web\n' "$new" "$new6" |
	cat "$NET_TMP/policy.ini" - >"$NET_TMP/web2.ini"
net_check "a policy that knows the pod by the new one's addresses" net_bulkhead load "$NET_TMP/web2.ini"
CONTAINER=old2
net_check "the late DEL of the old one" cni ptp DEL old
net_check "takes the old one's address off" lists_not " $old "
net_check "and neither of the new one's" eval 'lists "^shop/web2 +$new +segment" && lists "^shop/web2 +$new6 +segment"'
net_serve new
net_allowed new tcp "$db" 6379 "which reaches what the policy allows"
net_denied new tcp 192.168.7.2 80 "and nothing else"
CONTAINER=new2
net_check "and goes by its own DEL" cni ptp DEL new
net_check "for good" lists_not "shop/web2"
net_check "the policy as before" net_bulkhead load --force "$NET_TMP/policy.ini"
unset CONTAINER
net_check "a pod" cni_named shop/web2 ptp ADD new
net_check "gets other addresses by hand" net_bulkhead endpoint set shop/web2 --ip 10.50.0.199,fd50::199
del_own() { RUNTIME_ONLY=bulkhead-cni cni ptp DEL "$1"; }
cp "$CNI_DIR/cache/ptp-new-eth0" "$NET_TMP/new"
net_check "DEL by the plugin alone" del_own new
net_check "takes the new addresses off" lists_not "shop/web2"
cp "$NET_TMP/new" "$CNI_DIR/cache/ptp-new-eth0"
net_check "and once more, by the whole chain" cni ptp DEL new

net_check "two networks of one pod: one" cni_named shop/web2 ptp ADD new
first=$(cni_address)
net_check "and another" cni_named shop/web2 other ADD new eth1
second=$(cni_address)
net_check "have two names" lists "^shop/web2:eth1 +$second +isolated"
net_serve new
net_allowed node tcp "$first" 80 "the node reaches the one"
net_allowed node tcp "$second" 80 "and the other"
net_denied out tcp "$second" 80 "nobody else does"
net_check "DEL of the first" cni ptp DEL new
net_check "leaves the second" lists "^shop/web2:eth1 +$second +isolated"
net_check "DEL of the second" cni other DEL new eth1
net_check "leaves nothing" lists_not "shop/web2"

# CHECK notices each kind of damage.
CNI_ARGS="K8S_POD_UID=u-1"
side=$(host_side "$web")
ifindex=$(net_on node cat "/sys/class/net/$side/ifindex" 2>/dev/null || ip -n "$NET-node" -o link show "$side" | cut -d: -f1)
net_check "CHECK of a pod as it came" cni ptp CHECK web
net_bulkhead endpoint del shop/web
net_check "CHECK of one that somebody has taken off" cni_fails 102 cni ptp CHECK web
net_bulkhead endpoint add shop/thief --ip "$web" --interface "$side"
net_check "CHECK of one whose address is another's" answers '"code":102,.*shop/thief' cni ptp CHECK web
net_bulkhead endpoint del shop/thief
net_check "DEL takes off what is left" cni ptp DEL web
net_check "ADD once more" cni_named shop/web ptp ADD web
unset CNI_ARGS
export RUNTIME_ONLY=bulkhead-cni
CONTAINER=c9
cp "$CNI_DIR/cache/ptp-db-eth0" "$CNI_DIR/cache/ptp-c9-eth0"
net_check "CHECK of what is not attached" cni_fails 102 cni ptp CHECK db
unset CONTAINER RUNTIME_ONLY
side=$(host_side "$db")
ifindex=$(ip -n "$NET-node" -o link show "$side" | cut -d: -f1)
net_check "CHECK of a pod that is guarded" cni ptp CHECK db
if [ -e "$NET_PIN/tcx_${ifindex}_ingress" ]; then
	rm "$NET_PIN/tcx_${ifindex}_ingress"
else
	tc -n "$NET-node" filter del dev "$side" ingress
fi
net_check "CHECK of one that lacks a program" answers '"code":102,.*programs' cni ptp CHECK db
net_check "load guards it again" net_bulkhead load "$NET_TMP/policy.ini"
net_check "CHECK" cni ptp CHECK db

# TC filters, which make ADD faster than TCX links; where another program's links run first, TCX links.
hooks() { # POD'S-SIDE
	net_bulkhead status | sed -n "s/^ *$1 .*tc ingress \([a-z]*\), egress \([a-z]*\).*/\1 \2/p"
}
cni_pod behind
net_check "a pod comes in" cni_named shop/web2 ptp ADD behind
behind=$(cni_address)
side=$(host_side "$behind")
net_serve behind
net_check "by filters" net_is "$(hooks "$side")" "clsact clsact"
if net_on node "$NET_HELPERS/foreign" tcx-pass "$side" "${NET_PIN}_foreign" 2>"$NET_TMP/said"; then
	net_check "CHECK of one where another's program comes before ours" answers '"code":102,.*programs' \
		cni ptp CHECK behind
	net_check "status says that it is not guarded" eval 'net_bulkhead status | grep -q "$side .*NOT GUARDED"'
	net_check "load puts ours before that" net_bulkhead load "$NET_TMP/policy.ini"
	net_check "by links" net_is "$(hooks "$side")" "tcx tcx"
	net_check "the filters go, and the qdisc" net_is "$(tc -n "$NET-node" qdisc show dev "$side" clsact)" ""
	net_check "CHECK" cni ptp CHECK behind
	net_denied behind tcp 192.168.7.2 80 "it reaches nobody"
	net_allowed node tcp "$behind" 80 "the own node reaches it"
	rm "${NET_PIN}_foreign"
fi
net_check "DEL" cni ptp DEL behind

# GC removes this network's attachments that are not valid any more; the chain's other plugins collect their
# own.
for pod in g1 g2 g3; do
	cni_pod $pod
	cni_named shop/$pod ptp ADD $pod
done
cni_pod g4
cni_named shop/g4 other ADD g4
CNI_VERSION=1.1.0
cni_conf ptp "$(cni_own)"
gc() { # ATTACHMENTS
	RUNTIME_ADDS="{\"cni.dev/valid-attachments\": [$1]}" cni ptp GC
}
valid='{"containerID": "db", "ifname": "eth0"}, {"containerID": "g2", "ifname": "eth0"}'
net_check "GC that does not say what is valid" cni_fails 7 cni ptp GC
net_check "collects nothing" lists "^shop/g1 "
# One attachment's file cannot be removed, since a mount is on it.
mount --bind "$CNI_STATE/ptp:g1:eth0" "$CNI_STATE/ptp:g1:eth0"
net_check "GC says that one could not be collected" answers '"code":5,' gc "$valid"
umount "$CNI_STATE/ptp:g1:eth0"
net_check "collects what is not valid" lists_not "^shop/g[13] "
net_check "keeps what is" lists "^shop/g2 "
net_check "and what is another network's" lists "^shop/g4 "
net_check "again, now that all can be" gc "$valid"
net_check "nothing is left to collect" test ! -e "$CNI_STATE/ptp:g1:eth0"
CNI_VERSION=1.0.0
cni_conf ptp "$(cni_ptp 10.50.0.0/24 fd50::/64)" "$(cni_own)"

# DEL when namespace and cache are gone.
ip netns del "$NET-g2"
rm -f "$CNI_DIR/cache/ptp-g2-eth0"
NETNS=- RUNTIME_ONLY=bulkhead-cni
export RUNTIME_ONLY
net_check "DEL without a network namespace, interface and result" cni ptp DEL g2
net_check "takes it off" lists_not "^shop/g2 "
net_check "again" cni ptp DEL g2
unset NETNS RUNTIME_ONLY
net_check "a pod is there" lists "^shop/g4 "
net_check "unload" net_bulkhead unload
net_check "leaves no qdisc" net_is "$(tc -n "$NET-node" qdisc show | grep clsact)" ""
net_check "DEL without a pin folder" cni other DEL g4
net_check "again" cni other DEL g4
net_check "the attachment is forgotten" test ! -e "$CNI_STATE/other:g4:eth0"
net_end
