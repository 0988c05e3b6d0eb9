#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Deltas beside sandboxes that the CNI plugin added and the policy does not know by an address: a sandbox of the
# policy's pod of that name has that pod's place, as soon and as long as there is such a pod. Each step is taken by a
# whole load and by a delta, from the same state and to the same maps.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"

NET_PORTS="80 443"
net_start db web one two
# shellcheck source=selftests/lib/delta.sh
. "$(dirname "$0")/lib/delta.sh"
CNI_DIR=$NET_TMP/cni CNI_STATE=$NET_TMP/cni/state
mkdir -p "$CNI_DIR/records"

# The plugin alone: the host ONE or TWO is a sandbox of the pod, and its name the container's ID.
sandbox() { # ADD|DEL HOST
	local ips
	ips='{"address": "'$(net_ip "$2")'/32"}, {"address": "'$(net_ip6 "$2")'/128"}'
	cni_own '"cniVersion": "1.0.0", "name": "net", "prevResult":
		{"cniVersion": "1.0.0", "interfaces": [], "ips": ['"$ips"']}' |
		net_on node env -i CNI_COMMAND="$1" CNI_CONTAINERID="$2" CNI_IFNAME=eth0 \
			CNI_NETNS="/run/netns/$NET-$2" \
			CNI_ARGS="IgnoreUnknown=1;K8S_POD_NAMESPACE=shop;K8S_POD_NAME=pod;K8S_POD_UID=u-1" "$BULKHEAD"
}

# Each role keeps its segment, whoever has it.
policy() { # [LINE...]
	net_head
	net_endpoint db
	net_endpoint web
	printf '[endpoint shop/far-%s]\nnode = far\nip = 10.9.1.%s,fd09:1::%s\nlabels = role=%s\n' \
		web 1 1 web late 2 2 late
	cat <<-END
		[network-policy shop/db]
		endpoints = role=db
		ingress = from endpoints(role=web) ports TCP/80
		ingress = from endpoints(role=late) ports TCP/443
	END
	printf '%s\n' "$@"
}
pod_at() { # HOST|far|gone ROLE [LINE...]
	local node=worker-1 addresses="10.9.0.9, fd09::9" # gone: no interface has them
	case $1 in
	far) node=far ;;
	one | two) addresses="$(net_ip "$1"), $(net_ip6 "$1")" ;;
	esac
	net_endpoint_at pod "$node" "$addresses" "labels = role=$2" "${@:3}"
}

# The steps: what is done before the load, by which port of db each sandbox is let in then (-: by none), what the
# policy says of the pod, and the lines that say so.
steps=() before=() one=() two=() what=()
step() { # BEFORE ONE'S-PORT TWO'S-PORT WHAT [LINE...]
	steps+=("${#steps[@]}") before+=("$1") one+=("$2") two+=("$3") what+=("$4")
	policy "${@:5}" >"$here/$((${#steps[@]} - 1)).ini"
}
step "" - - "nothing"
step "ADD one" 80 - "the first sandbox's addresses" "$(pod_at one web)"
step "ADD two" 443 443 "other labels, with a second sandbox there" "$(pod_at one late)"
step "" - 80 "the second sandbox's addresses" "$(pod_at two web)"
step "DEL one,ADD one" 443 - "another node, with a sandbox here" "$(pod_at far late)"
step "DEL one,ADD one,ADD two" 80 80 "other labels, with both sandboxes here" "$(pod_at far web)"
step "" 443 443 "the second sandbox's addresses, with the first one there" "$(pod_at two late)"
step "" 80 80 "other labels, with the first sandbox there" "$(pod_at two web)"
step "" - 80 "another UID than the first sandbox's" "$(pod_at two web "uid = u-2")"
step "" 443 - "the first sandbox's UID, and another node" "$(pod_at far late "uid = u-1")"
step "" - - "nothing any more"
step "" 80 - "another node, again" "$(pod_at far web)"
step "" 443 - "addresses of this node that no interface has" "$(pod_at gone late)"
step "" 80 - "other labels, with these addresses" "$(pod_at gone web)"
step "" 443 - "labels and no address" "[endpoint shop/pod]" "labels = role=late"
other=$(net_endpoint_at other worker-1 "$(net_ip one), $(net_ip6 one)" "labels = role=db")
step "" - - "lost its addresses to another pod" "$other"
step "" 443 - "labels, beside the other pod" "$other" "[endpoint shop/pod]" "labels = role=late"
net_check "compile policies and deltas" chain "${steps[@]}"

take() { # STEP SUFFIX
	local call
	IFS=, read -ra calls <<<"${before[$1]}"
	for call in "${calls[@]}"; do
		# shellcheck disable=SC2086 # a command and its argument
		sandbox $call || return
	done
	# A whole load names a sandbox beside the policy's pod as the plugin names a second one, and warns of every
	# endpoint without an interface.
	load --force "$here/$1.$2" >"$NET_TMP/said" 2>&1 || { cat "$NET_TMP/said" && return 1; }
	sed 's/:one:eth0//g; /is not guarded/d' "$NET_TMP/said" >"$NET_TMP/$1.$2.said"
}
whole() {
	local i
	for i in "${steps[@]}"; do
		take "$i" bhp && state "$NET_TMP/$i.whole" || return
	done
}
by_delta() { # STEP
	take "$1" bhd && test -e "$NET_PIN/blob_base" && state "$NET_TMP/$1.delta" &&
		diff "$NET_TMP/$1.whole" "$NET_TMP/$1.delta"
}
net_check "load whole policies one after another" whole
[ "$NET_FAILED" -eq 0 ] || net_end
net_check "unload" net_bulkhead unload
rm -r "$CNI_STATE"
net_check "load the first policy" load "$here/0.bhp"
for i in "${steps[@]:1}"; do
	says="the pod has ${what[$i]}"
	net_check "$says: the maps are those of a whole load" by_delta "$i"
	net_check "$says: the effect is that of a whole load" diff "$NET_TMP/$i.bhp.said" "$NET_TMP/$i.bhd.said"
	reaches_by "${one[$i]}" one db "$says"
	reaches_by "${two[$i]}" two db "$says"
done
net_end
