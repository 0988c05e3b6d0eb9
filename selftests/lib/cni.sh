# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Calls the CNI plugin as a container runtime does, behind Debian's reference plugins, on net.sh's node.
# Source net.sh first: it provides the hosts and the cleanup.
#
#   cni_start                             makes the folders and installs the plugin by its name
#   cni_conf ptp "$(cni_ptp 10.50.0.0/24)" "$(cni_own)"   configures a network with these plugins
#   cni_pod web                           makes a network namespace that stands for a container's
#   cni ptp ADD web                       prints into $NET_TMP/cni.out; see helpers/runtime.c

CNI_BIN=${CNI_BIN:-/usr/lib/cni}
CNI_VERSION=1.0.0

cni_start() {
	[ -x "$CNI_BIN/ptp" ] || net_skip "needs containernetworking-plugins"
	CNI_DIR=$NET_TMP/cni
	mkdir -p "$CNI_DIR/bin" "$CNI_DIR/net.d" "$CNI_DIR/records" "$CNI_DIR/cache"
	ln -sf "$BULKHEAD" "$CNI_DIR/bin/bulkhead-cni"
	CNI_STATE=$CNI_DIR/state
}

# Prints the Bulkhead plugin's part of a chain, with MEMBERS added.
cni_own() { # [MEMBERS]
	echo "{\"type\": \"bulkhead-cni\", \"pin\": \"$NET_PIN\", \"state\": \"$CNI_STATE\",
		\"records\": \"$CNI_DIR/records\"${1:+, $1}}"
}

cni_ipam() { # SUBNET[=ADDRESS]...: of the subnet, this address alone
	local subnet only ranges=
	for subnet; do
		IFS='=' read -r subnet only <<<"$subnet"
		ranges="$ranges${ranges:+, }[{\"subnet\": \"$subnet\"${only:+, \"rangeStart\": \"$only\", \"rangeEnd\": \"$only\"}}]"
	done
	echo "\"ipam\": {\"type\": \"host-local\", \"dataDir\": \"$CNI_DIR/ipam\", \"ranges\": [$ranges],
		\"routes\": [{\"dst\": \"0.0.0.0/0\"}, {\"dst\": \"::/0\"}]}"
}

cni_ptp() { # SUBNET[=ADDRESS]...
	echo "{\"type\": \"ptp\", $(cni_ipam "$@")}"
}

cni_bridge() { # NAME MEMBERS SUBNET[=ADDRESS]...
	echo "{\"type\": \"bridge\", \"bridge\": \"$1\", $2 $(cni_ipam "${@:3}")}"
}

cni_conf() { # NETWORK PLUGIN...
	local network=$1 plugin list=
	shift
	for plugin; do
		list="$list${list:+, }$plugin"
	done
	echo "{\"cniVersion\": \"$CNI_VERSION\", \"name\": \"$network\", \"plugins\": [$list]}" \
		>"$CNI_DIR/net.d/$network.conflist"
}

# Without detection of duplicate addresses, for which ptp and bridge wait two seconds.
cni_pod() { # POD
	ip netns add "$NET-$1" && net_on "$1" sh -c "$NET_NO_DAD; exec ip link set lo up"
}

# $CONTAINER is the container's ID; the default is the pod's name.
cni() { # NETWORK COMMAND [POD [IFNAME]]
	local network=$1 command=$2
	shift 2
	set -- "$CNI_DIR/net.d/$network.conflist" "$command" \
		${1:+"${CONTAINER:-$1}" "${NETNS:-/run/netns/$NET-$1}" "${2:-eth0}"}
	CNI_PATH=$CNI_DIR/bin:$CNI_BIN RUNTIME_CACHE=$CNI_DIR/cache \
		net_on node "$NET_HELPERS/runtime" "$@" >"$NET_TMP/cni.out" 2>"$NET_TMP/cni.err"
}

# Calls the Bulkhead plugin with a pod name for the policy in CNI_ARGS.
cni_named() { # NAMESPACE/NAME NETWORK COMMAND ...
	local args="IgnoreUnknown=1;K8S_POD_NAMESPACE=${1%/*};K8S_POD_NAME=${1#*/}${CNI_ARGS:+;$CNI_ARGS}"
	shift
	CNI_ARGS=$args cni "$@"
}

# Prints one of the pod's addresses from the last ADD's result, the first by default.
cni_address() { # [NUMBER]
	grep -o '"address":"[^"/]*' "$NET_TMP/cni.out" | sed -n "$((${1:-0} + 1))s/.*\"//p"
}

cni_fails() { # CODE COMMAND...
	local code=$1
	shift
	"$@" && echo "it succeeded" && return 1
	grep -q "\"code\":$code," "$NET_TMP/cni.out" || { cat "$NET_TMP/cni.out" && false; }
}
