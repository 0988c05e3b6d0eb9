#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Workloads stand for their pods in trace, matrix, diff, graph and lint, so that a repository's manifests can be
# checked before anything runs; load and compile leave them out.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

template() { # LABEL [LINE]
	printf '{metadata: {labels: {app: %s}}, spec: {containers: [{name: c, image: i%s}]}}' "$1" "${2:-}"
}
object() { # APIVERSION KIND NAME SPEC [METADATA]
	printf '%s\n' "---" "apiVersion: $1" "kind: $2" "metadata: {name: $3, namespace: shop${5:-}}" "spec: $4"
}
policy() { # WHO: whom db lets in
	object networking.k8s.io/v1 NetworkPolicy db "{podSelector: {matchLabels: {app: db}}, ingress: [{
  from: [{podSelector: {matchLabels: {app: $1}}}], ports: [{port: pg}]}]}"
}
{
	object apps/v1 Deployment web "{template: $(template web)}"
	object apps/v1 StatefulSet db "{template: $(template db ', ports: [{name: pg, containerPort: 5432}]')}"
	object apps/v1 DaemonSet agent "{template: $(template agent)}"
	object apps/v1 ReplicaSet rs "{template: $(template rs)}"
	object apps/v1 ReplicaSet web-5f "{template: $(template web)}" ", ownerReferences: [{kind: Deployment, name: web}]"
	object v1 ReplicationController rc "{template: $(template rc)}"
	object batch/v1 Job web "{template: $(template job)}"
	object batch/v1 CronJob backup "{jobTemplate: {spec: {template: $(template backup)}}}"
	object v1 Pod debug "{containers: [{name: c, image: i}]}" ", labels: {app: debug}"
	object apps/v1 DaemonSet host "{template: {spec: {hostNetwork: true}}}"
} >"$tmp/workloads.yaml"
{ cat "$tmp/workloads.yaml" && policy web; } >"$tmp/old.yaml"
{ cat "$tmp/workloads.yaml" && policy backup; } >"$tmp/new.yaml"

says() { # STATUS PATTERN ARGUMENT...
	run_bulkhead "${@:3}"
	is $? "$1" && grep -E -- "$2" "$tmp/out" "$tmp/err" || { cat "$tmp/out" "$tmp/err" && false; }
}
names() { # the ends that matrix has
	"$BULKHEAD" matrix --pods --port TCP/1 "$@" | sed -n 's/^ *[0-9]* \(shop\/[a-z0-9.-]*\) .*/\1/p' | sort | tr '\n' ' '
}
flow=(--to shop/db --port TCP/5432)
check "each workload is an endpoint" is "$(names "$tmp/old.yaml")" \
	"shop/agent shop/backup shop/db shop/debug shop/rc shop/rs shop/web shop/web.job "
check "a Deployment's pods reach the StatefulSet's named port" says 0 '^allow shop/web .* -> shop/db' \
	trace --from shop/web "${flow[@]}" "$tmp/old.yaml"
check "a CronJob's pods do not" says 1 '^deny shop/backup .* -> shop/db' trace --from shop/backup "${flow[@]}" "$tmp/old.yaml"
check "a Job of a Deployment's name has its kind behind its name" says 1 '^deny shop/web.job .* -> shop/db' \
	trace --from shop/web.job "${flow[@]}" "$tmp/old.yaml"
check "diff says what a branch opens" says 1 '^shop/backup -> shop/db$' diff "$tmp/old.yaml" "$tmp/new.yaml"
check "diff says what a branch closes" grep -qx '  loses TCP/5432' "$tmp/out"
check "diff of equal manifests prints nothing" is "$("$BULKHEAD" diff "$tmp/old.yaml" "$tmp/old.yaml")" ""
check "a workload's place in the input changes nothing" is "$("$BULKHEAD" diff "$tmp/old.yaml" <(policy web
	cat "$tmp/workloads.yaml") 2>&1)" ""
check "graph draws the workloads" says 0 'label="endpoints\(app=db in shop\)\\nshop/db' graph "$tmp/old.yaml"
check "lint knows the workloads' labels" is "$("$BULKHEAD" lint "$tmp/old.yaml")" ""
check "lint reports labels that no workload has" says 1 '\[no-peer\]$' lint <(cat "$tmp/workloads.yaml" && policy wbe)
check "kustomize's and helm's output comes by a pipe" is "$(names - <"$tmp/old.yaml")" "$(names "$tmp/old.yaml")"

# The examples of OPERATING.md for a pull request, on a repository whose branch `more` lets another workload in.
if command -v git >/dev/null; then
	mkdir "$tmp/path" && ln -s "$BULKHEAD" "$tmp/path/bulkhead"
	commit() { # FILE: as the repository's deploy/policy.yaml
		cp "$1" "$tmp/repo/deploy/policy.yaml"
		git -C "$tmp/repo" add deploy && git -C "$tmp/repo" -c user.name=n -c user.email=e commit -qm "Policy"
	}
	git init -q -b main "$tmp/repo" && mkdir "$tmp/repo/deploy" && commit "$tmp/old.yaml"
	git -C "$tmp/repo" checkout -q -b more && commit "$tmp/new.yaml"
	script() { # BRANCH: the lines of GitLab's example, as its runner does
		mkdir "$tmp/$1" && git clone -q -b "$1" "$tmp/repo" "$tmp/$1/branch" &&
			sed -n '/^# .gitlab-ci.yml/,/^```/{/^  script:/,/^```/s/^  - //p}' "$top/OPERATING.md" |
			env -C "$tmp/$1/branch" PATH="$tmp/path:$PATH" CI_MERGE_REQUEST_TARGET_BRANCH_NAME=main bash -e >"$tmp/out" 2>"$tmp/err"
	}
	script more
	check_run $? "GitLab's example ends with 0 for a branch that opens, which is to be read"
	check "GitLab's example prints what the branch opens" grep -qx 'shop/backup -> shop/db' "$tmp/out"
	script main
	check_run $? "GitLab's example ends with 0 for a branch that changes nothing"
	git -C "$tmp/repo" checkout -q -b broken && commit <(sed 's/podSelector/podSelectr/' "$tmp/old.yaml")
	script broken
	check_run $(($? == 0)) "GitLab's example fails for a branch that cannot be read"
	actions() { # the last two lines of GitHub's example
		sed -nE '/^# .github/,/^```/s/^    - run: (bulkhead .*)/\1/p' "$top/OPERATING.md" |
			env -C "$tmp/checkouts" PATH="$tmp/path:$PATH" GITHUB_STEP_SUMMARY="$tmp/summary" bash -e >"$tmp/out" 2>"$tmp/err"
	}
	mkdir "$tmp/checkouts" && cp -r "$tmp/main/branch" "$tmp/checkouts/main" && cp -r "$tmp/more/branch" "$tmp/checkouts/branch"
	actions
	check_run $? "GitHub's example ends with 0 for a branch that opens, which is to be read"
	check "GitHub's example writes what the branch opens" grep -qx 'shop/backup -> shop/db' "$tmp/summary"
	rm -r "$tmp/checkouts/branch" && cp -r "$tmp/checkouts/main" "$tmp/checkouts/branch"
	actions
	check_run $? "GitHub's example ends with 0 for a branch that changes nothing"
else
	check_skip "the examples for a pull request" "git is not installed"
fi

# Pods that run stand for themselves.
printf '%s\n' "---" "apiVersion: v1" "kind: Pod" "metadata: {name: web-1, namespace: shop, labels: {app: web, x: y}}" \
	"spec: {}" "status: {podIP: 10.0.0.1}" >>"$tmp/old.yaml"
check "a pod that runs takes its workload's place" is "$(names "$tmp/old.yaml")" \
	"shop/agent shop/backup shop/db shop/debug shop/rc shop/rs shop/web shop/web-1 "
check "compile leaves workloads out" says 0 ': generation 1, 1 endpoints' compile -o "$tmp/policy.bhp" "$tmp/old.yaml"
check "compile says so" grep -q 'Deployment (apps/v1) is skipped' "$tmp/err"
check "a workload without a template is refused" says 2 'spec.template: is missing' \
	matrix --port TCP/1 <(object apps/v1 Deployment web '{}')
check_end
