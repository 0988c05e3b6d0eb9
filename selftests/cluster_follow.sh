#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A cluster that changes by kubectl alone: a leading and a standby engine, and a follower on each of three
# nodes, beside a real API server. After each change the maps of all nodes agree with a fresh compile of the
# API's objects, and so do real connections. While processes are killed or stopped, denied packets stay
# denied.
CLUSTER_NODES="worker-1 worker-2 worker-3"
# shellcheck source=selftests/lib/cluster.sh
. "$(dirname "$0")/lib/cluster.sh"
# shellcheck source=selftests/lib/rollout.sh
. "$(dirname "$0")/lib/rollout.sh"

policy() { # NAME ROLE PORT: pods with the role reach db at the port
	cat <<-EOF
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: $1, namespace: shop},
	 spec: {podSelector: {matchLabels: {role: db}}, ingress: [
	  {from: [{podSelector: {matchLabels: {role: $2}}}],
	   ports: [{port: $3, protocol: TCP}, {port: $3, protocol: UDP}]}]}}
	EOF
}
apply() {
	kubectl apply -f - >/dev/null
}

# Checks whether web and job reach db at 8080 and 9090: TCP and UDP over IPv4 and IPv6 must agree.
reaches() { # NAME web8080 web9090 job8080 job9090: y or n
	local pod port i=1 said='' wait protocol address
	for pod in web job; do
		for port in 8080 9090; do
			i=$((i + 1))
			wait=$NET_WAIT_DENIED
			[ "${!i}" = n ] || wait=$NET_WAIT_ALLOWED
			for protocol in tcp udp; do
				for address in "$(net_ip db)" "$(net_ip6 db)"; do
					if net_on $pod "$NET_HELPERS/backend" ask $protocol "$address" $port "$wait" 1 |
						grep -q '^db'; then
						said+=y
					else
						said+=n
					fi
				done
			done
			said+=' '
		done
	done
	net_check "$1" net_is "$said" "$2$2$2$2 $3$3$3$3 $4$4$4$4 $5$5$5$5 "
}
settles() { # NAME web8080 web9090 job8080 job9090
	net_check "$1: all nodes have it" rollout_settles
	net_check "$1: the maps say what a fresh compile says" rollout_agrees
	reaches "$1: and connections follow" "${@:2}"
}

cluster_start
net_check "resources and rights" rollout_install
rollout_engine one
rollout_engine two
for node in $CLUSTER_NODES; do
	rollout_follower "$node"
done
rollout_record
settles "without a policy" y y y y

one_leads() {
	[ "$(rollout_metric engine_leads) $(rollout_metric engine_nodes)" = "1 6" ]
}
net_check "one engine leads, by their metrics, and both hear three nodes" rollout_await 30 one_leads
policy db web 8080 | apply
settles "a policy" y n n n
net_check "PolicyStatus has the condition that it is rolled out" kubectl wait --for=condition=RolledOut \
	--timeout=30s policystatus/global
fits() { # RESOURCE: what kubectl prints of it fits a terminal of 80 columns
	kubectl get "$1" >"$NET_TMP/table" && cat "$NET_TMP/table" && [ "$(wc -L <"$NET_TMP/table")" -le 80 ]
}
net_check "kubectl get policystatus fits 80 columns" fits policystatus
net_check "kubectl get nodepolicystatus fits 80 columns" fits nodepolicystatus
net_check "an Event says at which generation the policy is active" rollout_await 30 eval \
	'kubectl get events -n shop --field-selector involvedObject.name=db,involvedObject.kind=NetworkPolicy |
		grep -q "Active .*active at generation [0-9]* on 3 nodes"'
net_check "each node has the condition that its change succeeded" kubectl wait --for=condition=Ready \
	--timeout=30s nodepolicystatus --all
net_check "rollouts are counted" eval '[ "$(rollout_metric engine_rollouts_total)" -ge 1 ]'
{ policy db web 8080 && policy job job 9090; } | apply
settles "a second one" y n n y
# Requests for a stored policy that the API server answered.
fetches() {
	kubectl get --raw /metrics | awk '
		/^apiserver_request_total/ && /resource="policygenerations"/ && /verb="GET"/ { n += $NF } END { print n + 0 }'
}
fetched=$(fetches)
policy db web 9090 | apply
settles "the first is edited" n y n y
net_check "nodes had it from PolicyStatus alone" net_is "$(fetches)" "$fetched"
kubectl delete -n shop networkpolicy job >/dev/null
settles "the second is deleted" n y n n
net_check "the policy is distributed as a delta" rollout_is_delta
kubectl delete -n shop networkpolicy db >/dev/null
settles "no policy is left" y y y y
net_check "kubectl describe node shows the Event of the load that opened its pod" rollout_await 30 eval \
	'kubectl describe node worker-1 | grep -q "Warning  *Opened .*1 isolated no longer: shop/db (ingress)"'
net_check "no Event is on a node whose pods stay as they are" eval '! kubectl describe node worker-2 | grep -q Opened'
policy db web 9090 | apply
settles "the first comes back" n y n n
kubectl label -n shop pod job role=web --overwrite >/dev/null
settles "a pod gets another label" n y n y
kubectl label -n shop pod job role=job --overwrite >/dev/null
cat <<EOF | apply
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: db, namespace: shop},
 spec: {podSelector: {matchLabels: {role: db}}, ingress: [{from: [{namespaceSelector: {matchLabels: {tenant: a}}}]}]}}
EOF
settles "by a label that no namespace has" n n n n
kubectl label namespace shop tenant=a >/dev/null
settles "a namespace gets the label" y y y y
kubectl label namespace shop tenant- >/dev/null
settles "the namespace loses the label" n n n n

# Pods come and go faster than policies roll out, on a node without a follower.
crowd() { # COUNT
	local i
	for ((i = 0; i < $1; i++)); do
		cat <<-EOF
		---
		{apiVersion: v1, kind: Pod, metadata: {name: crowd-$i, namespace: shop, labels: {role: web, i: "$i"}},
		 spec: {nodeName: worker-9, containers: [{name: main, image: none}]}}
		EOF
	done
}
crowd 60 | apply
net_check "60 pods come and 40 go while a policy changes" eval '
	kubectl delete pod -n shop --force --grace-period=0 $(printf "crowd-%d " $(seq 0 39)) >/dev/null 2>&1 &
	policy db web 8080 | apply; wait $!'
settles "after the crowd" y n n n

# 50 pods a second come, and go two seconds later, in a crowd that asks the API server itself.
request() { # METHOD PATH [BODY]: for curl
	printf 'next\nrequest = %s\nurl = "https://192.168.7.10:6443%s"\n%s' "$1" "$2" \
		'header = "Content-Type: application/json"
header = "Authorization: Bearer secret-of-admin"
output = /dev/null
'
	printf 'cacert = "%s"\n' "$KUBE_CA"
	[ -z "${3:-}" ] || printf 'data = "%s"\n' "${3//\"/\\\"}"
}
KUBE_CA=$(sed -n 's/.*certificate-authority: \([^}]*\)}.*/\1/p' "$KUBE_CONFIGS/admin")
wave() { # NUMBER: its pods come
	local i pods=/api/v1/namespaces/shop/pods name object
	for ((i = 0; i < 50; i++)); do
		name=wave-$1-$i
		object='{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "'$name'", "labels": {"role": "web"}},'
		object+=' "spec": {"nodeName": "worker-9", "containers": [{"name": "main", "image": "none"}]},'
		object+=' "status": {"phase": "Running", "podIP": "10.245.'$1.$((i + 1))'"}}'
		request POST $pods "$object" >&3
		request PUT "$pods/$name/status" "$object" >&4
		request DELETE "$pods/$name?gracePeriodSeconds=0" >&5
	done 3>"$NET_TMP/wave-$1-come" 4>"$NET_TMP/wave-$1-run" 5>"$NET_TMP/wave-$1-go"
}
send() { # FILE
	curl -s -Z --parallel-max 10 -K <(tail -n +2 "$1")
}
waves() {
	local i
	for ((i = 1; i <= 12; i++)); do
		sleep 1 &
		[ $i -gt 10 ] || { send "$NET_TMP/wave-$i-come" && send "$NET_TMP/wave-$i-run"; }
		[ $i -le 2 ] || send "$NET_TMP/wave-$((i - 2))-go"
		[ $i != 5 ] || policy db web 9090 | apply
		wait $!
	done
}
for number in 1 2 3 4 5 6 7 8 9 10; do
	wave $number
done
before=$(kubectl get policystatus global -o jsonpath='{.spec.desiredPolicyGeneration}')
net_check "50 pods a second come and go for 10 s, and a policy changes" waves
net_check "the waves made several policies" eval '[ "$(kubectl get policystatus global -o jsonpath={.spec.desiredPolicyGeneration})" -gt $((before + 3)) ]'
net_check "no pod of these waves is left" eval '! kubectl get pods -n shop -o name | grep wave'
settles "after the waves" n y n n
policy db web 8080 | apply

# A pod that terminates is still listed when the next pod has its address.
kubectl delete -n shop pod job --wait=false >/dev/null
cluster_pod_object shop job worker-3 '"role": "web"' | sed 's/"name": "job"/"name": "next"/' >"$NET_TMP/next"
tail -n +2 "$NET_TMP/next" | kubectl apply -f - >/dev/null
net_check "a pod has the address of one that ends" cluster_status shop pods next <"$NET_TMP/next"
net_check "all nodes have it" rollout_await 60 eval 'rollout_is_settled 3 &&
	"$BULKHEAD" show endpoints --pin /sys/fs/bpf/worker-1 | grep -q "shop/next"'
reaches "the address is the new pod's" y n y n
kubectl delete -n shop pod next --force --grace-period=0 >/dev/null 2>&1
kubectl delete -n shop pod job --force --grace-period=0 >/dev/null 2>&1
cluster_pod_object shop job worker-3 '"role": "job"' >"$NET_TMP/job"
tail -n +2 "$NET_TMP/job" | kubectl apply -f - >/dev/null
net_check "the old name comes back" cluster_status shop pods job <"$NET_TMP/job"
settles "with its own labels" y n n n

# The API server still lists a pod that has ended, and no engine has removed it.
job_is() { # PHASE
	cluster_pod_object shop job worker-3 '"role": "job"' | sed "s/\"Running\"/\"$1\"/" | cluster_status shop pods job
}
has_job() {
	"$BULKHEAD" endpoint list --pin /sys/fs/bpf/worker-3 | grep -q '^shop/job '
}
for engine in one two; do
	rollout_signal engine-$engine STOP
done
net_check "a pod is active on its node" has_job
net_check "the job ends" job_is Succeeded
net_check "the follower takes the ended pod off, without an engine" rollout_await 60 eval '! has_job'
for engine in one two; do
	rollout_signal engine-$engine CONT
done
net_check "the job runs again" job_is Running
settles "after a pod that ended" y n n n

# All the while, a denied stream runs: none of its packets may pass.
net_stream db recv 7000
net_stream job send "$(net_ip db)" 7000
policy db web 9090 | apply
settles "before anything is killed" n y n n

# The leader ends as a drain or an upgrade ends it.
leads() { # NAME
	[[ "$(kubectl get lease -n bulkhead-system bulkhead-engine -o jsonpath='{.spec.holderIdentity}')" == *_${ROLLOUT_PID[engine-$1]}_* ]]
}
for engine in one two; do
	leads $engine || continue
	rollout_signal engine-$engine TERM
	wait "${ROLLOUT_PID[engine-$engine]}"
	net_check "an engine that ends gives the lease up" eval "! leads $engine"
	policy db web 8080 | apply
	began=$(date +%s%N)
	net_check "the other engine rolls the next change out" rollout_await 90 rollout_is_settled 3
	echo "# the change came $((($(date +%s%N) - began) / 1000000)) ms after the leader had ended"
	rollout_engine $engine
	break
done
policy db web 9090 | apply
settles "an engine ended" n y n n

rollout_kill engine-one
policy db web 8080 | apply
settles "one engine is killed" y n n n
rollout_engine one
rollout_kill engine-two
policy db web 9090 | apply
settles "the other engine is killed" n y n n
rollout_engine two
policy db web 8080 | apply
settles "the other engine is back" y n n n
for node in $CLUSTER_NODES; do
	rollout_kill "follow-$node"
done
policy db web 9090 | apply
sleep 2
reaches "all followers are killed: what was active stays" y n n n
for node in $CLUSTER_NODES; do
	rollout_follower "$node"
done
settles "the followers are back" n y n n

rollout_signal follow-worker-3 STOP
policy db web 8080 | apply
net_check "a node that hangs holds the endpoints up" rollout_waits
net_check "kubectl says for which node they wait" rollout_await 15 eval \
	'kubectl get -o wide policystatus | grep -q "not installed on node worker-3 "'
settles_without() {
	net_check "until it counts no more" rollout_settles 2
}
settles_without
reaches "the others go on" y n n n
net_check "PolicyStatus names it by a condition" rollout_await 30 eval \
	'kubectl get policystatus global -o jsonpath="{.status.conditions}" | grep -q "no rollout waits for node worker-3,"'
net_check "an Event names the silent node" rollout_await 30 eval 'kubectl get events | grep -q "Silent.*policystatus/global.*worker-3"'
rollout_signal follow-worker-3 CONT
settles "the silent node catches up" y n n n

for tenths in 1 2 3 5 8 13; do
	policy db web $((tenths % 2 ? 9090 : 8080)) | apply
	sleep "$(printf '%d.%d' $((tenths / 10)) $((tenths % 10)))"
	name=$(sed -n "$((tenths % 5 + 1))p" <<-END
	engine-one
	engine-two
	follow-worker-1
	follow-worker-2
	follow-worker-3
	END
	)
	rollout_kill "$name"
	case $name in
	engine-*) rollout_engine "${name#engine-}" ;;
	*) rollout_follower "${name#follow-}" ;;
	esac
done
policy db web 8080 | apply
settles "after kills in between" y n n n

net_stream_end
net_check "no packet of the flow that every policy denies arrived" net_is "$(net_count db 7000)" 0
net_check "in no revision may endpoints be in a policy that a node lacks, and nothing needed is deleted" \
	rollout_invariant
net_check "the newest policy can be made of what is stored, and nothing older is left" rollout_collected
net_check "the engine may not do more" rollout_rights
kubectl delete clusterrolebinding bulkhead-node-worker-1 >/dev/null
net_check "a node that may not report says why" rollout_await 60 \
	grep -q "status cannot be written: .*forbidden" "$NET_TMP/follow-worker-1.log"
net_check "the node may report again" eval 'sed s/NODE/worker-1/g "$NET_TOP/tools/deploy/node.yaml" | kubectl apply -f - >/dev/null'
policy db web 9090 | apply
settles "the node reports" n y n n
policy db web 8080 | apply
settles "as before" y n n n

# TLS is verified: by the kubeconfig's authority, and for the server's name.
follows_by() { # SED-EXPRESSION: on a kubeconfig of worker-1
	sed "$1" "$KUBE_CONFIGS/worker-1" >"$NET_TMP/config"
	KUBECONFIG=$NET_TMP/config timeout 15 nsenter --net="/run/netns/$NET-worker-1" "$BULKHEAD" follow \
		-n worker-1 --uplink eth0 --pin /sys/fs/bpf/worker-1 --once </dev/null >"$NET_TMP/said" 2>&1
}
refused_by() { # SED-EXPRESSION
	! follows_by "$1" && grep -q -i 'certificate' "$NET_TMP/said"
}
openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=other -keyout "$NET_TMP/other.key" -out "$NET_TMP/other.crt" 2>/dev/null
rollout_kill follow-worker-1
net_check "a follower trusts the kubeconfig's authority" follows_by ''
net_check "a follower trusts no other authority" refused_by "s|certificate-authority: [^}]*|certificate-authority: $NET_TMP/other.crt|"
net_check "a follower takes tls-server-name for the server's name" follows_by 's|{server:|{tls-server-name: kubernetes, server:|'
net_check "a follower takes no other name for the server's" refused_by 's|{server:|{tls-server-name: other, server:|'
rollout_follower worker-1

# Nodes have the engine's limit, however long, and report in time for a shorter one: each timer runs for over 24
# minutes before. The lease has to run out after each kill.
engines() { # LIMIT: of engines that replace those that are there
	local engine
	for engine in one two; do
		rollout_kill "engine-$engine"
		ROLLOUT_LIMIT=$1 rollout_engine "$engine"
	done
}
heartbeats() {
	kubectl get nodepolicystatus -o 'jsonpath={range .items[*]}{.metadata.name} {.status.heartbeat}{"\n"}{end}'
}
all_report() { # since heartbeats() wrote to the file
	heartbeats >"$NET_TMP/heartbeats" &&
		[ "$(grep -v -x -F -f "$NET_TMP/heartbeats-before" "$NET_TMP/heartbeats" | wc -l)" = 3 ]
}
net_check "followers have the engine's limit" rollout_await 30 rollout_limit_is "$ROLLOUT_LIMIT"
engines 3600
net_check "followers have another engine's limit" rollout_await 60 rollout_limit_is 3600
policy db web 9090 | apply
settles "a limit of an hour" n y n n
sleep 1
heartbeats >"$NET_TMP/heartbeats-before"
engines "$ROLLOUT_LIMIT"
net_check "followers have the shorter limit" rollout_await 60 rollout_limit_is "$ROLLOUT_LIMIT"
net_check "all nodes report, though nothing changes" rollout_await 60 all_report
net_check "all nodes count" rollout_settles
policy db web 8080 | apply
settles "the shorter limit" y n n n

# Upgrade and removal.
DEPLOY=$NET_TOP/tools/deploy
net_check "the server takes all manifests" kubectl apply --dry-run=server -k "$DEPLOY/older"
net_check "kubectl 1.20 does not read tools/deploy, and prints which folder to take" eval \
	'! kubectl apply -k "$DEPLOY" >"$NET_TMP/said" 2>&1 && grep -q before-1.30-apply-tools-deploy-older "$NET_TMP/said"'
net_check "the server takes the manifests that take Bulkhead off" kubectl apply -f "$DEPLOY/remove.yaml"
net_check "three followers watch the columns that are theirs" rollout_await 30 eval 'kubectl get --raw /metrics |
	grep -q "^apiserver_longrunning_gauge{.*resource=\"policystatuses\".*version=\"followers\"} 3"'
net_check "kubectl shows them where it is asked for" eval \
	'kubectl get policystatuses.followers.bulkhead.dev | grep -q "DELTA"'
net_check "kubectl get -o wide shows no delta" eval \
	'kubectl get -o wide policystatus >"$NET_TMP/wide" && grep -q "ROLLED OUT" "$NET_TMP/wide" && ! grep -q DELTA "$NET_TMP/wide"'
older() { # without the version that followers watch, and what came with it
	local schema=/spec/versions/0/schema/openAPIV3Schema/properties
	kubectl patch crd policystatuses.bulkhead.dev --type json -p '[
		{"op": "remove", "path": "/spec/versions/1"},
		{"op": "remove", "path": "'$schema'/spec/properties/delta"},
		{"op": "remove", "path": "'$schema'/spec/properties/nodeLimitSeconds"},
		{"op": "remove", "path": "'$schema'/status/properties/conditions"}]' >/dev/null
}
net_check "the resources are of an older version" older
policy db web 9090 | apply
settles "with older resources" n y n n
net_check "older resources tell no limit, and followers have the default" rollout_await 30 rollout_limit_is 40
net_check "kubectl apply -k upgrades the resources" kubectl apply -k "$DEPLOY/base"
policy db web 8080 | apply
settles "after the upgrade" y n n n
net_check "followers have the engine's limit again" rollout_await 120 rollout_limit_is "$ROLLOUT_LIMIT"
net_check "PolicyStatus has conditions again" kubectl wait --for=condition=RolledOut --timeout=30s policystatus/global
net_check "the resources are removed" kubectl delete --timeout=60s -f "$DEPLOY/base/crds.yaml"
reaches "without the resources what was active stays" y n n n
policy db web 9090 | apply
net_check "the resources come back" rollout_await 60 kubectl apply -f "$DEPLOY/base/crds.yaml"
settles "with the resources all goes on" n y n n
net_end
