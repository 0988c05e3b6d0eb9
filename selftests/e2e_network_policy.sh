#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Upstream's own NetworkPolicy suite, unchanged, on a cluster of two workers: scheduler, controllers,
# kubelets, kube-proxies and containerd are the real ones; Bulkhead is the CNI plugin, the engine and the
# followers. One row for each spec of the suite. Three need SCTP sockets, and run where the kernel has them.
#
#   FOCUS=...    the specs that run, a regular expression; NetworkPolicy by default
#   KUBE_KEEP=DIR keeps every log, and the suite's own report
export KUBE_CONTROLLERS=1

# Runs this test again beside a control plane, in namespaces that end with it; the pods' cgroups do not.
if [ -z "${KUBE_CONFIGS:-}" ] && [ "$(id -u)" -eq 0 ]; then
	export NET=bh$$
	remove_cgroups() {
		local i
		for ((i = 0; i < 50; i++)); do
			find /sys/fs/cgroup/*/"$NET"-worker-* -depth -type d -exec rmdir {} + && break
			sleep 0.1
		done
	} 2>/dev/null
	trap remove_cgroups EXIT
	"$(dirname "$0")/../tools/kube" run "$0" "$@" &
	kube=$!
	trap 'kill $kube; wait $kube; exit 1' INT TERM HUP
	wait $kube
	exit
fi
# shellcheck source=selftests/lib/cluster.sh
. "$(dirname "$0")/lib/cluster.sh"
# shellcheck source=selftests/lib/rollout.sh
. "$(dirname "$0")/lib/rollout.sh"
# shellcheck source=selftests/lib/worker.sh
. "$(dirname "$0")/lib/worker.sh"

FOCUS=${FOCUS:-NetworkPolicy}
SKIP='no spec has this name'
[ -e /proc/net/sctp ] || SKIP=Feature:SCTPConnectivity

end() {
	worker_end
	[ -z "${KUBE_KEEP:-}" ] || cp "$NET_TMP"/report/*.xml "$KUBE_KEEP/"
	cluster_cleanup
} 2>/dev/null

# Prints a row for each spec that ran: ok or "not ok", and its name.
rows() {
	sed 's/<testcase /\n&/g' "$NET_TMP"/report/junit*.xml | awk '
		function told() {
			if (name != "" && !skipped) print (failed ? "not ok" : "ok") "\t" name
		}
		/^<testcase / {
			told()
			match($0, /name="[^"]*"/)
			name = substr($0, RSTART + 6, RLENGTH - 7)
			gsub(/&#39;/, "\047", name)
			failed = skipped = 0
		}
		/<skipped/ { skipped = 1 }
		/<failure/ { failed = 1 }
		END { told() }'
}

# The suite waits for most of its time: four parts of its specs run at a time, told apart by their names.
run_part() { # NUMBER FOCUS SKIP
	e2e.test --kubeconfig="$KUBECONFIG" --provider=skeleton --ginkgo.noColor --ginkgo.focus="$2" \
		--ginkgo.skip="$3" --delete-namespace=true --report-dir="$NET_TMP/report" --report-prefix="$1-" \
		</dev/null >"$NET_TMP/suite-$1.log" 2>&1
}
run_suite() {
	local pids=()
	run_part 1 "$FOCUS.*should enforce policy" "$SKIP" &
	pids+=($!)
	run_part 2 "$FOCUS.*should enforce" "$SKIP|should enforce policy" &
	pids+=($!)
	run_part 3 "$FOCUS.*should allow" "$SKIP" &
	pids+=($!)
	run_part 4 "$FOCUS" "$SKIP|should enforce|should allow" &
	pids+=($!)
	wait "${pids[@]}"
}
is_ended() { # NUMBER
	grep -qE '^Ran [0-9]+ of' "$NET_TMP/suite-$1.log"
}

[ "$(id -u)" -eq 0 ] || net_skip "needs root"
trap end EXIT
trap 'exit 1' INT TERM HUP
mkdir -p "$NET_TMP/report"
cluster_network
net_check "resources and rights" worker_rights
rollout_engine one
rollout_engine two
net_check "images of one layer are made" worker_images
for node in $CLUSTER_NODES; do
	net_check "$node: containerd, plugin, follower and kubelet; the node is ready" worker_start "$node"
done
net_check "both nodes have the policy" rollout_await 120 rollout_is_settled 2
[ $NET_FAILED -eq 0 ] || { tail -n 20 "$NET_TMP"/*.log | cut -c 1-300 | sed 's/^/# /'; exit 1; }
run_suite
while IFS=$'\t' read -r result name; do
	net_result "$result" "$name"
done < <(rows)
for number in 1 2 3 4; do
	net_check "part $number of the suite ends by itself" is_ended $number
done
net_check "specs ran" test "$(rows | wc -l)" -ge 1
[ $NET_FAILED -eq 0 ] || grep -h -A 12 '^• Failure' "$NET_TMP"/suite-*.log | cut -c 1-300 | sed 's/^/# /'
net_end
