#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The real kubelet's pods, by containerd, under policy from their first packet: see cni_podman.sh. The
# kubelet has no server; its pods are the files in a folder.
#
#   STARTS=200   how many pods are started for that
[ -n "${CNI_APART:-}" ] ||
	exec env CNI_APART=1 NET="bh$$" unshare --mount --pid --fork --kill-child --mount-proc "$0" "$@"
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
# shellcheck source=selftests/lib/cni.sh
. "$(dirname "$0")/lib/cni.sh"
FIRST_ADDRESSES=24
# shellcheck source=selftests/lib/first.sh
. "$(dirname "$0")/lib/first.sh"
# shellcheck source=selftests/lib/containerd.sh
. "$(dirname "$0")/lib/containerd.sh"
# shellcheck source=selftests/lib/kubelet.sh
. "$(dirname "$0")/lib/kubelet.sh"

STARTS=${STARTS:-200}
SIDE=10 # pods at a time
containerd_apart /var/log/containers /var/lib/kubelet
net_start
cni_start
home=$CONTAINERD_HOME
manifests=$NET_TMP/manifests

end() {
	[ -z "${KUBELET:-}" ] || kubelet_kill
	containerd_end
	[ -z "${KUBE_KEEP:-}" ] || cp "$NET_TMP/kubelet.log" "$home/log" "$KUBE_KEEP/"
	net_cleanup
} 2>/dev/null
trap end EXIT

# A pod of a file: the kubelet adds the node's name to it.
put_pod() { # POD MILLISECONDS RESTART-POLICY
	kubelet_pod "$@" >"$manifests/.$1" && mv "$manifests/.$1" "$manifests/$1.json"
}
drop_pod() { # POD
	rm "$manifests/$1.json"
}
said() { # POD
	kubelet_said "$1-worker-1"
}
is_listed() { # POD
	net_bulkhead endpoint list | grep -q "^default/$1-worker-1 "
}
is_empty() {
	[ -z "$(net_bulkhead endpoint list)" ]
}

net_check "containerd's configuration and an image" eval 'CONTAINERD_NETWORKS=0 containerd_make'
first_network guarded 1 "$home/net.d"
cni_tool() { # install|uninstall [CONFLIST]
	net_on node "$BULKHEAD" cni "$1" --conf-dir "$home/net.d" --bin-dir "$home/bin" --pin "$NET_PIN" "${@:2}"
}
net_check "install" cni_tool install
net_check "containerd starts" containerd_start
net_check "containerd takes the image" containerd_import
net_check "the machine's settings stay as they were" kubelet_prepare
net_check "the kubelet starts" kubelet_start 192.168.7.1

pods=({early,again,two,four,six,host,beside,apart}-worker-1)
LAST=$((STARTS + STARTS / 2))
for ((i = 0; i < LAST; i++)); do
	pods+=("web-$i-worker-1")
done
(first_policies "${pods[@]}") >"$NET_TMP/policy.ini"
printf '[endpoint default/free-worker-1]\nlabels = app=free\n' | tee -a "$NET_TMP/flip.ini" >>"$NET_TMP/policy.ini"
first_call 1
put_pod early 600000 Always
net_check "no pod starts where no policy is active, and the kubelet says why" \
	await 120 grep -q "no policy is active" "$NET_TMP/kubelet.log"
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_check "after the load the pod starts by itself" await 180 is_listed early
rm "$manifests/early.json"
net_check "the pod goes with its file" await 120 is_empty
first_call_end
net_check "outside heard nothing of the pod that policy denies: 0 packets" net_is "$(first_heard denied)" 0

first_call 1
kubelet_run_pods 0 "$STARTS"
first_call_end
first_results "$STARTS"
net_check "nobody is left" await 120 is_empty

first_flips
first_call 1
# Other pods: of one whose file was there before, the kubelet deletes the output as the former's.
kubelet_run_pods "$STARTS" "$LAST"
first_call_end
first_flips_end
net_check "$((STARTS / 2)) pods come and go while policies do" \
	net_is "$(first_lines '$4 > 0')" $((STARTS / 2))
net_check "nothing that both deny: 0 packets" \
	net_is "$(first_lines '$6 > 0') $(first_heard denied)" "0 0"

# A pod that no policy knows.
first_call 1
: >"$NET_TMP/starts"
put_pod stranger 40 Never
net_check "a pod that nobody knows runs" await 120 eval 'said stranger >"$NET_TMP/starts"'
rm "$manifests/stranger.json"
first_call_end
net_check "the pod that nobody knows hears and reaches nobody" \
	net_is "$(first_lines '$2 > 0 && $4 + $6 == 0') $(first_heard allowed) $(first_heard denied)" "1 0 0"
await 120 is_empty

# A hostNetwork pod whose name the policy gives to a pod: it is its node, whatever that policy says.
processes() { # NAME: of the pods' processes
	local pid
	containerd_processes | while read -r pid; do
		! grep -qs "^$1\$" "/proc/$pid/comm" || echo "$pid"
	done
}
adds() { # how often the plugin was called for a pod that comes
	net_bulkhead metrics | awk '/^bulkhead_cni_calls_total\{command="add"/ { n += $2 } END { print n }'
}
outside_hears_all() {
	first_listen 1 && [ "$(first_heard allowed)" -gt 0 ] && [ "$(first_heard denied)" -gt 0 ]
}
has_run() { # POD
	said "$1" >"$NET_TMP/starts"
}
adds=$(adds)
nsenter --net="/run/netns/$NET-out" "$NET_HELPERS/first" 3600000 7001 5979 192.168.7.1 fd07::1 >"$NET_TMP/heard" &
FIRST_CALLER=$!
put_pod called 10000 Never ', "hostNetwork": true'
net_check "a hostNetwork pod runs" await 120 has_run called
rm "$manifests/called.json"
first_call_end
net_check "the outside reaches the hostNetwork pod at both ports, as it reaches the node" \
	net_is "$(first_lines '$4 > 0 && $6 > 0')" 1
net_check "the hostNetwork pod goes" await 120 eval '[ -z "$(processes busybox)" ]'
FIRST_CALLED="192.168.7.2 fd07::2 $(first_addresses 1)" put_pod host 3600000 Never ', "hostNetwork": true'
net_check "the outside hears the hostNetwork pod at both ports, as it hears the node" await 120 outside_hears_all
net_check "the plugin is not called for a hostNetwork pod" net_is "$(adds)" "$adds"
net_check "a hostNetwork pod is no endpoint" is_empty
put_pod lonely 10000 Never
net_check "an isolated pod runs beside the hostNetwork pod" await 120 has_run lonely
net_check "the isolated pod hears the hostNetwork pod at both ports, as it hears its node" \
	net_is "$(first_lines '$4 > 0 && $6 > 0')" 1
put_pod beside 10000 Never
net_check "a pod under policy runs beside the hostNetwork pod" await 120 has_run beside
net_check "the pod under policy hears the hostNetwork pod at the port that policy denies" \
	net_is "$(first_lines '$6 > 0')" 1
net_check "the plugin is called once for each pod beside the hostNetwork pod" net_is "$(adds)" $((adds + 2))
rm "$manifests"/{host,lonely,beside}.json
net_check "the hostNetwork pod and the pods beside it go" await 120 eval 'is_empty && [ -z "$(processes busybox)" ]'
# The same process in a pod of the pods' network, which no policy selects.
FIRST_CALLED="192.168.7.2 fd07::2 $(first_addresses 1)" put_pod free 3600000 Never
net_check "the outside hears a pod that no policy selects at both ports" await 120 outside_hears_all
first_call 1
put_pod apart 10000 Never
net_check "a pod under policy runs beside the pod that no policy selects" await 120 has_run apart
first_call_end
net_check "the pod under policy hears no other pod at the port that policy denies: 0 packets" \
	net_is "$(first_lines '$4 > 0 && $6 == 0')" 1
rm "$manifests"/{free,apart}.json
net_check "both pods of the pods' network go" await 120 is_empty

# Processes that die in between. The pod's process and its sandbox's are found by the pod's cgroup.
is_up() { # POD: it sends, and what it sends is heard
	is_listed "$1" && [ -n "$(processes first)" ]
}
is_another() { # PID: a process of the pod is there, and not that
	local now
	now=$(processes first)
	[ -n "$now" ] && [ "$now" != "$1" ] && is_listed again
}
first_call 1
put_pod again 3600000 Always
net_check "a pod" await 120 is_up again
pid=$(processes first)
kill -9 "$pid"
net_check "a pod whose process is killed gets another" await 180 is_another "$pid"
pid=$(processes first)
kill -9 "$(processes busybox)"
net_check "a pod whose sandbox is killed gets another" await 180 is_another "$pid"
net_check "the pod with the new sandbox is one endpoint" net_is "$(net_bulkhead endpoint list | cut -d' ' -f1 | sort -u)" default/again-worker-1
pid=$(processes first)
kubelet_kill
net_check "the kubelet is killed, and starts again" kubelet_start 192.168.7.1
net_check "the pod stayed" is_up again
containerd_kill
net_check "containerd is killed; the pod stays under policy" is_listed again
net_check "containerd starts again" containerd_start
net_check "the pod's process is the same" test "$(processes first)" -eq "$pid"
put_pod early 3600000 Always
sleep 0.5
containerd_kill
kubelet_kill
net_check "containerd starts again after both are killed while a pod comes" containerd_start
net_check "the kubelet starts again" kubelet_start 192.168.7.1
net_check "the pod comes after all" await 180 is_listed early
rm "$manifests/early.json" "$manifests/again.json"
net_check "both pods go" await 120 is_empty
first_call_end
net_check "meanwhile outside heard what policy allows" test "$(first_heard allowed)" -gt 0
net_check "meanwhile outside heard nothing else: 0 packets" net_is "$(first_heard denied)" 0

# Networks of one IP version, and two of one pod.
one_version() { # POD 4|6
	first_network guarded 1 "$home/net.d" "$2" && cni_tool install >"$NET_TMP/said" && containerd_restart
	: >"$NET_TMP/starts"
	first_call 1
	put_pod "$1" 5000 Never
	net_check "IPv$2 alone: a pod runs" await 120 eval "said $1 >'$NET_TMP/starts'"
	rm "$manifests/$1.json"
	first_call_end
	net_check "the pod is called as policy allows" net_is "$(first_lines '$4 > 0 && $6 == 0')" 1
	net_check "outside hears it" test "$(first_heard allowed)" -gt 0
	net_check "as policy allows" net_is "$(first_heard denied)" 0
	net_check "the pod goes" await 120 is_empty
}
one_version four 4
one_version six 6
first_network guarded 1 "$home/net.d"
first_network second 2 "$home/net.d"
net_check "two networks" eval 'cni_tool install "$home/net.d/guarded.conflist" && cni_tool install "$home/net.d/second.conflist"'
containerd_restart
first_call 1 2
put_pod two 3600000 Always
net_check "a pod on both" await 120 is_up two
net_check "a pod on two networks is two endpoints" net_is \
	"$(net_bulkhead endpoint list | cut -d' ' -f1 | sed 's/eth[01]/ethN/' | sort | uniq -c | tr -s ' \n' ' ')" \
	" 2 default/two-worker-1 2 default/two-worker-1:ethN "
net_check "each of its addresses has a segment" net_is "$(net_bulkhead endpoint list | grep -c ' segment ')" 4
rm "$manifests/two.json"
net_check "the pod goes" await 120 is_empty
first_call_end
net_check "outside heard the pod on two networks where policy allows" test "$(first_heard allowed)" -gt 0
net_check "outside heard the pod nowhere else: 0 packets" net_is "$(first_heard denied)" 0
net_check "nothing is left" net_is "$(ls /run/bulkhead/cni)" ""

# Without the plugin, much passes that policy would deny: else this test would tell nothing.
net_check "uninstall" eval 'cni_tool uninstall "$home/net.d/guarded.conflist" && rm "$home/net.d/second.conflist"'
containerd_restart
first_call 1
: >"$NET_TMP/starts"
put_pod open 5000 Never
net_check "a pod without the plugin runs" await 120 eval 'said open >"$NET_TMP/starts"'
first_call_end
net_check "sends and hears what it likes" eval \
	'[ "$(first_heard denied)" -gt 0 ] && [ "$(first_lines "\$4 > 0 && \$6 > 0")" = 1 ]'
net_end
