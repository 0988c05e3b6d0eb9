# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# For the benchmarks of three nodes with real maps beside a real API server: runs the script that sources this once
# more where tools/kube has started the API server, and there has lib/cluster.sh, lib/rollout.sh and lib/changes.sh.
# The script's first argument is the build folder.
# shellcheck disable=SC2034 # lib/cluster.sh makes these
CLUSTER_NODES="worker-1 worker-2 worker-3"
build=$(cd "${1:-build}" && pwd)
export BULKHEAD=$build/bulkhead NET_HELPERS=$build/selftests/helpers
here=$(cd "$(dirname "$0")/../.." && pwd)
if [ -z "${KUBE_CONFIGS:-}" ]; then
	exec "$here/tools/kube" run "$0" "$build"
fi
# shellcheck source=selftests/lib/cluster.sh
. "$here/selftests/lib/cluster.sh"
# shellcheck source=selftests/lib/rollout.sh
. "$here/selftests/lib/rollout.sh"
# shellcheck source=selftests/lib/changes.sh
. "$here/selftests/lib/changes.sh"

die() {
	echo "${0##*/}: $1" >&2
	cluster_cleanup
	exit 1
}
