#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Services under the real kube-proxy in IPVS mode: kube_services.sh on Debian's 6.1, which has IPVS. The
# control plane runs on this host. The nodes and kube-proxy run in the emulated machine, which reaches the
# API server by qemu's network.
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
export BULKHEAD=${BULKHEAD:-$top/build/bulkhead} BULKHEAD_SMALL=1 PROXY_MODE=ipvs
build=$(dirname "$BULKHEAD")

# shellcheck source=selftests/lib/machine.sh
. "$top/selftests/lib/machine.sh"

case ${1:-} in
"")
	[ "$(id -u)" -eq 0 ] || { echo "1..0 # SKIP needs root" && exit 4; }
	command -v qemu-system-x86_64 >/dev/null || { echo "1..0 # SKIP needs qemu-system-x86" && exit 4; }
	"$top/tools/vm-kernel" "$build/vm" || { echo "1..0 # SKIP no kernel to run" && exit 4; }
	exec "$top/tools/kube" run "$0" beside
	;;
beside) VM_NETWORK=1 VM_SECONDS=2400 exec "$top/tools/vm" "$build/vm" "$0" inside ;;
inside) machine_lan && GOMAXPROCS=1 GOGC=400 exec "$top/selftests/kube_services.sh" ;;
esac
