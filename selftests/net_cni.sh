#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The CNI plugin against the CNI specification, behind ptp and bridge, and with packets: a pod is isolated
# until its name is known, and then under its policy; also which entries GC and DEL remove, and when.
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
net_check "VERSION lists the supported versions" answers \
	'^\{"cniVersion":"1.0.0","supportedVersions":\["0.3.0","0.3.1","0.4.0","1.0.0","1.1.0"\]\}$' \
	ask '{"cniVersion": "1.0.0"}' CNI_COMMAND=VERSION
plain_name() { # the program by its own name, which CNI_COMMAND makes a plugin
	echo '{"cniVersion": "1.0.0"}' | net_on node env -i CNI_COMMAND=VERSION "$BULKHEAD" >"$NET_TMP/cni.out"
}
net_check "the command is the plugin where CNI_COMMAND is set" answers '"supportedVersions"' plain_name
net_check "an unknown command is error 4" cni_fails 4 ask "$(own_config)" CNI_COMMAND=FIX
for variable in CNI_CONTAINERID CNI_IFNAME CNI_NETNS; do
	net_check "ADD without $variable is error 4 and names the variable" answers "\"code\":4,.*$variable" \
		ask "$(own_config)" "${add[@]}" "$variable="
done
net_check "a malformed container ID is error 4" cni_fails 4 ask "$(own_config)" "${add[@]}" CNI_CONTAINERID=../x
net_check "a malformed interface name is error 4" cni_fails 4 ask "$(own_config)" "${add[@]}" CNI_IFNAME=a/b
net_check "a malformed network name is error 7" cni_fails 7 \
	ask '{"cniVersion": "1.0.0", "name": "../x"}' "${add[@]}"
net_check "broken JSON is error 6" cni_fails 6 ask '{' "${add[@]}"
net_check "text behind the JSON is error 6" cni_fails 6 ask '{} {}' "${add[@]}"
for VERSION in 0.2.0 2.0.0 ''; do
	net_check "version '$VERSION' is error 1" cni_fails 1 ask "$(cni_own "\"cniVersion\": \"$VERSION\", \"name\": \"ptp\"")" "${add[@]}"
done
unset VERSION
net_check "an unknown field is error 2 and is named with its value" answers '"code":2,.*unkown: \\"admit\\"' \
	ask "$(own_config '"unkown": "admit"')" "${add[@]}"
net_check "an unknown value of unknown is error 7" cni_fails 7 ask "$(own_config '"unknown": "pass"')" "${add[@]}"
net_check "an unknown value of trust is error 7" cni_fails 7 ask "$(own_config '"trust": ["labels"]')" "${add[@]}"
net_check "extensions of the specification are not refused" cni_fails 7 \
	ask "$(own_config '"cni.dev/x": 1, "capabilities": {}, "args": {}, "runtimeConfig": {}')" "${add[@]}"
net_check "ADD as the first of a chain is error 7" answers '"code":7,.*prevResult' ask "$(own_config)" "${add[@]}"
net_check "ADD of a missing interface is error 101" cni_fails 101 ask "$(own_config "$result")" "${add[@]}"
net_check "ADD of a missing network namespace is error 4" answers '"code":4,.*CNI_NETNS' \
	ask "$(own_config "$result")" "${add[@]}" CNI_NETNS=/run/netns/none
net_check "ADD of the node's own network namespace is error 4" answers '"code":4,.*CNI_NETNS' \
	ask "$(own_config "$result")" "${add[@]}" CNI_NETNS=/proc/self/ns/net
net_check "ADD of an interface without another side is error 101" cni_fails 101 \
	ask "$(own_config "$result")" "${add[@]}" CNI_IFNAME=lo
net_check "CHECK in version 0.3.1 is error 1" answers '"code":1,.*CHECK understands 0.4.0 to 1.1.0"' \
	ask "$(VERSION=0.3.1 own_config "$result")" "${add[@]}" CNI_COMMAND=CHECK
net_check "STATUS in version 1.0.0 is error 1" answers '"code":1,.*STATUS understands 1.1.0"' ask "$(own_config)" CNI_COMMAND=STATUS
VERSION=1.1.0
net_check "STATUS where nothing is loaded is error 50" cni_fails 50 ask "$(own_config)" CNI_COMMAND=STATUS
net_check "ADD where nothing is loaded is error 11: try again" cni_fails 11 cni ptp ADD db
net_check "the failed ADD leaves no attachment" net_is "$(ls "$CNI_STATE")" ""
net_check "the failed ADD makes no pin folder" test ! -e "$NET_PIN"
net_check "DEL by the whole chain" cni ptp DEL db
touch "$NET_TMP/file"
cni_conf broken "$(cni_ptp 10.50.0.0/24 fd50::/64)" "$(CNI_STATE=$NET_TMP/file/state cni_own)"
net_check "ADD that cannot write its record is error 5" cni_fails 5 cni broken ADD db
RUNTIME_ONLY=ptp cni broken DEL db
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_check "STATUS with an active policy" ask "$(own_config)" CNI_COMMAND=STATUS
net_check "STATUS prints nothing" test ! -s "$NET_TMP/cni.out"
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
net_check "the pod has its name and segment over IPv6" lists "^shop/db +$db6 +segment [0-9]+ variation 1 +veth"
net_check "CHECK of the pod" cni ptp CHECK db
net_serve db


# The other versions of the specification: their results pass unchanged.
cni_pod version
in_version() { # VERSION COMMAND
	ask "$(cni_own "\"cniVersion\": \"$1\", \"name\": \"ptp\", \"prevResult\": $(cat "$NET_TMP/before")")" \
		CNI_COMMAND="$2" CNI_CONTAINERID=version CNI_IFNAME=eth0 "CNI_NETNS=/run/netns/$NET-version"
}
# The lists of kind, flannel and Calico are of version 0.3.1.
for CNI_VERSION in 0.3.0 0.3.1; do
	cni_conf ptp "$(cni_ptp 10.50.0.0/24 fd50::/64)" "$(cni_own)"
	net_check "ADD in version $CNI_VERSION by the whole chain" cni ptp ADD version
	net_check "ADD in version $CNI_VERSION prints the result in that version" grep -q "\"cniVersion\":\"$CNI_VERSION\"" "$NET_TMP/cni.out"
	net_check "ADD in version $CNI_VERSION guards both addresses" \
		net_is "$(net_bulkhead endpoint list | grep -cE "^default/version +($(cni_address)|$(cni_address 1)) +isolated")" 2
	net_check "DEL in version $CNI_VERSION" cni ptp DEL version
	net_check "DEL in version $CNI_VERSION removes the endpoint" lists_not "version"
done
CNI_VERSION=0.4.0
cni_conf ptp "$(cni_ptp 10.50.0.0/24 fd50::/64)" "$(cni_own)"
CNI_VERSION=1.0.0
RUNTIME_ONLY=ptp cni_named shop/x ptp ADD version
cp "$NET_TMP/cni.out" "$NET_TMP/before"
net_check "ptp's result in version 0.4.0 gives each address its version" \
	grep -q '"ips":\[{"version":"4",.*{"version":"6",' "$NET_TMP/before"
net_check "ADD in version 0.4.0" in_version 0.4.0 ADD
net_check "ADD in version 0.4.0 passes the result on unchanged" cmp "$NET_TMP/before" "$NET_TMP/cni.out"
net_check "ADD in version 0.4.0 guards both addresses" \
	net_is "$(net_bulkhead endpoint list | grep -cE "^default/version +($(cni_address)|$(cni_address 1)) +isolated")" 2
net_check "CHECK in version 0.4.0" in_version 0.4.0 CHECK
net_check "DEL in version 0.4.0" in_version 0.4.0 DEL
net_check "after DEL in version 0.4.0 CHECK is error 102" cni_fails 102 in_version 0.4.0 CHECK
sed -i 's/"cniVersion":"0.4.0"/"cniVersion":"1.1.0"/; s/"version":"[46]",//g' "$NET_TMP/before"
net_check "ADD in version 1.1.0" in_version 1.1.0 ADD
net_check "ADD in version 1.1.0 passes the result on unchanged" cmp "$NET_TMP/before" "$NET_TMP/cni.out"
net_check "CHECK in version 1.1.0" in_version 1.1.0 CHECK
net_check "DEL in version 1.1.0 without a previous result" ask \
	"$(cni_own '"cniVersion": "1.1.0", "name": "ptp"')" CNI_COMMAND=DEL CNI_CONTAINERID=version CNI_IFNAME=eth0
net_check "DEL in version 1.1.0 removes the endpoint" lists_not "version"
RUNTIME_ONLY=ptp cni ptp DEL version
cni_conf ptp "$(cni_ptp 10.50.0.0/24 fd50::/64)" "$(cni_own)"

cni_pod web
CNI_ARGS="K8S_POD_UID=u-1"
net_check "ADD of a pod with the UID that the policy expects" cni_named shop/web ptp ADD web
unset CNI_ARGS
web=$(cni_address) web6=$(cni_address 1)
net_serve web
for address in "$db" "$db6"; do
	net_allowed web tcp "$address" 6379 "web reaches $address"
	net_denied web tcp "$address" 80 "web does not reach another port of $address"
	net_denied out tcp "$address" 6379 "the outside does not reach $address"
done
net_denied web tcp 192.168.7.2 80 "web does not reach the outside"
net_allowed db tcp 192.168.7.2 80 "db reaches the outside"
net_allowed db tcp "$web" 80 "db reaches web"
for address in "$db" "$web" "$web6"; do
	net_allowed node tcp "$address" 80 "the node reaches $address"
done

# A pod whose name is not known is isolated, and the node still reaches it.
cni_pod late
CNI_ARGS="K8S_POD_UID=u-2"
net_check "ADD of a pod with another UID than the expected one" cni_named shop/web2 ptp ADD late
unset CNI_ARGS
late=$(cni_address) late6=$(cni_address 1)
net_serve late
net_check "the pod with the other UID is isolated" lists "^shop/web2 +$late +isolated +veth"
for address in "$late" "$late6"; do
	net_denied out tcp "$address" 80 "the outside does not reach $address of the isolated pod"
	net_denied db tcp "$address" 80 "db does not reach $address"
	net_allowed node tcp "$address" 80 "the node reaches $address"
done
net_denied late tcp 192.168.7.2 80 "the isolated pod does not reach the outside"
net_denied late udp "$web" 80 "the isolated pod does not reach another pod"
net_check "load the same policy" net_bulkhead load "$NET_TMP/policy.ini"
net_denied late tcp 192.168.7.2 80 "the pod is isolated after the load"
printf '[endpoint shop/web2]\nuid = u-9\nlabels = role=none\n' >"$CNI_DIR/records/1.ini"
refresh() { net_on node "$BULKHEAD" cni refresh --pin "$NET_PIN" --records "$CNI_DIR/records" --state "$CNI_STATE"; }
net_check "refresh with a record of another UID" refresh
net_denied late tcp 192.168.7.2 80 "the record of another UID does not name the pod"
printf '[endpoint shop/web2]\nuid = u-2\nlabels = role=db\nport = redis TCP/6379\n' >"$CNI_DIR/records/1.ini"
net_check "refresh with a record of the pod's UID" refresh
net_allowed late tcp 192.168.7.2 80 "the record of its UID names the pod"
net_allowed web tcp "$late" 6379 "web reaches the named pod"
net_denied web tcp "$late" 80 "web reaches no other port of the named pod"
net_check "DEL of the named pod" cni ptp DEL late
net_check "DEL removes the endpoint" lists_not "shop/web2"
net_check "ADD again finds the record" cni_named shop/web2 ptp ADD late
net_check "the pod has its segment at once" lists "^shop/web2 +[0-9.]+ +segment"
net_check "DEL again" cni ptp DEL late
rm "$CNI_DIR/records/1.ini"
net_check "ADD without the record" cni_named shop/web2 ptp ADD late
net_check "without the record the pod is isolated" lists "^shop/web2 +[0-9.]+ +isolated"
net_bulkhead endpoint set shop/web2 --labels role=db --named-port "redis TCP/6379" >/dev/null
net_check "endpoint set gives the pod its segment" lists "^shop/web2 +[0-9.]+ +segment"
cni ptp DEL late
# Labels that no active segment has: the policies' verdicts on them count from the first packet.
printf '[endpoint shop/web2]\nlabels = role=first\n' >"$CNI_DIR/records/1.ini"
net_check "the first of its kind" cni_named shop/web2 ptp ADD late
net_check "gets its segment at once" lists "^shop/web2 +[0-9.]+ +segment"
net_serve late
net_allowed late tcp 192.168.7.2 80 "no policy selects it"
net_denied late tcp "$db" 6379 "db's policy does not let it in"
net_check "DEL" cni ptp DEL late
printf 'nonsense\n' >"$CNI_DIR/records/0.ini"
printf '[endpoint shop/web2]\nlabels = role=db\n' >"$CNI_DIR/records/1.ini"
net_check "ADD beside another pod's broken record" cni_named shop/web2 ptp ADD late
net_check "the pod has its segment by its own record" lists "^shop/web2 +[0-9.]+ +segment"
cni ptp DEL late
cp "$CNI_DIR/records/1.ini" "$CNI_DIR/records/2.ini"
net_check "ADD with two records of the pod" cni_named shop/web2 ptp ADD late
net_check "with two records the pod is isolated" lists "^shop/web2 +[0-9.]+ +isolated"
cni ptp DEL late
rm -f "$CNI_DIR"/records/*
trusts() { # TRUST ANNOTATION ARGUMENT
	cni_conf ptp "$(cni_ptp 10.50.0.0/24 fd50::/64)" "$(cni_own "\"trust\": [$1]")"
	CNI_ARGS="${3:+BULKHEAD_LABELS=$3;BULKHEAD_PORTS=redis TCP/6379}" \
		RUNTIME_ADDS="{\"runtimeConfig\": {\"io.kubernetes.cri.pod-annotations\":
			{\"bulkhead.dev/labels\": \"$2\", \"bulkhead.dev/ports\": \"redis TCP/6379\"}}}" \
		cni_named shop/web2 ptp ADD late
}
net_check "ADD with labels in annotations and arguments, neither trusted" trusts '' role=db role:db
net_check "without trust the pod is isolated" lists "^shop/web2 +[0-9.]+ +isolated"
cni ptp DEL late
net_check "ADD with trusted annotations" trusts '"annotations"' role=db ''
net_check "trusted annotations give the pod its segment" lists "^shop/web2 +[0-9.]+ +segment"
cni ptp DEL late
net_check "ADD with trusted arguments" trusts '"args"' '' role:db,x:y
net_check "trusted arguments give the pod its segment" lists "^shop/web2 +[0-9.]+ +segment"
cni ptp DEL late
net_check "ADD with malformed labels" trusts '"annotations"' 'role=d b' ''
net_check "malformed labels leave the pod isolated" lists "^shop/web2 +[0-9.]+ +isolated"
cni ptp DEL late
net_check "ADD with labels that contain a section" trusts '"annotations"' 'role=db\n[network-policy shop/db]' ''
net_check "labels that contain a section leave the pod isolated" lists "^shop/web2 +[0-9.]+ +isolated"
cni ptp DEL late
# The active policy counts before a record, and a record before the data that the runtime passes on.
source_is() { # policy|record|annotation|argument|unknown
	grep -q "\"identity\":\"$1\"" "$CNI_STATE/ptp:late:eth0" || { cat "$CNI_STATE/ptp:late:eth0" && false; }
}
printf '[endpoint shop/web2]\nlabels = role=none\n' >"$CNI_DIR/records/1.ini"
net_check "ADD of a pod with a record and labels that the runtime passes on" trusts '"annotations", "args"' role=db role:db
net_check "the record counts before annotations and arguments" source_is record
net_serve late
net_denied late tcp "$db" 6379 "the pod does not send what its annotations would allow"
net_allowed late tcp 192.168.7.2 80 "the pod sends what its record allows"
cni ptp DEL late
rm "$CNI_DIR/records/1.ini"
net_check "ADD of a pod with annotations and arguments" trusts '"annotations", "args"' role=db role:none
net_check "annotations count before arguments" source_is annotation
cni ptp DEL late
printf '[endpoint shop/web3]\nlabels = role=web\n' | cat "$NET_TMP/policy.ini" - >"$NET_TMP/web3.ini"
printf '[endpoint shop/web3]\nlabels = role=none\n' >"$CNI_DIR/records/1.ini"
net_check "load a policy that expects a pod which has a record" net_bulkhead load "$NET_TMP/web3.ini"
net_check "ADD of the pod that the policy expects and a record names" cni_named shop/web3 ptp ADD late
net_check "the policy counts before the record" source_is policy
net_serve late
net_allowed late tcp "$db" 6379 "the pod sends what the policy's labels allow"
net_denied late tcp 192.168.7.2 80 "the pod does not send what its record would allow"
net_check "DEL of the pod that the policy expects" cni ptp DEL late
net_check "load the policy that does not expect it" net_bulkhead load "$NET_TMP/policy.ini"
rm "$CNI_DIR/records/1.ini"
cni_conf ptp "$(cni_ptp 10.50.0.0/24 fd50::/64)" "$(cni_own)"
cni_conf admits "$(cni_ptp 10.53.0.0/24)" "$(cni_own '"unknown": "admit"')"
printf '[endpoint shop/plain]\n' | cat "$NET_TMP/policy.ini" - >"$NET_TMP/plain.ini"
net_check "load a policy that has a pod without labels" net_bulkhead load "$NET_TMP/plain.ini"
net_check "ADD of an unknown pod with unknown = admit" cni_named shop/web2 admits ADD late
net_serve late
net_allowed late tcp 192.168.7.2 80 "the admitted pod sends what a pod without labels may"
net_denied late tcp "$db" 6379 "the admitted pod does not send what labels would allow"
net_check "DEL of the admitted pod" cni admits DEL late
net_check "load the policy as before" net_bulkhead load "$NET_TMP/policy.ini"

# A pod that the active policy lists with the addresses from before the node's restart.
printf '[endpoint shop/back]\nnode = worker-1\nuid = u-7\nip = 10.50.9.9, fd50::99\nlabels = role=web\n' |
	cat "$NET_TMP/policy.ini" - >"$NET_TMP/back.ini"
net_check "load a policy that has the pod with other addresses" net_bulkhead load "$NET_TMP/back.ini"
CNI_ARGS="K8S_POD_UID=u-7"
net_check "ADD of that pod at its new address" cni_named shop/back ptp ADD late
late=$(cni_address) late6=$(cni_address 1)
net_check "the pod has the segment of its name" lists "^shop/back +$late +segment"
net_check "the policy's address of the pod is not active" lists_not " 10.50.9.9 "
net_serve late
net_allowed late tcp "$db" 6379 "the pod reaches db"
net_allowed late tcp "$db6" 6379 "the pod reaches db over IPv6"
net_denied late tcp 192.168.7.2 80 "the pod does not reach the outside"
sed 's/ports redis/ports redis, TCP\/443/' "$NET_TMP/back.ini" >"$NET_TMP/back2.ini"
net_check "load another policy that has the pod" net_bulkhead load "$NET_TMP/back2.ini"
net_allowed late tcp "$db" 443 "the pod sends what the other policy allows"
net_denied late tcp 192.168.7.2 80 "the pod sends nothing else"
net_check "load a policy without the pod" net_bulkhead load --force "$NET_TMP/policy.ini"
net_check "without a policy the pod is isolated" lists "^shop/back +$late +isolated"
net_denied late tcp "$db" 6379 "the isolated pod does not reach db"
net_check "load the first policy again" net_bulkhead load "$NET_TMP/back.ini"
net_allowed late tcp "$db" 6379 "the pod reaches db again"
net_check "DEL of the pod at its new address" cni ptp DEL late
net_check "load the policy with the pod's old address" net_bulkhead load "$NET_TMP/back.ini"
CNI_ARGS="K8S_POD_UID=u-8"
net_check "ADD of another pod of that name" cni_named shop/back ptp ADD late
late=$(cni_address)
net_check "the other pod of that name is isolated" lists "^shop/back +$late +isolated"
net_denied late tcp "$db" 6379 "the other pod of that name does not reach db"
net_check "DEL of the other pod of that name" cni ptp DEL late
unset CNI_ARGS
net_check "load the policy as it was" net_bulkhead load --force "$NET_TMP/policy.ini"

# DEL removes its own sandbox's state only, and hooks stay while their interface exists.
held() { # a DEL by our plugin alone leaves the interface, and so the hooks
	cni_named shop/web2 ptp ADD late &&
		late=$(cni_address) &&
		RUNTIME_ONLY=bulkhead-cni cni ptp DEL late
}
net_check "DEL by the plugin alone keeps the hooks" held
net_serve late
net_denied late tcp 192.168.7.2 80 "after that DEL the pod does not reach the outside"
net_denied late tcp "$db" 6379 "after that DEL the pod does not reach db"
net_check "load after that DEL" net_bulkhead load "$NET_TMP/policy.ini"
net_denied late tcp 192.168.7.2 80 "after the load the pod does not reach the outside"
rm -f "$CNI_DIR/cache/ptp-late-eth0"
RUNTIME_ONLY=ptp cni ptp DEL late
RUNTIME_ONLY=ptp NETNS=- cni ptp DEL late
ip netns del "$NET-late"

cni_pod new
cni_pod old
CONTAINER=old1
net_check "ADD of a sandbox" cni_named shop/web2 ptp ADD old
old=$(cni_address)
CONTAINER=new1
net_check "ADD of the same pod's new sandbox before the old one's DEL" cni_named shop/web2 ptp ADD new
new=$(cni_address)
net_check "the new sandbox has a name of its own" lists "^shop/web2:new1:eth0 +$new "
CONTAINER=old1
cp "$CNI_DIR/cache/ptp-old1-eth0" "$NET_TMP/old"
net_check "DEL of the old sandbox" cni ptp DEL old
net_check "DEL of the old sandbox removes its address" lists_not "$old "
net_check "DEL of the old sandbox keeps the new one" lists "^shop/web2:new1:eth0 +$new "
cp "$NET_TMP/old" "$CNI_DIR/cache/ptp-old1-eth0"
net_check "DEL of the old sandbox again" cni ptp DEL old
CONTAINER=new1
net_check "CHECK of the new sandbox" cni ptp CHECK new
net_check "DEL of the new sandbox" cni ptp DEL new
net_check "no sandbox is left" lists_not "shop/web2"
unset CONTAINER

# A policy gives the new sandbox the pod's own name, which the old one still has.
CONTAINER=old2
net_check "ADD of the old sandbox again" cni_named shop/web2 ptp ADD old
old=$(cni_address)
CONTAINER=new2
net_check "ADD of the new sandbox again" cni_named shop/web2 ptp ADD new
new=$(cni_address) new6=$(cni_address 1)
printf '[endpoint shop/web2]\nnode = worker-1\nip = %s, %s\nlabels = role=web\n' "$new" "$new6" |
	cat "$NET_TMP/policy.ini" - >"$NET_TMP/web2.ini"
net_check "load a policy that has the pod with the new sandbox's addresses" net_bulkhead load "$NET_TMP/web2.ini"
net_check "after that load both sandboxes have the pod's name, and the old one is added" eval \
	'lists "^shop/web2 +$old +.* added$" && lists "^shop/web2 +$new +segment" && lists_not "^shop/web2 +$new .* added"'
CONTAINER=old2
net_check "DEL of the old sandbox after that load" cni ptp DEL old
net_check "that DEL removes the old sandbox's address" lists_not " $old "
net_check "that DEL keeps both addresses of the new sandbox" eval 'lists "^shop/web2 +$new +segment" && lists "^shop/web2 +$new6 +segment"'
net_serve new
net_allowed new tcp "$db" 6379 "the new sandbox reaches db"
net_denied new tcp 192.168.7.2 80 "the new sandbox does not reach the outside"
CONTAINER=new2
net_check "DEL of the new sandbox after that load" cni ptp DEL new
net_check "no sandbox is left after that load" lists_not "shop/web2"
net_check "load the policy as before" net_bulkhead load --force "$NET_TMP/policy.ini"
unset CONTAINER
net_check "ADD of a pod" cni_named shop/web2 ptp ADD new
net_check "endpoint set gives the pod other addresses" net_bulkhead endpoint set shop/web2 --ip 10.50.0.199,fd50::199
del_own() { RUNTIME_ONLY=bulkhead-cni cni ptp DEL "$1"; }
cp "$CNI_DIR/cache/ptp-new-eth0" "$NET_TMP/new"
net_check "DEL by the plugin alone" del_own new
net_check "DEL removes the new addresses" lists_not "shop/web2"
cp "$NET_TMP/new" "$CNI_DIR/cache/ptp-new-eth0"
net_check "DEL again by the whole chain" cni ptp DEL new

net_check "ADD of a pod to a network" cni_named shop/web2 ptp ADD new
first=$(cni_address)
net_check "ADD of the same pod to another network" cni_named shop/web2 other ADD new eth1
second=$(cni_address)
net_check "the pod's second interface has a name of its own" lists "^shop/web2:eth1 +$second +isolated"
net_serve new
net_allowed node tcp "$first" 80 "the node reaches the first interface"
net_allowed node tcp "$second" 80 "the node reaches the second interface"
net_denied out tcp "$second" 80 "the outside does not reach the second interface"
net_check "DEL of the first interface" cni ptp DEL new
net_check "DEL of the first interface keeps the second" lists "^shop/web2:eth1 +$second +isolated"
net_check "DEL of the second interface" cni other DEL new eth1
net_check "no interface of the pod is left" lists_not "shop/web2"

# Pods whose names begin alike, and are too long for what tells a second interface apart.
long=$(printf 'p%.0s' {1..201})
for pod in a b; do
	cni_pod $pod
	net_check "ADD of a pod with a long name that ends in $pod" cni_named "shop/$long$pod" ptp ADD $pod
	net_check "ADD of the second interface of the pod whose long name ends in $pod" cni_named "shop/$long$pod" other ADD $pod eth1
done
for pod in a b; do
	net_check "the second interface of the pod whose long name ends in $pod has a name of its own" lists "^shop/p+:$pod:eth1 "
	net_check "DEL of the pod whose long name ends in $pod" cni ptp DEL $pod
	net_check "DEL of the second interface of the pod whose long name ends in $pod" cni other DEL $pod eth1
done

# CHECK notices each kind of damage.
CNI_ARGS="K8S_POD_UID=u-1"
side=$(host_side "$web")
ifindex=$(net_on node cat "/sys/class/net/$side/ifindex" 2>/dev/null || ip -n "$NET-node" -o link show "$side" | cut -d: -f1)
net_check "CHECK of a pod as it came" cni ptp CHECK web
net_bulkhead endpoint del shop/web
net_check "CHECK of a pod that endpoint del removed is error 102" cni_fails 102 cni ptp CHECK web
net_bulkhead endpoint add shop/thief --ip "$web" --interface "$side"
net_check "CHECK of a pod whose address another endpoint has is error 102" answers '"code":102,.*shop/thief' cni ptp CHECK web
net_bulkhead endpoint del shop/thief
net_check "DEL of the pod that endpoint del removed" cni ptp DEL web
net_check "ADD of web again" cni_named shop/web ptp ADD web
unset CNI_ARGS
export RUNTIME_ONLY=bulkhead-cni
CONTAINER=c9
cp "$CNI_DIR/cache/ptp-db-eth0" "$CNI_DIR/cache/ptp-c9-eth0"
net_check "CHECK of a pod that is not attached is error 102" cni_fails 102 cni ptp CHECK db
unset CONTAINER RUNTIME_ONLY
side=$(host_side "$db")
ifindex=$(ip -n "$NET-node" -o link show "$side" | cut -d: -f1)
net_check "CHECK of a pod that is guarded" cni ptp CHECK db
if [ -e "$NET_PIN/tcx_${ifindex}_ingress" ]; then
	rm "$NET_PIN/tcx_${ifindex}_ingress"
else
	tc -n "$NET-node" filter del dev "$side" ingress
fi
net_check "CHECK of a pod that lacks a program is error 102" answers '"code":102,.*programs' cni ptp CHECK db
net_check "load attaches the missing program" net_bulkhead load "$NET_TMP/policy.ini"
net_check "CHECK after the load" cni ptp CHECK db

# TC filters, which make ADD faster than TCX links; where another program's links run first, TCX links.
hooks() { # POD'S-SIDE
	net_bulkhead status | sed -n "s/^ *$1 .*tc ingress \([a-z]*\), egress \([a-z]*\).*/\1 \2/p"
}
cni_pod behind
net_check "ADD of a pod on a kernel with TCX" cni_named shop/web2 ptp ADD behind
behind=$(cni_address)
side=$(host_side "$behind")
net_serve behind
net_check "ADD attaches filters" net_is "$(hooks "$side")" "clsact clsact"
if net_on node "$NET_HELPERS/foreign" tcx-pass "$side" "${NET_PIN}_foreign" 2>"$NET_TMP/said"; then
	net_check "CHECK where another's TCX program runs first is error 102" answers '"code":102,.*programs' \
		cni ptp CHECK behind
	net_check "status has the pod as not guarded" eval 'net_bulkhead status | grep -q "$side .*NOT GUARDED"'
	net_check "load attaches before the other program" net_bulkhead load "$NET_TMP/policy.ini"
	net_check "load attaches TCX links" net_is "$(hooks "$side")" "tcx tcx"
	net_check "load removes the filters and the qdisc" net_is "$(tc -n "$NET-node" qdisc show dev "$side" clsact)" ""
	net_check "CHECK with TCX links" cni ptp CHECK behind
	net_denied behind tcp 192.168.7.2 80 "the pod does not reach the outside"
	net_allowed node tcp "$behind" 80 "the node reaches the pod"
	rm "${NET_PIN}_foreign"
fi
net_check "DEL of the pod with TCX links" cni ptp DEL behind

# Another's filter before ours, which passes every packet.
cni_pod ahead
net_check "ADD of a pod that gets another's filter" cni_named shop/web2 ptp ADD ahead
ahead=$(cni_address)
side=$(host_side "$ahead")
net_serve ahead
net_denied ahead tcp 192.168.7.2 80 "the pod with filters does not reach the outside"
net_check "put another's filter behind Bulkhead's" net_on node tc filter add dev "$side" ingress pref 2 bpf \
	bytecode '1,6 0 0 4294967295'
net_check "CHECK where another's filter is behind" cni ptp CHECK ahead
net_check "put another's filter first" net_on node tc filter add dev "$side" ingress pref 1 bpf \
	bytecode '1,6 0 0 4294967295'
net_check "CHECK where another's filter runs first is error 102" answers '"code":102,.*programs' cni ptp CHECK ahead
net_check "status --check says that another's filter runs first" net_ends 1 \
	"NOT GUARDED: interface $side, where others' programs run before Bulkhead's" net_bulkhead status --check
net_check "unload --dry-run names the interface all the same" net_ends 0 "$side" net_bulkhead unload --dry-run
net_check "load puts Bulkhead's programs first" net_bulkhead load "$NET_TMP/policy.ini"
net_check "CHECK after that load" cni ptp CHECK ahead
net_check "the load after that writes nothing" net_is "$(net_writes "$NET_TMP/policy.ini")" 0
net_denied ahead tcp 192.168.7.2 80 "the pod with links beside the other's filter does not reach the outside"
net_allowed node tcp "$ahead" 80 "the node reaches the pod past the other's filter"

# A record that cannot be read.
record=$CNI_STATE/ptp:ahead:eth0
net_check "the record is put aside" cp "$record" "$NET_TMP/record"
echo '{"network": ' >"$record"
RUNTIME_ONLY=bulkhead-cni
export RUNTIME_ONLY
net_check "DEL names the damaged record" answers "\"code\":5,.*$record is damaged" cni ptp DEL ahead
net_check "DEL keeps the damaged record" test -e "$record"
net_check "CHECK names the damaged record" answers "\"code\":5,.*$record is damaged" cni ptp CHECK ahead
unset RUNTIME_ONLY
net_denied ahead tcp 192.168.7.2 80 "the pod with the damaged record does not reach the outside"
net_allowed node tcp "$ahead" 80 "the node reaches the pod with the damaged record"
net_check "the record is put back" cp "$NET_TMP/record" "$record"
net_check "DEL of the pod that got another's filter" cni ptp DEL ahead

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
net_check "GC without valid attachments is error 7" cni_fails 7 cni ptp GC
net_check "the refused GC removes nothing" lists "^shop/g1 "
# One attachment's file cannot be removed, since a mount is on it.
mount --bind "$CNI_STATE/ptp:g1:eth0" "$CNI_STATE/ptp:g1:eth0"
net_check "GC reports an attachment that it could not remove" answers '"code":5,' gc "$valid"
umount "$CNI_STATE/ptp:g1:eth0"
net_check "GC removes attachments that are not valid" lists_not "^shop/g[13] "
net_check "GC keeps a valid attachment" lists "^shop/g2 "
net_check "GC keeps another network's attachment" lists "^shop/g4 "
# Damaged records: of an attachment that is not valid, of a valid one, and of another network's.
cp "$CNI_STATE/ptp:g2:eth0" "$NET_TMP/g2" && cp "$CNI_STATE/other:g4:eth0" "$NET_TMP/g4"
for record in ptp:g9:eth0 ptp:g2:eth0 other:g4:eth0; do
	echo '{"network": ' >"$CNI_STATE/$record"
done
net_check "GC reports the damaged record of an attachment that is not valid" answers '"code":5,' gc "$valid"
net_check "GC names that damaged record" grep -q "$CNI_STATE/ptp:g9:eth0 is damaged" "$NET_TMP/cni.err"
net_check "GC keeps that damaged record" test -e "$CNI_STATE/ptp:g9:eth0"
net_check "GC says nothing of damaged records that are valid or another network's" \
	net_is "$(grep -c "is damaged" "$NET_TMP/cni.err")" 1
rm "$CNI_STATE/ptp:g9:eth0"
net_check "GC has no error once the file is removed" gc "$valid"
cp "$NET_TMP/g2" "$CNI_STATE/ptp:g2:eth0" && cp "$NET_TMP/g4" "$CNI_STATE/other:g4:eth0"
net_check "GC again, with nothing in the way" gc "$valid"
net_check "GC has removed the last attachment" test ! -e "$CNI_STATE/ptp:g1:eth0"
CNI_VERSION=1.0.0
cni_conf ptp "$(cni_ptp 10.50.0.0/24 fd50::/64)" "$(cni_own)"

# DEL when namespace and cache are gone.
ip netns del "$NET-g2"
rm -f "$CNI_DIR/cache/ptp-g2-eth0"
NETNS=- RUNTIME_ONLY=bulkhead-cni
export RUNTIME_ONLY
net_check "DEL without a network namespace, interface and result" cni ptp DEL g2
net_check "that DEL removes the endpoint" lists_not "^shop/g2 "
net_check "that DEL again" cni ptp DEL g2
unset NETNS RUNTIME_ONLY
net_check "a pod of another network is active" lists "^shop/g4 "
net_check "unload" net_bulkhead unload
net_check "unload leaves no qdisc" net_is "$(tc -n "$NET-node" qdisc show | grep clsact)" ""
net_check "DEL without a pin folder" cni other DEL g4
net_check "DEL without a pin folder again" cni other DEL g4
net_check "the attachment's record is removed" test ! -e "$CNI_STATE/other:g4:eth0"
net_end
