#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The commands of README.md that put podman's containers under policy from their first packet, as README.md
# has them, on a machine with Debian's own network for podman. The same last command on a Kubernetes node's
# network writes the same plugin, and a pod that comes by that network is under the same policy.
# Process 1 has the bpffs: load refuses another one.
[ -n "${CNI_APART:-}" ] || exec env CNI_APART=1 NET=bh$$ unshare --mount --pid --fork --kill-child --mount-proc "$0" "$@"
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"
# shellcheck source=selftests/lib/first.sh
. "$(dirname "$0")/lib/first.sh"
# shellcheck source=selftests/lib/podman.sh
. "$(dirname "$0")/lib/podman.sh"

LIST=87-podman-bridge.conflist # Debian's podman brings it
[ -e "/etc/cni/net.d/$LIST" ] || net_skip "needs /etc/cni/net.d/$LIST of Debian's podman"
[ ! -e /opt/cni/bin ] || net_skip "/opt/cni/bin is not Debian's"
cp "/etc/cni/net.d/$LIST" "$NET_TMP/"
mkdir "$NET_TMP/path"
cp -a "$CNI_BIN" "$NET_TMP/plugins"
first_apart /var/lib/bulkhead /etc/cni/net.d "$CNI_BIN"
ln -s "$NET_TMP"/plugins/* "$CNI_BIN/"
cp "$NET_TMP/$LIST" /etc/cni/net.d/
ln -s "$BULKHEAD" "$NET_TMP/path/bulkhead"
PATH=$NET_TMP/path:$PATH
net_start
cni_start
NET_PIN=/sys/fs/bpf/bulkhead # where the commands find it without an option
podman_prepare

sed -n '/^The CNI plugin.*; for podman:$/,/^```$/{/^```/d; /^The /d; /^$/d; p}' "$NET_TOP/README.md" |
	sed '/^```/,$d' >"$NET_TMP/commands"
sed -n '/^```ini$/,/^```$/{/^```/d; p}' "$NET_TOP/user/cni/README.md" >"$NET_TMP/policy.ini"
run() { # NUMBER
	(cd "$NET_TMP" && net_on node bash -ec "$(sed -n "$1p" commands)")
}
plugins() { # LIST
	"$NET_HELPERS/conflist" plugins "$1"
}

# The outside host listens and calls the first addresses of Debian's network.
call() {
	local i addresses=()
	for ((i = 2; i < 12; i++)); do
		addresses+=("10.88.0.$i")
	done
	nsenter --net="/run/netns/$NET-out" "$NET_HELPERS/first" 3600000 7001 5979 "${addresses[@]}" \
		>"$NET_TMP/heard" 2>&1 &
	FIRST_CALLER=$!
}
container() { # NAME: sends from its first instruction on, and answers
	podman_start "$1" podman -d -- sh -c \
		"/helpers/first 3600000 7001 5979 192.168.7.2 192.168.7.2 & exec /helpers/probe serve 80 5978" >/dev/null
}
address() { # NAME
	podman_on_node inspect -f '{{.NetworkSettings.Networks.podman.IPAddress}}' "$1"
}

net_check "README.md has three commands" net_is "$(sed 's/^\(apt-get\|bulkhead\) \([a-z]*\).*/\1 \2/' "$NET_TMP/commands" | paste -sd,)" \
	"apt-get install,bulkhead load,bulkhead cni"
# apt-get as on a machine that has no package yet, where it installs nothing
sed -n 1p "$NET_TMP/commands" | sed 's/^apt-get /&-s -o Dir::State::status=\/dev\/null /' >"$NET_TMP/apt"
bash "$NET_TMP/apt" >"$NET_TMP/installs" 2>&1
for package in podman containernetworking-plugins iptables conmon; do
	net_check "on an empty machine the first command installs $package" grep -q "^Inst $package " "$NET_TMP/installs"
done
net_check "on an empty machine the first command installs a runtime" grep -qE "^Inst (crun|runc) " "$NET_TMP/installs"
net_check "the first command does not bring another network backend" net_is "$(grep -c '^Inst netavark ' "$NET_TMP/installs")" 0

call
net_check "a container without the plugin" container web
net_allowed out tcp "$(address web)" 5978 "without the plugin the outside reaches every port of the container"
first_call_end
net_check "without the plugin the outside hears the container" test "$(first_heard denied)" -gt 0
net_check "the container goes" podman_on_node rm -f -t 0 web

net_check "the second command" run 2
net_check "the third command" run 3
net_check "the list's other plugins stay first and unchanged" \
	net_is "$(plugins "/etc/cni/net.d/$LIST" | head -n -1)" "$(plugins "$NET_TMP/$LIST")"
plugins "/etc/cni/net.d/$LIST" | tail -n 1 >"$NET_TMP/own"

call
net_check "a container of the policy's name" container web
web=$(address web)
net_allowed out tcp "$web" 80 "the outside reaches the port that policy allows"
net_denied out tcp "$web" 5978 "the outside does not reach another port"
net_check "a container of another name" container stranger
stranger=$(address stranger)
net_denied out tcp "$stranger" 80 "the outside does not reach the container of another name"
net_allowed node tcp "$stranger" 80 "the container of another name answers its own node"
first_call_end
net_check "the outside hears neither container: 0 packets" net_is "$(first_heard allowed) $(first_heard denied)" "0 0"
net_check "the containers go" podman_on_node rm -f -t 0 web stranger
net_check "no container is left" net_is "$(net_bulkhead endpoint list)" ""

# A Kubernetes node: its own network is the only one in the folder.
rm "/etc/cni/net.d/$LIST"
CNI_DIR=$NET_TMP/kubernetes
mkdir -p "$CNI_DIR/bin" "$CNI_DIR/cache" && ln -s /etc/cni/net.d "$CNI_DIR/net.d"
cni_conf 10-cluster "$(cni_ptp 10.50.0.0/24 fd50::/64)" '{"type": "portmap", "capabilities": {"portMappings": true}}'
cp /etc/cni/net.d/10-cluster.conflist "$NET_TMP/cluster"
net_check "the third command on a Kubernetes node" run 3
net_check "a Kubernetes node's list has the same plugin as podman's" \
	net_is "$(plugins /etc/cni/net.d/10-cluster.conflist | tail -n 1)" "$(cat "$NET_TMP/own")"
net_check "a Kubernetes node's other plugins stay first and unchanged" \
	net_is "$(plugins /etc/cni/net.d/10-cluster.conflist | head -n -1)" "$(plugins "$NET_TMP/cluster")"
cni_pod pod
net_check "a pod of the policy's name comes by a Kubernetes node's list" cni_named default/web 10-cluster ADD pod
pod=$(cni_address)
net_serve pod
net_allowed out tcp "$pod" 80 "the outside reaches the pod's port that policy allows"
net_denied out tcp "$pod" 5978 "the outside does not reach the pod's other port"
net_denied pod tcp 192.168.7.2 80 "the pod does not reach the outside"
net_check "the pod goes" cni 10-cluster DEL pod
net_check "no pod is left" net_is "$(net_bulkhead endpoint list)" ""
net_end
