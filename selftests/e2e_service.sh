#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Upstream's own specs on two clusters at a time: one with Bulkhead and one without. Services, their
# backends, EndpointSlices, pods and nodes that call one another, conntrack and DNS: no spec may end otherwise
# with Bulkhead. On the cluster without, the NetworkPolicy specs of a short list run, too: those that assert a
# denial fail there and those that allow all pass, which shows that e2e_network_policy.sh can fail.
#
# Left out is what needs a cloud's load balancer, SCTP sockets or a rule for SCTP, the images
# regression-issue-74839 and debian-iptables, or control-plane pods that can be killed; and of DNS what needs
# SRV or CNAME records or CoreDNS as a pod: Debian 12 has no CoreDNS, and its dnsmasq stands in.
# Upstream's own code skips pod-Service(hostNetwork) by UDP.
#
#   FOCUS=... SKIP=...   other specs, regular expressions
#   KUBE_KEEP=DIR        keeps the logs and reports of both, in DIR/yes and DIR/no

# shellcheck source=selftests/lib/e2e.sh
. "$(dirname "$0")/lib/e2e.sh"
AREAS="Services|EndpointSlice|EndpointSliceMirroring|Networking Granular Checks:|Conntrack|DNS|Proxy|SCTP"
FOCUS=${FOCUS:-"\[sig-network\] ($AREAS)"}
SKIP=${SKIP:-'\[Slow\]|\[Serial\]|\[Disruptive\]|Provider:|Feature:PerformanceDNS|LoadBalancer|DNS for (ExternalName|services)|DNS should resolve DNS of partial qualified names for services|configurable pod resolv.conf|configMap|to ExternalName|pod-Service.hostNetwork.: udp|Pod with SCTP|SCTP ports|SCTPConnectivity|max.* number of services'}
DENIALS="default-deny-ingress|default-deny-all|server and client should enforce policy based on Ports|allow egress access to server in CIDR|deny ingress access to updated pod|stop enforcing policies"
ALLOWANCES="NetworkPolicy.*(support allow-all policy|NetworkPolicy API operations)"

# One of both clusters: leaves how each spec ended in E2E_OUT.
inside() {
	e2e_begin
	e2e_cluster
	net_check "a cluster DNS" e2e_dns
	{
		e2e_specs "$FOCUS" "$SKIP"
		[ "$WORKER_BULKHEAD" = yes ] || e2e_specs "NetworkPolicy.*($DENIALS)|$ALLOWANCES"
	} | e2e_run 6
	e2e_results >"$E2E_OUT"
	grep -h -A 12 '^• Failure' "$NET_TMP"/suite-*.log | cut -c 1-300
	net_end
}
if [ -n "${KUBE_CONFIGS:-}" ]; then
	inside
	exit 1
fi

# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
[ "$(id -u)" -eq 0 ] || net_skip "needs root"
CLUSTERS=()
ends() {
	[ ${#CLUSTERS[@]} -eq 0 ] || { kill "${CLUSTERS[@]}" && wait "${CLUSTERS[@]}"; }
	rm -rf "$NET_TMP"
} 2>/dev/null
trap ends EXIT
trap 'exit 1' INT TERM HUP

cluster() { # yes|no
	(
		export NET=bh$$-$1 WORKER_BULKHEAD=$1 E2E_OUT=$NET_TMP/$1.results KUBE_KEEP=${KUBE_KEEP:+$KUBE_KEEP/$1}
		e2e_beside
	) >"$NET_TMP/$1.said" 2>&1 &
	CLUSTERS+=($!)
}
told() { # yes|no: what this cluster's test said, and its failures
	sed 's/^/# /' "$NET_TMP/$1.said"
	false
}
# Prints how a spec ended on one of both.
ended() { # yes|no NAME
	awk -F '\t' -v name="$2" '$1 == name { print $2 }' "$NET_TMP/$1.results"
}
expect() { # RESULT REGEXP
	local name
	while read -r name; do
		net_check "without Bulkhead '$1': $name" net_is "$(ended no "$name")" "$1"
	done < <(cut -f 1 "$NET_TMP/no.results" | grep -E "$2")
}

cluster yes
cluster no
for number in 0 1; do
	net_check "cluster $((number + 1)) comes up" wait "${CLUSTERS[$number]}"
done
CLUSTERS=()
[ -s "$NET_TMP/yes.results" ] && [ -s "$NET_TMP/no.results" ] || { told yes; told no; exit 1; }
while IFS=$'\t' read -r name result; do
	without=$(ended no "$name")
	if [ "$result$without" = okok ]; then
		net_result ok "$name"
	elif [ "$result" = "$without" ]; then
		net_result ok "$name # SKIP '$result' without Bulkhead, too"
	else
		net_result "not ok" "$name: '$result', without Bulkhead '$without'"
	fi
done <"$NET_TMP/yes.results"
expect "not ok" "NetworkPolicy.*($DENIALS)"
expect ok "$ALLOWANCES"
net_check "specs passed on both" grep -q $'\tok$' "$NET_TMP/yes.results"
[ $NET_FAILED -eq 0 ] || { told yes; told no; }
net_end
