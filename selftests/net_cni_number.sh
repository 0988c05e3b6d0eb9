#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Which interface a call of the CNI plugin is about: not one of another pod that has the same number, by now or
# in another namespace. An interface stays closed where ADD fails, and where the pod has no address.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"

net_start
cni_start
cat >"$NET_TMP/policy.ini" <<END
[bulkhead]
node = worker-1
[namespace shop]
[endpoint shop/one]
labels = role=open
[endpoint shop/two]
labels = role=open
[endpoint shop/three]
labels = role=open
[network-policy shop/open]
endpoints = role=open
egress = to any ports TCP/80
END

# An interface of a pod, and its other side on the node, by these numbers.
plug() { # POD HOST-INTERFACE HOST-NUMBER NUMBER ADDRESS [PLACE]
	ip -n "$NET-${6:-node}" link add "$2" index "$3" type veth peer name eth0 index "$4" netns "$NET-$1" &&
		ip -n "$NET-${6:-node}" link set "$2" up &&
		net_ips "$1" <<-END || return
		addr add $5/32 dev eth0
		link set eth0 up
		route add 169.254.1.1 dev eth0
		route add default via 169.254.1.1 dev eth0 onlink
		neigh replace 169.254.1.1 dev eth0 lladdr $(ip -n "$NET-${6:-node}" -o link show "$2" | grep -o 'ether [0-9a-f:]*' | cut -c7-) nud permanent
		END
	[ "${6:-node}" != node ] || ip -n "$NET-node" route replace "$5/32" dev "$2"
}
# Our plugin alone, for the container that has the pod's name.
call() { # COMMAND POD [ADDRESS]
	local ips=${3:+"{\"address\": \"$3/32\"}"}
	cni_own "\"cniVersion\": \"1.0.0\", \"name\": \"plain\",
		\"prevResult\": {\"cniVersion\": \"1.0.0\", \"ips\": [$ips]}" |
		net_on node env -i CNI_COMMAND="$1" CNI_CONTAINERID="${CONTAINER:-of-$2}" CNI_IFNAME=eth0 \
			CNI_NETNS="/run/netns/$NET-$2" CNI_ARGS="K8S_POD_NAMESPACE=shop;K8S_POD_NAME=$2" \
			"$CNI_DIR/bin/bulkhead-cni" >"$NET_TMP/cni.out" 2>"$NET_TMP/cni.err" || { cat "$NET_TMP/cni.out" && false; }
}
lists() { # NAME ADDRESS STATE
	net_bulkhead endpoint list >"$NET_TMP/list"
	grep -q "^$1  *$2  *$3" "$NET_TMP/list" || { cat "$NET_TMP/list" && false; }
}
lists_no() { # NAME
	! lists "$1" "" "" >/dev/null || { cat "$NET_TMP/list" && false; }
}
for pod in one two three nested inner; do
	cni_pod $pod
done
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"

# A pod's interface whose other side is in a third namespace, by the numbers of another pod's pair.
plug one host1 201 101 10.60.0.1
plug nested host1 201 101 10.60.0.9 inner
# The kernel has a number for that pod's namespace, too.
ip -n "$NET-node" link add beside type veth peer name beside netns "$NET-nested"
net_check "ADD of an interface whose other side is in a third namespace is error 101" \
	cni_fails 101 call ADD nested 10.60.0.9
net_check "the refused ADD adds no endpoint" lists_no shop/nested
net_check "ADD of the pod that has a pair of these numbers" call ADD one 10.60.0.1
net_check "ADD of the first interface again is error 101" cni_fails 101 call ADD nested 10.60.0.9
net_check "the pod that has the pair is active" lists shop/one 10.60.0.1 segment
net_allowed one tcp 192.168.7.2 80 "that pod sends what its policy allows"
net_denied one tcp 192.168.7.2 443 "that pod sends nothing else"
net_check "DEL of that pod" call DEL one
net_denied one tcp 192.168.7.2 80 "DEL leaves the interface closed"

# The number of an interface that is gone, given out again.
ip -n "$NET-node" link del host1
plug one host1 202 102 10.60.0.1
net_check "ADD of the former pod" call ADD one 10.60.0.1
ip -n "$NET-node" link del host1
plug two host2 202 102 10.60.0.2
net_check "ADD of the pod whose interface gets the former one's number" call ADD two 10.60.0.2
net_check "the former pod's endpoint is off" lists_no shop/one
net_check "DEL of the former pod" call DEL one
net_check "the next pod is active after that DEL" lists shop/two 10.60.0.2 segment
net_allowed two tcp 192.168.7.2 80 "the next pod sends what its policy allows"
net_denied two tcp 192.168.7.2 443 "the next pod sends nothing else"
net_check "DEL of the next pod" call DEL two
net_check "the next pod is off" lists_no shop/two
net_denied two tcp 192.168.7.2 80 "the next pod's interface is closed"

# ADD that fails.
plug one host1 203 103 10.60.0.1
plug three host3 204 104 10.60.0.3
net_check "ADD of a pod" call ADD one 10.60.0.1
net_check "ADD of another pod with its address is error 103" cni_fails 103 call ADD three 10.60.0.1
net_denied three tcp 192.168.7.2 80 "the pod whose ADD failed reaches nothing"
net_allowed one tcp 192.168.7.2 80 "the pod that has the address sends what its policy allows"
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_denied three tcp 192.168.7.2 80 "the pod whose ADD failed reaches nothing after a load"
net_check "ADD of the pod with its own address" call ADD three 10.60.0.3
net_allowed three tcp 192.168.7.2 80 "that pod sends what its policy allows"
net_check "DEL of that pod" call DEL three

# A pod without an address.
ip -n "$NET-node" link del host3
plug three host3 205 105 10.60.0.3
net_check "ADD of a pod without an address" call ADD three
net_denied three tcp 192.168.7.2 80 "the pod without an address reaches nothing"
net_check "load of the same policy" net_bulkhead load "$NET_TMP/policy.ini"
net_denied three tcp 192.168.7.2 80 "the pod without an address reaches nothing after a load"
ip -n "$NET-node" link del host3
plug three host3 206 106 10.60.0.3
net_check "ADD of a pod without an address again" call ADD three
net_check "DEL of the pod without an address" call DEL three
net_denied three tcp 192.168.7.2 80 "the pod without an address reaches nothing after DEL"
net_check "ADD of the pod with an address" call ADD three 10.60.0.3
net_allowed three tcp 192.168.7.2 80 "the pod with an address sends what its policy allows"

# A pod that comes back while the policy still has the address of its former sandbox, which another pod gets.
cni_pod back
plug back host4 207 107 10.60.0.8
printf '[endpoint shop/back]\nnode = worker-1\nip = 10.60.0.9\nlabels = role=open\n' |
	cat "$NET_TMP/policy.ini" - >"$NET_TMP/back.ini"
net_check "load of a policy that has a pod's former address" net_bulkhead load "$NET_TMP/back.ini"
net_check "ADD of that pod at its new address" call ADD back 10.60.0.8
sed -i 's|TCP/80|TCP/80, TCP/8080|' "$NET_TMP/back.ini"
net_check "load of another policy that has the former address" net_bulkhead load "$NET_TMP/back.ini"
ip -n "$NET-node" link del host2
plug two host2 208 108 10.60.0.9
net_check "ADD of another pod at the former address" call ADD two 10.60.0.9
net_check "the former address is the other pod's" lists shop/two 10.60.0.9 segment
net_check "the pod that came back is active" lists shop/back 10.60.0.8 segment
net_allowed back tcp 192.168.7.2 80 "the pod that came back sends what its policy allows"
net_denied back tcp 192.168.7.2 443 "the pod that came back sends nothing else"
net_check "DEL of the other pod" call DEL two
net_check "DEL of the pod that came back" call DEL back

# A runtime ends a call that takes too long, and passes on what the call has written to standard error.
coproc holder { exec flock "$NET_PIN" sh -c 'echo locked && read -r line'; }
release() {
	[ -z "${holder_PID:-}" ] || { echo >&"${holder[1]}" && wait "$holder_PID"; }
}
trap 'release; net_cleanup' EXIT # net_cleanup's unload waits for the lock
read -r line <&"${holder[0]}"
net_check "another process holds the lock" net_is "$line" locked
says_whom() { # until the call has said for whom it waits
	local tries
	for ((tries = 0; tries < 1200; tries++)); do
		! grep -q "^note: waits for process $holder_PID (flock), which has the lock of $NET_PIN$" "$NET_TMP/cni.err" || return 0
		sleep 0.05
	done
	return 1
}
: >"$NET_TMP/cni.err"
call ADD two 10.60.0.9 &
net_check "ADD that waits for long says for which process, before it ends" says_whom
release
net_check "that ADD succeeds once it has the lock" wait $!
net_check "DEL after that ADD" call DEL two

# Calls that cannot be kept in a file.
CONTAINER=$(printf '%0255d' 7)
net_check "ADD of a container whose ID is too long for a file's name is error 7" \
	cni_fails 7 call ADD two 10.60.0.2
net_check "DEL of that container" call DEL two
unset CONTAINER
mkdir -p "$NET_TMP/full"
mount -t tmpfs -o size=4096 none "$NET_TMP/full"
head -c 4096 /dev/zero >"$NET_TMP/full/data"
CNI_STATE=$NET_TMP/full
net_check "ADD where the disk of the records is full is error 5" cni_fails 5 call ADD two 10.60.0.2
net_check "that ADD says that there is no room" grep -q "cannot write to $NET_TMP/full: No space left on device" "$NET_TMP/cni.out"
net_check "DEL there" call DEL two
umount "$NET_TMP/full"
net_end
