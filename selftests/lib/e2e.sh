# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Specs of upstream's own end-to-end tests, unchanged, on a cluster of two workers: lib/worker.sh's, with
# scheduler, controllers, kubelets, kube-proxies and containerd. Sourced by the tests of make check-e2e.
#
#   e2e_cluster          starts both workers and, but for WORKER_BULKHEAD=no, Bulkhead
#   e2e_dns              gives it a cluster DNS
#   e2e_specs FOCUS SKIP prints the names of the specs that FOCUS matches and SKIP does not
#   e2e_run PARTS        runs the specs that standard input names, so many at a time
#   e2e_rows             prints a result for each of these; one that did not run has failed
#   e2e_results          prints the name of each of these, a tab, and "ok", "not ok" or "not run"
#
# A test that has no control plane calls e2e_beside, which runs the test again beside one; there it calls
# e2e_begin first. KUBE_KEEP=DIR keeps every log, and the suite's own reports.
export KUBE_CONTROLLERS=1

# The namespaces end with the control plane; the pods' cgroups do not.
e2e_remove_cgroups() { # NET
	local i
	for ((i = 0; i < 50; i++)); do
		find /sys/fs/cgroup/*/"$1"-worker-* -depth -type d -exec rmdir {} + && break
		sleep 0.1
	done
} 2>/dev/null

if [ -n "${KUBE_CONFIGS:-}" ]; then
	# shellcheck source=selftests/lib/cluster.sh
	. "${BASH_SOURCE[0]%/*}/cluster.sh"
	# shellcheck source=selftests/lib/rollout.sh
	. "${BASH_SOURCE[0]%/*}/rollout.sh"
	# shellcheck source=selftests/lib/worker.sh
	. "${BASH_SOURCE[0]%/*}/worker.sh"
fi

e2e_begin() {
	trap e2e_end EXIT
	trap 'exit 1' INT TERM HUP
	mkdir "$NET_TMP/report"
}
e2e_end() {
	worker_end
	[ -z "${KUBE_KEEP:-}" ] || { mkdir -p "$KUBE_KEEP" && cp "$NET_TMP"/report/*.xml "$KUBE_KEEP/"; }
	cluster_cleanup
} 2>/dev/null

# Runs this test again beside a control plane of its own, and exits as it does.
e2e_beside() { # ARGUMENT...
	local kube
	[ -z "${KUBE_CONFIGS:-}" ] || { echo "Bail out! a control plane beside a control plane" && exit 1; }
	[ "$(id -u)" -eq 0 ] || { echo "1..0 # SKIP needs root" && exit 4; }
	export NET=${NET:-bh$$}
	trap 'e2e_remove_cgroups $NET' EXIT
	"${BASH_SOURCE[0]%/*}/../../tools/kube" run "$0" "$@" &
	kube=$!
	# shellcheck disable=SC2064 # the process of now
	trap "kill $kube; wait $kube; exit 1" INT TERM HUP
	wait $kube
	exit
}

e2e_cluster() {
	local node
	cluster_network
	if [ "${WORKER_BULKHEAD:-yes}" = yes ]; then
		net_check "resources and rights" worker_rights
		rollout_engine one
		rollout_engine two
	fi
	net_check "images of one layer are made" worker_images
	for node in $CLUSTER_NODES; do
		net_check "$node: containerd, kubelet and kube-proxy; the node is ready" worker_start "$node"
	done
	net_check "a server that stands for the Internet" e2e_internet
	[ "${WORKER_BULKHEAD:-yes}" = no ] ||
		net_check "both nodes have the policy" rollout_await 120 rollout_is_settled 2
	[ $NET_FAILED -eq 0 ] || { tail -n 20 "$NET_TMP"/*.log | cut -c 1-300 | sed 's/^/# /'; exit 1; }
}

# A cluster DNS: Debian's dnsmasq with the addresses of Services and pods, since CoreDNS is not in Debian.
e2e_dns() {
	mkdir "$NET_TMP/names" && kubectl apply -f - <<-END || return
	apiVersion: v1
	kind: Service
	metadata: {name: kube-dns, namespace: kube-system}
	spec:
	  clusterIP: 10.96.0.10
	  ports: [{name: dns, protocol: UDP, port: 53}, {name: dns-tcp, protocol: TCP, port: 53}]
	---
	apiVersion: v1
	kind: Endpoints
	metadata: {name: kube-dns, namespace: kube-system}
	subsets:
	- addresses: [{ip: 192.168.7.10}]
	  ports: [{name: dns, protocol: UDP, port: 53}, {name: dns-tcp, protocol: TCP, port: 53}]
	END
	dnsmasq --keep-in-foreground --conf-file=/dev/null --user=root --pid-file= --no-resolv --no-hosts \
		--listen-address=192.168.7.10 --bind-interfaces --hostsdir="$NET_TMP/names" \
		--local=/cluster.local/ --log-facility=- </dev/null >"$NET_TMP/dnsmasq.log" 2>&1 &
	NET_SERVERS+=($!)
	e2e_names services NAME:.metadata.name,IP:.spec.clusterIP e2e_service_name &
	NET_SERVERS+=($!)
	e2e_names pods NAME:.metadata.name,IP:.status.podIP,HOST:.spec.hostname,SUB:.spec.subdomain e2e_pod_name &
	NET_SERVERS+=($!)
	rollout_await 20 e2e_resolves kubernetes.default.svc.cluster.local 10.96.0.1
}
e2e_resolves() { # NAME ADDRESS
	[ "$(dig +short +tries=1 +time=1 @192.168.7.10 "$1")" = "$2" ]
}
# dnsmasq reads each file as it comes.
e2e_names() { # KIND COLUMNS FUNCTION
	local namespace name rest
	kubectl get "$1" -A --watch --no-headers -o "custom-columns=NAMESPACE:.metadata.namespace,$2" |
		while read -r namespace name rest; do
			# shellcheck disable=SC2086 # the other columns
			"$3" "$namespace" "$name" $rest >"$NET_TMP/name.$1" &&
				mv "$NET_TMP/name.$1" "$NET_TMP/names/$namespace.$name.$1"
		done
}
e2e_service_name() { # NAMESPACE NAME ADDRESS
	[[ $3 =~ ^[0-9] ]] && echo "$3 $2.$1.svc.cluster.local"
}
e2e_pod_name() { # NAMESPACE NAME ADDRESS HOST SUBDOMAIN
	[[ $3 =~ ^[0-9] ]] || return
	echo "$3 ${3//./-}.$1.pod.cluster.local"
	[ "$5" = "<none>" ] || echo "$3 $4.$5.$1.svc.cluster.local $5.$1.svc.cluster.local"
}

e2e_specs() { # FOCUS SKIP
	e2e.test --provider=skeleton --ginkgo.dryRun --ginkgo.noColor --ginkgo.v --ginkgo.focus="$1" \
		--ginkgo.skip="${2:-no spec has this name}" </dev/null 2>/dev/null |
		sed -n 's/.*{"msg":"PASSED \(.*\)","total":.*/\1/p' | sort
}

# Some specs begin only if google.com answers this process, and never call it again: a local server does.
e2e_internet() {
	agnhost netexec --http-port=8099 --udp-port=8099 </dev/null >"$NET_TMP/internet.log" 2>&1 &
	NET_SERVERS+=($!)
	rollout_await 20 curl -sf -o /dev/null http://127.0.0.1:8099/
}

# The specs wait for most of their time, each in namespaces of its own.
e2e_run() { # PARTS
	local names part pids=() focus
	sort >"$NET_TMP/specs"
	mapfile -t names <"$NET_TMP/specs"
	for ((part = 0; part < $1 && part < ${#names[@]}; part++)); do
		focus=$(printf '%s\n' "${names[@]}" | awk -v parts="$1" -v part=$part 'NR % parts == (part + 1) % parts' |
			sed 's/[][(){}.*+?^$|\\]/\\&/g' | paste -sd'|')
		http_proxy=http://127.0.0.1:8099 e2e.test --kubeconfig="$KUBECONFIG" --provider=skeleton --ginkgo.noColor --ginkgo.focus="($focus)\$" \
			--delete-namespace=true --report-dir="$NET_TMP/report" --report-prefix="$part-" \
			</dev/null >"$NET_TMP/suite-$part.log" 2>&1 &
		pids+=($!)
	done
	wait "${pids[@]}"
}

# A line for each spec that e2e_run was given.
e2e_results() {
	sed 's/<testcase /\n&/g' "$NET_TMP"/report/*junit*.xml | awk '
		function told() {
			if (name != "" && !skipped) print name "\t" (failed ? "not ok" : "ok")
		}
		/^<testcase / {
			told()
			match($0, /name="[^"]*"/)
			name = substr($0, RSTART + 6, RLENGTH - 7)
			gsub(/&#39;/, "\047", name)
			gsub(/&lt;/, "<", name)
			gsub(/&gt;/, ">", name)
			gsub(/&amp;/, "\\&", name)
			failed = skipped = 0
		}
		/<skipped/ { skipped = 1 }
		/<failure/ { failed = 1 }
		END { told() }' | sort >"$NET_TMP/results"
	join -t $'\t' -a 1 -e "not run" -o 0,2.2 "$NET_TMP/specs" "$NET_TMP/results"
}

e2e_rows() {
	local name result
	while IFS=$'\t' read -r name result; do
		[ "$result" != "not run" ] || result="not ok"
		net_result "$result" "$name"
	done < <(e2e_results)
	net_check "specs ran" test -s "$NET_TMP/results"
	[ $NET_FAILED -eq 0 ] || grep -h -A 12 '^• Failure' "$NET_TMP"/suite-*.log | cut -c 1-300 | sed 's/^/# /'
}
