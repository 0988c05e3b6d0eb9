#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The Helm chart, rendered by Go's text/template and sprig as Helm does it, has the objects of tools/deploy and no
# others; each value changes what it says and nothing else; equal trees give equal bytes.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

version=$(cat "$top/VERSION")
deploy=$top/tools/deploy
go=$(PATH=$PATH:/usr/lib/go-1.19/bin command -v go) && [ -d /usr/share/gocode/src/github.com/Masterminds/sprig ] || {
	echo "1..0 # SKIP needs golang-1.19-go and golang-github-masterminds-sprig-dev"
	exit 4
}
check "build the renderer" env GO111MODULE=off GOPATH=/usr/share/gocode GOCACHE="$tmp/cache" GOFLAGS=-p=1 \
	"$go" build -o "$tmp/chart" "$top/selftests/lib/chart/main.go"
check "make the chart" "$top/tools/chart" "$tmp/out"
rendered() { # KUBE-VERSION PATH=YAML...: the objects
	"$tmp/chart" render "$tmp/out/bulkhead" "$@" >"$tmp/rendered" && "$tmp/chart" objects <"$tmp/rendered"
}
# The manifests as kustomize has them, with the image's version.
manifests() { # FILE...
	local file
	for file; do
		echo "---"
		sed "s|image: bulkhead$|image: bulkhead:$version|" "$deploy/$file"
	done | "$tmp/chart" objects
}
base=(base/crds.yaml base/rbac.yaml base/engine.yaml base/follower.yaml)
same() { # FILE FILE
	diff "$1" "$2" && [ "$(wc -l <"$1")" -ge 15 ]
}
manifests "${base[@]}" node-admission.yaml >"$tmp/new"
manifests "${base[@]}" older/any-node.yaml >"$tmp/old"
rendered v1.31.2 >"$tmp/chart.new"
rendered v1.29.9+k3s1 >"$tmp/chart.old"
check "for Kubernetes 1.31 the chart has the objects of tools/deploy" same "$tmp/new" "$tmp/chart.new"
check "for Kubernetes 1.29 the chart has the objects of tools/deploy/older" same "$tmp/old" "$tmp/chart.old"
if command -v kubectl >/dev/null && kubectl kustomize "$deploy" >"$tmp/kustomized" 2>/dev/null; then
	"$tmp/chart" objects <"$tmp/kustomized" >"$tmp/kustomize.new"
	kubectl kustomize "$deploy/older" 2>/dev/null | "$tmp/chart" objects >"$tmp/kustomize.old"
	check "kubectl kustomize tools/deploy has the chart's objects" same "$tmp/kustomize.new" "$tmp/chart.new"
	check "kubectl kustomize tools/deploy/older has the chart's objects" same "$tmp/kustomize.old" "$tmp/chart.old"
else
	check_skip "kubectl kustomize has the chart's objects" "kubectl is not installed"
fi
changes() { # TEXT COUNT PATH=YAML...: so many lines of the rendering differ, and have this text
	local text=$1 count=$2
	shift 2
	cp "$tmp/rendered.default" "$tmp/before"
	"$tmp/chart" render "$tmp/out/bulkhead" v1.31.2 "$@" >"$tmp/after" || return
	"$tmp/chart" objects <"$tmp/after" >/dev/null || return
	diff "$tmp/before" "$tmp/after" | sed -n 's/^> //p' >"$tmp/differs"
	is "$(grep -cF -- "$text" "$tmp/differs")" "$count" && is "$(wc -l <"$tmp/differs")" "$count" ||
		{ cat "$tmp/differs" && false; }
}
"$tmp/chart" render "$tmp/out/bulkhead" v1.31.2 >"$tmp/rendered.default"
digest=sha256:$(printf '%064d' 7)
check "uplinks are options of the follower" changes '--uplink, "eth0", --uplink, "bond0"]' 1 'uplinks=[eth0, bond0]'
check "resolvers are options of the follower" changes '--resolver, "10.96.0.10", --resolver, "fd96::a"]' 1 \
	'resolvers=["10.96.0.10", "fd96::a"]'
accepted() { # the follower takes the rendered arguments: it stops at the kubeconfig, which comes after them
	local arguments
	mapfile -t arguments < <(sed -n 's/.*args: \[follow, //p' "$tmp/after" | sed 's/\] *$//; s/, /\n/g' |
		sed 's/^"\(.*\)"$/\1/; s/\$(NODE)/n1/')
	"$BULKHEAD" follow "${arguments[@]}" --kubeconfig "$tmp/none" >"$tmp/said" 2>&1
	is $? 2 && grep -q "$tmp/none" "$tmp/said" || { cat "$tmp/said" && false; }
}
check "the follower takes the arguments of uplinks and resolvers" eval 'changes "--uplink" 1 "uplinks=[eth0]" \
	"resolvers=[\"10.96.0.10\", \"fd96::a\"]" && accepted'
check "audit is an option of the follower" changes ', --audit]' 1 audit=true
check "further arguments of the follower, which it takes" eval \
	'changes ", \"--set=connections=500000\"]" 1 "follower.args=[\"--set=connections=500000\"]" && accepted'
check "further arguments of the engine" changes ', "--node-limit", "60"]' 1 'engine.args=["--node-limit", "60"]'
check "the registry's image by its digest" changes "image: \"r.example/bulkhead@$digest\"" 4 \
	image.repository=r.example/bulkhead image.digest="$digest"
check "the registry's image by its tag" changes 'image: "bulkhead:9"' 4 'image.tag="9"'
check "resources of the engine" changes 'memory: 2Gi' 1 'engine.resources={limits: {memory: 2Gi}}'
check "resources of the follower" changes 'cpu: 1' 1 'follower.resources={requests: {cpu: 1}}'
check "tolerations of the follower" changes 'key: a' 1 'follower.tolerations=[{key: a}]'
check "tolerations of the engine" changes '[]' 1 'engine.tolerations=[]'
check "the number of engines" changes 'replicas: 3' 1 engine.replicas=3
monitoring() { # the objects that the value brings
	rendered v1.31.2 monitoring=true >"$tmp/chart.all" &&
		manifests monitoring/{services,monitors,rules}.yaml >"$tmp/monitoring" &&
		diff <(sort "$tmp/chart.new" "$tmp/monitoring") <(sort "$tmp/chart.all")
}
check "monitoring brings tools/deploy/monitoring" monitoring
check "the folders of another runtime" changes 'path: /var/lib/rancher/' 2 cni.bin=/var/lib/rancher/bin \
	cni.networks=/var/lib/rancher/net.d
tools_deploy_values() { # every value of a manifest has a row above or is named here
	local path
	for path in $(grep -hoE '# values?: [A-Za-z.]+' "$deploy"/base/*.yaml | cut -d' ' -f3); do
		grep -qE "(^|[[:space:]']|\")$path=" "$0" || [ "$path" = follower.updateStrategy ] || { echo "$path" && return 1; }
	done
}
check "each value of the manifests has a row here" tools_deploy_values
check "a value that does not exist is refused" eval '! "$tmp/chart" render "$tmp/out/bulkhead" v1.31.2 nothing.here=1 2>/dev/null'
check "the chart has the version" grep -qx "version: $version" "$tmp/out/bulkhead/Chart.yaml"
check "make the chart again" "$top/tools/chart" "$tmp/again"
check "the second chart has the same bytes" cmp "$tmp/out/bulkhead-$version.tgz" "$tmp/again/bulkhead-$version.tgz"
check_end
