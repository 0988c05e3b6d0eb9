#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The conformance report has each case of each suite once, with its result, and names what was not run; the script for
# upstream's suite of network-policy-api runs it with the right options, and only if all is there that it needs.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"
conformance=$top/tools/conformance suite=$top/tools/policy-api-suite
version=$(cat "$top/VERSION")

mkdir "$tmp/run"
cat >"$tmp/run/upstream.ktap" <<'END'
# Subtest: e2e_network_policy.sh
    ok 1 - worker-1: containerd, kubelet and kube-proxy; the node is ready
    ok 2 - [sig-network] NetworkPolicy should support a "default-deny" policy [Feature:NetworkPolicy]
    ok 3 - [sig-network] NetworkPolicy should enforce by ports [Feature:NetworkPolicy]
ok 1 - e2e_network_policy.sh
END
cat >"$tmp/run/generated.ktap" <<'END'
    ok 1 - the cases are written
    ok 2 - peer/ingress/ns-all+pods-a: the policy is there
    ok 3 - port/egress/sctp: the policy is there # SKIP no SCTP sockets
END
cat >"$tmp/run/cyclonus.xml" <<'END'
<testsuite><testcase name="1: deny all" time="0"></testcase><testcase name="2: allow"><failure message="x"/></testcase></testsuite>
END
report=$tmp/run/report.yaml
write() { # STATUS
	"$conformance" --report "$tmp/run"
	is $? "$1"
}
rows() { # how many lines of the report have this text
	grep -cF -- "$1" "$report"
}
check "a report with a case that failed ends with 1" write 1
check "the report has the version" is "$(rows "version: \"$version\", commit:")" 1
check "cases of upstream are rows, and what prepares the cluster is none" is "$(rows 'case: "[sig-network]')" 2
check "quotes in a case's name are escaped" grep -qF 'should support a \"default-deny\" policy' "$report"
check "a case that was not run is no success" grep -qxF \
	'  - {result: not run, case: "port/egress/sctp: the policy is there"}' "$report"
check "Cyclonus' failure is a failure" grep -qxF '  - {result: failed, case: "2: allow"}' "$report"
check "each case is there once" is "$(rows '{result: ')" 6
check "the report names the features that are not supported" eval '[ "$(sed "1,/^notSupported/d" "$report" | grep -c "^- ")" -ge 3 ]'
rm "$tmp/run/cyclonus.xml"
check "without failures the report ends with 0" write 0
check "a suite that was not run is named with its reason" grep -q 'notRun: "CYCLONUS names no command' "$report"
echo '    not ok 1 - worker-1: the node is ready' >"$tmp/run/upstream.ktap"
check "a cluster that was not ready is a failure" write 1
echo 'killed' >"$tmp/run/upstream.ktap"
check "a suite that stopped before its first case is a failure" write 1
check "an unknown suite is refused" eval 'SUITES=none "$conformance" "$tmp/none" 2>&1 | grep -q "SUITES: none: is none of"'

# Upstream's suite: a checkout, kubectl and go that stand for the real ones.
checkout=$tmp/checkout
mkdir -p "$checkout/conformance/base" "$tmp/bin"
touch "$checkout/conformance/conformance_profile_test.go"
echo '          image: registry.k8s.io/e2e-test-images/agnhost:2.43' >"$checkout/conformance/base/manifests.yaml"
cat >"$tmp/bin/kubectl" <<'END'
#!/bin/sh
case "$*" in
"get nodes"*) printf 'a Ready\nb %s\n' "${SECOND_NODE:-Ready}" ;;
"get crd"*) printf '%s' "${BUNDLE:-v0.2.0}" ;;
"wait "*) exit "${ROLLED_OUT:-0}" ;;
"auth can-i"*) [ "$4" != "${DENIED:-}" ] ;;
esac
END
cat >"$tmp/bin/go" <<'END'
#!/bin/sh
[ "$1 $2" != "env GOVERSION" ] || { echo "${GO:-go1.25.3}" && exit; }
for word; do
	case $word in --report-output=*) echo "kind: ConformanceReport" >"${word#*=}" ;; esac
done
pwd
echo "$@"
END
chmod +x "$tmp/bin/kubectl" "$tmp/bin/go"
policy_suite() { # STATUS TEXT VARIABLE=VALUE... -- ARGUMENT...
	local status=$1 text=$2 settings=()
	shift 2
	while [ "$1" != -- ]; do settings+=("$1") && shift; done
	shift
	env PATH="$tmp/bin:$PATH" "${settings[@]}" "$suite" "$@" >"$tmp/suite" 2>&1
	is "$?" "$status" && grep -qF -- "$text" "$tmp/suite" || { cat "$tmp/suite" && false; }
}
check "--check says what is there" policy_suite 0 "ok: two nodes that are ready" -- --check "$checkout"
check "the images that the nodes pull are named" grep -qxF "  registry.k8s.io/e2e-test-images/agnhost:2.43" "$tmp/suite"
check "the features to declare are named" grep -qxF \
	"features to declare: ClusterNetworkPolicyNamedPorts,ClusterNetworkPolicyEgressNodePeers" "$tmp/suite"
check "an old Go" policy_suite 2 "missing: Go 1.25" GO=go1.19.8 -- --check "$checkout"
check "one node" policy_suite 2 "missing: two nodes" SECOND_NODE=NotReady -- --check "$checkout"
check "resources of another release" policy_suite 2 "missing: ClusterNetworkPolicy of v0.2.0" BUNDLE=v0.1.2 -- --check "$checkout"
check "no right to run commands in pods" policy_suite 2 "missing: rights" DENIED=pods/exec -- --check "$checkout"
check "a policy that some node lacks" policy_suite 2 "missing: Bulkhead's policy" ROLLED_OUT=1 -- --check "$checkout"
check "no checkout" policy_suite 2 "git clone --branch v0.2.0" -- --check "$tmp/nowhere"
check "a missing part stops the suite" policy_suite 2 "cannot run" GO=go1.19.8 -- "$checkout" "$tmp/out.yaml" \
	url=https://example.com contact=https://example.com/issues
check "no report is left" test ! -e "$tmp/out.yaml"
check "upstream's report must name a contact" policy_suite 2 "contact= is missing" -- "$checkout" "$tmp/out.yaml" url=https://example.com
check "the suite runs" policy_suite 0 "$tmp/out.yaml" -- "$checkout" "$tmp/out.yaml" \
	url=https://example.com contact=https://example.com/issues
for word in "./conformance -run TestConformanceProfiles" --conformance-profiles=ClusterNetworkPolicy --project=bulkhead \
	--supported-features=ClusterNetworkPolicyNamedPorts,ClusterNetworkPolicyEgressNodePeers "--version=v$version" \
	--contact=https://example.com/issues; do
	check "the suite has the option $word" grep -qF -- "$word" "$tmp/suite"
done
check "the suite runs in the checkout" grep -qxF "$checkout" "$tmp/suite"
check "a setting that does not exist is refused" policy_suite 2 "nothing=1: is none of" -- --check "$checkout" nothing=1
check_end
