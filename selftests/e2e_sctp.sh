#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The three specs of upstream's NetworkPolicy suite that need SCTP sockets, unchanged, with a worker on Debian's
# 6.1, which has such sockets: containerd, kubelet, kube-proxy, the pods, and Bulkhead as plugin and follower
# run in an emulated machine, which reaches the API server through qemu. The control plane, the engine and the
# suite run on this host. The machine's clock counts its instructions, so the worker meets its own deadlines.
#
#   FOCUS=...          other specs, a regular expression
#   WORKER_BULKHEAD=no leaves Bulkhead out
#   KUBE_KEEP=DIR      keeps the logs, and the suite's report

TOP=$(cd "$(dirname "$0")/.." && pwd)
VM=$(dirname "${BULKHEAD:-$TOP/build/bulkhead}")/vm
export CLUSTER_NODES=worker-1 WORKER_IMAGES="pause agnhost"
export WORKER_SECONDS=1200 KUBE_NODE_GRACE=30m ROLLOUT_LIMIT=1800 WORKER_BULKHEAD=${WORKER_BULKHEAD:-yes}

# shellcheck source=selftests/lib/machine.sh
. "$TOP/selftests/lib/machine.sh"
machine_cgroups() {
	local controller
	mount -t tmpfs cgroup /sys/fs/cgroup || return
	for controller in cpu cpuacct cpuset memory devices freezer pids blkio; do
		mkdir "/sys/fs/cgroup/$controller" &&
			mount -t cgroup -o $controller cgroup "/sys/fs/cgroup/$controller" || return
	done
}
# Layers of images cannot be on the overlay that the machine has as its root.
machine_memory() {
	mount -t tmpfs -o size=4g memory /mnt && export TMPDIR=/mnt
}
machine_worker() {
	ln -s "$MACHINE_IMAGES"/*.tar "$NET_TMP/" && cluster_network &&
		worker_prepare worker-1 && worker_containerd worker-1 || return
	[ "$WORKER_BULKHEAD" = no ] || worker_bulkhead worker-1 || return
	worker_kubelet worker-1
	worker_proxy worker-1
	tail -n +1 -F "$NET_TMP"/*.log
}
# The machine ends with the test; its logs are this command's output.
machine_start() {
	MACHINE_IMAGES=$NET_TMP VM_NETWORK=1 VM_COUNTED=1 VM_MEMORY=6144 VM_SECONDS=7200 \
		"$TOP/tools/vm" "$VM" "$0" machine </dev/null >"$NET_TMP/machine.log" 2>&1 &
	WORKER_PID[worker-1/kubelet]=$!
	NET_SERVERS+=($!)
}

if [ "${1:-}" = machine ]; then
	export GOGC=400 # memory is cheaper here than instructions
	machine_lan && machine_cgroups && machine_memory && modprobe sctp || exit
fi
# shellcheck source=selftests/lib/e2e.sh
. "$TOP/selftests/lib/e2e.sh"
if [ "${1:-}" = machine ]; then
	machine_worker
	exit
elif [ -z "${KUBE_CONFIGS:-}" ]; then
	command -v qemu-system-x86_64 >/dev/null || { echo "1..0 # SKIP needs qemu-system-x86" && exit 4; }
	"$TOP/tools/vm-kernel" "$VM" || { echo "1..0 # SKIP no kernel to run" && exit 4; }
	e2e_beside
fi

e2e_begin
if [ "$WORKER_BULKHEAD" = yes ]; then
	net_check "resources and rights" worker_rights
	rollout_engine one
fi
net_check "images of one layer are made" worker_images
machine_start
net_check "the worker in the emulated machine is ready" worker_wait worker-1
net_check "a server that stands for the Internet" e2e_internet
[ "$WORKER_BULKHEAD" = no ] || net_check "the worker has the policy" rollout_await 600 rollout_is_settled 1
[ "$NET_FAILED" -eq 0 ] || { tail -n 40 "$NET_TMP/machine.log" | cut -c 1-300 | sed 's/^/# /' && exit 1; }
e2e_specs "${FOCUS:-NetworkPolicy.*SCTPConnectivity}" | e2e_run 1
e2e_rows
net_end
