# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The real kubelet as worker-1 on lib/containerd.sh's node; source that first. The kubelet takes its pods
# from the files in $NET_TMP/manifests and from an API server.
#
#   kubelet_prepare           writes the configuration and hides the machine's settings from kubelet
#   kubelet_start NODE-IP     starts kubelet and waits until it is healthy
#   kubelet_kill              kills kubelet, as a crash would
#   kubelet_run_pods FROM TO  starts pods, and collects the line of each pod's process

KUBE_BIN=$(dirname "$BULKHEAD")/kube/bin
[ -x "$KUBE_BIN/kubelet" ] || net_skip "no kubelet: tools/kube build kubelet"

kubelet_prepare() {
	# A pod's volume must be visible in containerd's mount namespace.
	mount --make-rshared / && kubelet_hide_sysctls && kubelet_make_cgroups && kubelet_configure
}

# Keeps the machine's own sysctls: kubelet writes to files in their place.
kubelet_hide_sysctls() {
	local name
	mkdir "$NET_TMP/sysctl" || return
	for name in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
		kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
		cat "/proc/sys/$name" >"$NET_TMP/sysctl/${name##*/}" &&
			mount --bind "$NET_TMP/sysctl/${name##*/}" "/proc/sys/$name" || return
	done
}
kubelet_make_cgroups() {
	local controller
	for controller in /sys/fs/cgroup/*/; do
		mkdir -p "$controller/$NET" || return
		if [ -e "$controller/$NET/cpuset.cpus" ]; then
			cat "$controller/cpuset.cpus" >"$controller/$NET/cpuset.cpus"
			cat "$controller/cpuset.mems" >"$controller/$NET/cpuset.mems"
		fi
	done
}
kubelet_configure() {
	mkdir -p "$NET_TMP/manifests" "$NET_TMP/plugins" &&
		cat >"$NET_TMP/kubelet.yaml" <<-EOF2
	apiVersion: kubelet.config.k8s.io/v1beta1
	kind: KubeletConfiguration
	staticPodPath: $NET_TMP/manifests
	cgroupDriver: cgroupfs
	cgroupRoot: /$NET
	failSwapOn: false
	oomScoreAdj: 0
	evictionHard: {memory.available: 100Mi}
	authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
	authorization: {mode: AlwaysAllow}
	makeIPTablesUtilChains: false
	volumePluginDir: $NET_TMP/plugins
	fileCheckFrequency: 1s
	EOF2
}
kubelet_answers() {
	kill -0 "$KUBELET" && net_on "$CONTAINERD_NODE" curl -sf http://127.0.0.1:10248/healthz >/dev/null
}
kubelet_start() { # NODE-IP [OPTION...]
	local ip=$1
	shift
	nsenter --net="/run/netns/$NET-$CONTAINERD_NODE" "$KUBE_BIN/kubelet" --config="$NET_TMP/kubelet.yaml" \
		--root-dir=/var/lib/kubelet --cert-dir="$NET_TMP/certs" --hostname-override=worker-1 --node-ip="$ip" "$@" \
		--container-runtime=remote --container-runtime-endpoint="unix://$CONTAINERD_HOME/sock" \
		</dev/null >>"$NET_TMP/kubelet.log" 2>&1 &
	KUBELET=$!
	await 120 kubelet_answers || { tail -n 20 "$NET_TMP/kubelet.log" && false; }
}
kubelet_kill() {
	kill -9 "$KUBELET"
	wait "$KUBELET" 2>/dev/null
}
await() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return
		sleep 0.2
	done
}
# Starts the pods web-FROM to web-(TO - 1), SIDE at a time; each ends with its process. Writes a line of each
# to $NET_TMP/starts. The test has put_pod, drop_pod and said, which prints a pod's line once there is one.
kubelet_run_pods() { # FROM TO
	local next=$1 pod end=$((SECONDS + 120 + 6 * ($2 - $1)))
	declare -A active=()
	: >"$NET_TMP/starts"
	while [ $SECONDS -lt $end ] && { [ "$next" -lt "$2" ] || [ ${#active[@]} -gt 0 ]; }; do
		for pod in "${!active[@]}"; do
			! said "$pod" >>"$NET_TMP/starts" || { drop_pod "$pod" && unset "active[$pod]"; }
		done
		while [ "$next" -lt "$2" ] && [ ${#active[@]} -lt "$SIDE" ]; do
			put_pod "web-$next" 40 Never
			active[web-$next]=1
			next=$((next + 1))
		done
		sleep 0.2
	done
	for pod in "${!active[@]}"; do
		drop_pod "$pod"
	done
}

# Prints the output of a pod's process, if there is any.
kubelet_said() { # POD
	cat "/var/log/pods/default_$1_"*/first/*.log 2>/dev/null | cut -d' ' -f4- | grep sent
}

# Prints a pod as JSON that runs first_process.
kubelet_pod() { # POD MILLISECONDS RESTART-POLICY [MORE-OF-SPEC [MORE-OF-METADATA]]
	local words=() word mounts=() volumes=() path
	for word in $(first_process /helpers "$2"); do
		words+=("\"$word\"")
	done
	for path in /usr /lib /lib64 helpers; do
		volumes+=("{\"name\": \"v${path#/}\", \"hostPath\": {\"path\": \"${path/#helpers/$NET_HELPERS}\"}}")
		mounts+=("{\"name\": \"v${path#/}\", \"mountPath\": \"${path/#helpers//helpers}\", \"readOnly\": true}")
	done
	cat <<-EOF2
	{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "$1", "namespace": "default" ${5:-}},
	 "spec": {"restartPolicy": "$3", "terminationGracePeriodSeconds": 1, "enableServiceLinks": false ${4:-},
	  "automountServiceAccountToken": false, "volumes": [$(IFS=, && echo "${volumes[*]}")],
	  "containers": [{"name": "first", "image": "localhost/pause:1", "imagePullPolicy": "Never",
	   "command": [$(IFS=, && echo "${words[*]}")], "volumeMounts": [$(IFS=, && echo "${mounts[*]}")]}]}}
	EOF2
}
