#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Engine and follower say whether they run and are ready, at a socket of their own. Idle connections of one client
# keep no other client from the metrics. Watches go on as soon as the API server answers anything.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

net_start db
api_start
probe() { # live|ready NAME
	"$BULKHEAD" probe "$1" "$NET_TMP/$2.sock"
}
is_ready() {
	probe ready "$1" >/dev/null 2>&1
}
lacks() { # NAME TEXT: ends with 1, and says so
	net_ends 1 "$2" probe ready "$1" >/dev/null
}
api POST /api/v1/nodes '{"metadata": {"name": "worker-1"}}' >/dev/null
api_follower worker-1 --listen :9464 --health "$NET_TMP/follow.sock"
net_check "a follower is live before it has a policy" api_await probe live follow
net_check "a follower without a policy is not ready" api_await lacks follow "no policy is active"
net_check "nobody but its user may ask" net_is "$(stat -c %a "$NET_TMP/follow.sock")" 755
api_engine one --listen :9465 --health "$NET_TMP/engine.sock"
net_check "an engine is ready" api_await is_ready engine
net_check "a follower with a policy is ready" api_await is_ready follow
net_check "probe of nothing" net_ends 3 "No such file" "$BULKHEAD" probe ready "$NET_TMP/nothing"
net_check "probe of something else" net_ends 2 "live or ready" "$BULKHEAD" probe well "$NET_TMP/engine.sock"
net_check "a health socket where a file is" net_ends 3 "Address already in use" timeout 20 "$BULKHEAD" engine \
	--kubeconfig "$API_CONFIG" --health "$API_CONFIG"

# A client that keeps 150 connections open, and opens them again as they end.
ends() {
	# shellcheck disable=SC2016
	exec nsenter --net="/run/netns/$NET-db" bash -c 'while :; do
		for ((i = 0; i < 150; i++)); do exec {fds[i]}<>"/dev/tcp/'"$(net_ip node)"'/$0"; done
		sleep 0.5
		for ((i = 0; i < 150; i++)); do exec {fds[i]}>&-; done
	done' "$1" 2>/dev/null
}
answers() { # PORT PATH
	net_on out curl -s -f --max-time 20 "http://$(net_ip node):$1$2"
}
net_check "metrics of the follower" eval 'answers 9464 /metrics | grep -q "^bulkhead_follow_connected 1"'
net_check "metrics of the engine" eval 'answers 9465 /metrics | grep -q "^bulkhead_engine_leads 1"'
# The board and the alerts ask only for metrics that exist. (net_cni has those of the plugin.)
{ answers 9464 /metrics && answers 9465 /metrics; } >"$NET_TMP/pages"
exist() { # FILE: its metrics
	local name missing=0
	for name in $(grep -oE 'bulkhead_[a-z_]+' "$1" | grep -v '^bulkhead_cni_' | sort -u); do
		grep -qE "^# TYPE (${name}|${name%_bucket}) " "$NET_TMP/pages" || { echo "$name" && missing=1; }
	done
	return $missing
}
net_check "the board asks for metrics that exist" exist "$NET_TOP/tools/grafana/bulkhead.json"
net_check "the alerts ask for metrics that exist" exist "$NET_TOP/tools/deploy/monitoring/rules.yaml"
if command -v promtool >/dev/null; then
	for port in 9464 9465; do
		net_check "promtool reads the metrics at $port" eval 'answers $port /metrics | promtool check metrics'
	done
fi
took() { # NAME: so many times were counted in the histogram
	sed -n "s/^bulkhead_$1_count //p" "$NET_TMP/pages"
}
net_check "the load of the first policy has its time" test "$(took follow_load_seconds)" -ge 1
net_check "the rollout has its time" test "$(took engine_rollout_seconds)" -ge 1
net_check "every compile has its time" net_is "$(took engine_compile_seconds)" \
	"$(sed -n 's/^bulkhead_engine_compiles_total //p' "$NET_TMP/pages")"
for port in 9464 9465; do
	ends $port &
	NET_SERVERS+=($!)
done
sleep 3
for port in 9464 9465; do
	net_check "150 idle connections keep nobody from $port" answers $port /healthz
done
net_check "the follower is live meanwhile" probe live follow
net_check "the engine is live meanwhile" probe live engine
kill "${NET_SERVERS[@]: -2}"

# The server ends all watches and refuses them, and answers the rest.
net_check "the server has no watches" api_fails 503 watch=1
net_check "a follower whose watches fail is not ready" api_await lacks follow "the API server does not answer"
net_check "an engine whose watches fail is not ready" api_await lacks engine "the API server does not answer"
net_check "a follower whose watches fail is live" probe live follow
sleep 12
began=$(date +%s%N)
net_check "the server has watches" api_fails
net_check "the engine is ready again" api_await is_ready engine
echo "# after $((($(date +%s%N) - began) / 1000000)) ms"
net_check "the follower is ready again" api_await is_ready follow
echo "# after $((($(date +%s%N) - began) / 1000000)) ms"

# Two engines on one node.
api_engine two --listen :9465 --health "$NET_TMP/two.sock"
net_check "a second engine on the node is ready" api_await is_ready two
net_check "the second engine says that the port is not free" grep -q -- "--listen :9465: another process uses" \
	"$NET_TMP/engine-two.log"
api_end engine-one TERM
net_check "the socket is gone with the engine" test ! -e "$NET_TMP/engine.sock"
net_check "the second engine serves metrics then" api_await eval \
	'answers 9465 /metrics | grep -q "^bulkhead_engine_leads 1"'
api_end engine-two KILL
api_engine three --listen :9465 --health "$NET_TMP/two.sock"
net_check "an engine replaces the socket of a killed one" api_await is_ready two

# remove.yaml's pod takes the policy off, and stays until it is told to end.
api_end follow-worker-1 TERM
net_check "a policy is active" test -d "$NET_PIN"
unload_stay() {
	nsenter --net="/run/netns/$NET-node" "$BULKHEAD" unload --stay --pin "$NET_PIN" {held}<&- &
	stays=$!
	NET_SERVERS+=("$stays")
}
# SIGTERM is blocked: the process waits for it, and does not end by it. The shell that becomes the command blocks it, too.
is_blocked() {
	[ "/proc/$stays/exe" -ef "$BULKHEAD" ] && grep -q '^SigBlk:.*[4-7c-f]...$' "/proc/$stays/status"
}
blocks() {
	api_await is_blocked
}
ends_well() {
	blocks && kill -TERM "$stays" && wait "$stays"
}
exec {held}<"$NET_PIN"
flock "$held"
unload_stay
net_check "unload --stay blocks SIGTERM before it unloads" blocks
kill -TERM "$stays"
exec {held}<&-
wait "$stays"
net_check "SIGTERM during the unload ends unload --stay well" net_is $? 0
net_check "the unload that got SIGTERM has taken the policy off" test ! -d "$NET_PIN"
unload_stay
net_check "unload --stay runs until SIGTERM" ends_well
net_end
