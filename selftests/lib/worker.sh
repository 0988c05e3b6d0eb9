# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Whole workers on lib/cluster.sh's nodes: each has a mount namespace, containerd, kubelet, kube-proxy, and
# Bulkhead as CNI plugin and follower, with the folders of a machine of its own. Source lib/cluster.sh and
# lib/rollout.sh first, which have the network and the engines.
#
#   worker_rights         applies tools/deploy's resources and rights
#   worker_images         makes the images that pods use
#   worker_start NODE     starts a worker and waits until its Node object is ready
#   worker_on NODE COMMAND...   runs a command in the worker's namespaces: mounts, network, host name
#   worker_end            ends every worker and removes its cgroups
#
# WORKER_BULKHEAD=no leaves Bulkhead out: pods then have no policy. WORKER_IMAGES="pause agnhost" gives a worker
# only these images. WORKER_SECONDS=1200 lets a worker take so long to be ready.

# shellcheck source=selftests/lib/containerd_config.sh
. "${BASH_SOURCE[0]%/*}/containerd_config.sh"
WORKER_BIN=$(dirname "$BULKHEAD")/kube/bin
WORKER_PLUGINS=${CNI_BIN:-/usr/lib/cni}
WORKER_REGISTRY=192.168.7.10:5000 # of images that are pulled
WORKER_IMAGES=${WORKER_IMAGES:-pause busybox agnhost nginx dnsutils}
declare -A WORKER_PID

# A worker's programs keep their files where Kubernetes has them: memory is mounted over these folders.
WORKER_FOLDERS="/run/containerd /run/bulkhead /var/lib/kubelet /var/lib/cni /var/lib/bulkhead
	/var/log/pods /var/log/containers"
WORKER_SYSCTLS="vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops
	kernel/keys/root_maxkeys kernel/keys/root_maxbytes"

# The files of upstream's images beside their own program.
WORKER_TOOLS="bash curl dig getent nc.openbsd nslookup ss wget"
for program in containerd ctr runc busybox iptables $WORKER_TOOLS; do
	command -v $program >/dev/null || net_skip "needs $program"
done
[ -x "$WORKER_PLUGINS/bridge" ] || net_skip "needs containernetworking-plugins"

# The node's mount namespace, and its host name, live as long as this process sleeps. Process 1 has each node's bpffs:
# Bulkhead refuses one that goes with the mount namespace.
worker_namespace() { # NODE
	mkdir -p "$NET_TMP/$1/bpf" && mount -t bpf bpf "$NET_TMP/$1/bpf" || return
	nsenter --net="/run/netns/$NET-$1" unshare --mount --uts --propagation private \
		sh -c "hostname $1 && exec sleep 1000000" &
	WORKER_PID[$1]=$!
	NET_SERVERS+=($!)
	rollout_await 10 worker_is_apart "$1"
}
worker_is_apart() { # NODE
	local own
	own=$(readlink "/proc/${WORKER_PID[$1]}/ns/mnt") && [ "$own" != "$(readlink /proc/$$/ns/mnt)" ] &&
		grep -q sleep "/proc/${WORKER_PID[$1]}/comm"
}
worker_on() { # NODE COMMAND...
	nsenter --target "${WORKER_PID[$1]}" --mount --net --uts "${@:2}"
}
# $! is the program itself, which the cleanup kills.
worker_run() { # NODE NAME COMMAND...
	nsenter --target "${WORKER_PID[$1]}" --mount --net --uts "${@:3}" \
		</dev/null >>"$NET_TMP/$2-$1.log" 2>&1 &
	WORKER_PID[$1/$2]=$!
	NET_SERVERS+=($!)
}

worker_mounts() { # NODE
	local home=$NET_TMP/$1 name folder
	mkdir -p "$home/sysctl" || return
	worker_on "$1" mount --make-rshared / && worker_on "$1" mount --bind "$home/bpf" /sys/fs/bpf || return
	for folder in $WORKER_FOLDERS; do
		mkdir -p "$folder" && worker_on "$1" mount -t tmpfs worker "$folder" || return
	done
	# The kubelet writes to these files, not to the machine's settings.
	for name in $WORKER_SYSCTLS; do
		cat "/proc/sys/$name" >"$home/sysctl/${name##*/}" &&
			worker_on "$1" mount --bind "$home/sysctl/${name##*/}" "/proc/sys/$name" || return
	done
}

worker_cgroups() { # NODE
	local controller own
	for controller in /sys/fs/cgroup/*/; do
		own=$controller/$NET-$1
		mkdir -p "$own" || return
		if [ -e "$own/cpuset.cpus" ]; then
			cat "$controller/cpuset.cpus" >"$own/cpuset.cpus" &&
				cat "$controller/cpuset.mems" >"$own/cpuset.mems" || return
		fi
		# A worker's pods are not one process among the machine's.
		[ ! -e "$own/cpu.shares" ] || echo 8192 >"$own/cpu.shares" || return
	done
}

# Every image has busybox under its names.
worker_base() {
	local fs=$NET_TMP/base name
	mkdir -p "$fs"/{bin,proc,sys,dev,etc,tmp,run} && chmod 1777 "$fs/tmp" &&
		cp "$(command -v busybox)" "$fs/bin/busybox" || return
	for name in $(busybox --list); do
		[ "$name" = busybox ] || ln -s busybox "$fs/bin/$name" || return
	done
}
# An image of one layer: the base, and the files that a function puts in.
worker_image() { # FILE TAG COMMAND [FUNCTION]
	local at layer
	at=$(mktemp -d "$NET_TMP/image.XXXXXX") && cp -a "$NET_TMP/base" "$at/fs" || return
	[ $# -lt 4 ] || "$4" "$at/fs" || return
	tar -C "$at/fs" -cf "$at/layer.tar" . && layer=$(sha256sum <"$at/layer.tar" | cut -d' ' -f1) || return
	cat >"$at/config.json" <<-END
	{"architecture": "amd64", "os": "linux", "config": {"Entrypoint": $3, "Env": ["PATH=/bin"]},
	 "rootfs": {"type": "layers", "diff_ids": ["sha256:$layer"]}}
	END
	echo "[{\"Config\": \"config.json\", \"RepoTags\": [\"$2\"], \"Layers\": [\"layer.tar\"]}]" >"$at/manifest.json"
	tar -C "$at" -cf "$1" config.json manifest.json layer.tar && rm -r "$at"
}
# This machine's programs, with the libraries that they are linked with. Debian's busybox, as a shell, would
# run its own wget and nc instead.
worker_tools() { # FOLDER
	local name path
	for name in $WORKER_TOOLS; do
		path=$(command -v "$name") && cp -L --remove-destination "$path" "$1/bin/${name%.openbsd}" || return
		ldd "$path" | grep -o '/[^ ]*' | xargs cp -L --parents -t "$1" || return
	done
	ln -sf bash "$1/bin/sh" && echo 'hosts: files dns' >"$1/etc/nsswitch.conf"
}
worker_agnhost() { # FOLDER
	cp "$WORKER_BIN/agnhost" "${WORKER_BIN%/bin}"/go/src/k8s.io/kubernetes/test/images/agnhost/porter/localhost.* \
		"$1/" && worker_tools "$1"
}

# Upstream's nginx only waits to be found by its ports.
worker_images() {
	local sleep='["/bin/sleep", "1000000"]'
	worker_base && worker_image "$NET_TMP/pause.tar" localhost/pause:1 "$sleep" &&
		worker_image "$NET_TMP/busybox.tar" docker.io/library/busybox:1.29 '["/bin/sh"]' &&
		worker_image "$NET_TMP/agnhost.tar" k8s.gcr.io/e2e-test-images/agnhost:2.21 '["/agnhost"]' worker_agnhost &&
		worker_image "$NET_TMP/nginx.tar" docker.io/library/nginx:1.14-alpine "$sleep" &&
		worker_image "$NET_TMP/dnsutils.tar" gcr.io/kubernetes-e2e-test-images/jessie-dnsutils:1.0 "$sleep" worker_tools
}

# The folders of a network where a DaemonSet looks for them.
worker_places() { # NODE
	local home=$NET_TMP/$1
	worker_on "$1" mount -t tmpfs worker /opt && worker_on "$1" mkdir -p /opt/cni/bin &&
		worker_on "$1" mount --bind "$home/bin" /opt/cni/bin &&
		worker_on "$1" mount --bind "$home/net.d" /etc/cni/net.d
}

worker_configure() { # NODE
	local home=$NET_TMP/$1 number=${1#worker-}
	mkdir -p "$home/bin" "$home/net.d" && ln -s "$WORKER_PLUGINS"/* "$home/bin/" || return
	containerd_config "$home" overlayfs >"$home/containerd.toml" <<-END
	[plugins."io.containerd.grpc.v1.cri".registry.mirrors."$WORKER_REGISTRY"]
	endpoint = ["http://$WORKER_REGISTRY"]
	END
	cat >"$home/kubelet.yaml" <<-END
	apiVersion: kubelet.config.k8s.io/v1beta1
	kind: KubeletConfiguration
	cgroupDriver: cgroupfs
	cgroupRoot: /$NET-$1
	failSwapOn: false
	oomScoreAdj: 0
	evictionHard: {memory.available: 100Mi}
	authentication: {anonymous: {enabled: true}, webhook: {enabled: false}}
	authorization: {mode: AlwaysAllow}
	featureGates: {IPv6DualStack: true}
	volumePluginDir: $home/volumes
	clusterDNS: [10.96.0.10]
	clusterDomain: cluster.local
	END
	cat >"$home/net.d/10-pods.conflist" <<-END
	{"cniVersion": "0.4.0", "name": "pods", "plugins": [
	 {"type": "ptp", "ipam": {"type": "host-local",
	  "ranges": [[{"subnet": "10.244.$number.0/24"}], [{"subnet": "fd44:$number::/64"}]],
	  "routes": [{"dst": "0.0.0.0/0"}, {"dst": "::/0"}]}},
	 {"type": "portmap", "capabilities": {"portMappings": true}}]}
	END
}

worker_containerd() { # NODE
	local home=$NET_TMP/$1 image
	worker_run "$1" containerd containerd -c "$home/containerd.toml"
	rollout_await 60 worker_ctr "$1" version || { tail "$NET_TMP/containerd-$1.log" && return 1; }
	for image in $WORKER_IMAGES; do
		worker_ctr "$1" -n k8s.io image import --snapshotter overlayfs "$NET_TMP/$image.tar" || return
	done
}
worker_ctr() { # NODE ARGUMENT...
	worker_on "$1" ctr -a "$NET_TMP/$1/sock" "${@:2}"
}

# Bulkhead's resources and rights, without the objects that run an image.
worker_rights() {
	local node
	kubectl apply -f "$NET_TOP/tools/deploy/base/crds.yaml" -f "$NET_TOP/tools/deploy/base/rbac.yaml" || return
	for node in $CLUSTER_NODES; do
		sed "s/NODE/$node/g" "$NET_TOP/tools/deploy/node.yaml" | kubectl apply -f - || return
	done
	kubectl wait --for condition=established --timeout=60s crd/policystatuses.bulkhead.dev \
		crd/nodepolicystatuses.bulkhead.dev crd/policygenerations.bulkhead.dev
}

worker_bulkhead() { # NODE
	worker_on "$1" "$BULKHEAD" cni install --conf-dir "$NET_TMP/$1/net.d" --bin-dir "$NET_TMP/$1/bin" || return
	worker_run "$1" follow env KUBECONFIG="$KUBE_CONFIGS/$1" "$BULKHEAD" follow -n "$1"
}

worker_kubelet() { # NODE
	worker_run "$1" kubelet kubelet --config="$NET_TMP/$1/kubelet.yaml" --kubeconfig="$KUBE_CONFIGS/admin" \
		--cert-dir="$NET_TMP/$1/certs" --hostname-override="$1" --node-ip="$(net_ip "$1")" \
		--container-runtime=remote --container-runtime-endpoint="unix://$NET_TMP/$1/sock"
}

# The zero arguments keep kube-proxy from changing settings of the whole machine.
worker_proxy() { # NODE
	worker_run "$1" kube-proxy kube-proxy --kubeconfig="$KUBE_CONFIGS/kube-proxy" --hostname-override="$1" \
		--proxy-mode=iptables --cluster-cidr=10.244.0.0/16,fd44::/16 --feature-gates=IPv6DualStack=true \
		--oom-score-adj=0 --conntrack-max-per-core=0 --conntrack-min=0 \
		--conntrack-tcp-timeout-established=0 --conntrack-tcp-timeout-close-wait=0
}

worker_is_ready() { # NODE
	kill -0 "${WORKER_PID[$1/kubelet]}" && kubectl wait node "$1" --for condition=Ready --timeout=1s &&
		[ -z "$(kubectl get node "$1" -o jsonpath='{.spec.taints}')" ]
}
worker_prepare() { # NODE
	worker_namespace "$1" && worker_mounts "$1" && worker_cgroups "$1" && worker_configure "$1"
}
worker_wait() { # NODE
	local number=${1#worker-}
	rollout_await "${WORKER_SECONDS:-120}" worker_is_ready "$1" ||
		{ tail -n 20 "$NET_TMP/kubelet-$1.log" && return 1; }
	kubectl patch node "$1" -p "{\"spec\": {\"podCIDR\": \"10.244.$number.0/24\",
		\"podCIDRs\": [\"10.244.$number.0/24\", \"fd44:$number::/64\"]}}"
}

worker_start() { # NODE
	worker_prepare "$1" && worker_containerd "$1" || return
	[ "${WORKER_BULKHEAD:-yes}" = no ] || worker_bulkhead "$1" || return
	worker_kubelet "$1"
	worker_proxy "$1"
	worker_wait "$1"
}

# The processes of pods are found by their cgroups, and containerd's shims by the socket that they name.
worker_end() {
	local shim i
	kill -9 "${WORKER_PID[@]}"
	for shim in /proc/[0-9]*; do
		! grep -qs "$NET_TMP/worker-[0-9]*/\(ttrpc\|sock\)" "$shim/cmdline" || kill -9 "${shim#/proc/}"
	done
	find /sys/fs/cgroup/*/"$NET"-* -name cgroup.procs -exec cat {} + | sort -u | xargs -r kill -9
	for ((i = 0; i < 50; i++)); do
		find /sys/fs/cgroup/*/"$NET"-* -depth -type d -exec rmdir {} + && break
		sleep 0.1
	done
} 2>/dev/null
