#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `bulkhead metrics`: the text is in Prometheus' format, the numbers agree with the packets sent and with
# `status`, and the textfile collector and Prometheus itself read the text.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 443"
net_start db web
cat >"$NET_TMP/policy.ini" <<EOF
$(net_db_and_web eth0)
[network-policy shop/db]
endpoints = role=db
ingress = ports TCP/80
[network-policy shop/more]
endpoints = role=db
ingress = ports TCP/81
EOF

# shellcheck disable=SC2120 # net_check passes arguments
read_metrics() {
	net_bulkhead metrics "$@" >"$NET_TMP/metrics"
}
value() { # SERIES
	awk -v series="$1" '$1 == series { print $2 }' "$NET_TMP/metrics"
}

net_check "metrics with nothing loaded" read_metrics
net_check "bulkhead_loaded is 0" net_is "$(value bulkhead_loaded)" 0
before=$(date +%s)
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_allowed web tcp "$(net_ip db)" 80 "web reaches db"
net_denied web tcp "$(net_ip6 db)" 443 "web does not reach another port"
net_check "metrics with an active policy" read_metrics
net_check "bulkhead_loaded is 1" net_is "$(value bulkhead_loaded)" 1
net_check "the policy's time of loading is of this test" \
	test "$(value bulkhead_policy_loaded_timestamp_seconds)" -ge "$before"
net_check "two endpoints are guarded" \
	net_is "$(value 'bulkhead_interfaces{role="endpoint",guarded="yes"}')" 2
net_check "no endpoint is unguarded" net_is "$(value bulkhead_endpoints_unguarded)" 0
net_check "drops are those of show counters" \
	net_is "$(value 'bulkhead_packets_total{verdict="drop",reason="ingress",direction="ingress"}')" \
	"$(net_bulkhead show counters | awk '/denied by the destination/ { print $2 }')"
net_check "there are drops" test \
	"$(value 'bulkhead_packets_total{verdict="drop",reason="ingress",direction="ingress"}')" -gt 0
net_check "there are no drops in the other direction" net_is \
	"$(value 'bulkhead_packets_total{verdict="drop",reason="ingress",direction="egress"}')" 0
sent() { # KEY
	value "bulkhead_$1_total{verdict=\"pass\",reason=\"established\",direction=\"$2\"}"
}
before_in=$(sent packets ingress) before_out=$(sent packets egress) bytes=$(sent bytes egress)
net_allowed db udp "$(net_ip out)" 80 "db sends UDP to the outside"
net_allowed db udp "$(net_ip6 out)" 80 "db sends UDP to the outside over IPv6"
read_metrics
net_check "the answers count as ingress" test "$(sent packets ingress)" -gt "$before_in"
net_allowed db tcp "$(net_ip out)" 80 "db opens a TCP connection to the outside"
read_metrics
net_check "db's packets count as egress" test "$(sent packets egress)" -gt "$before_out"
net_check "db's bytes count as egress" test "$(sent bytes egress)" -gt "$bytes"
net_check "drops count for the destination's namespace" net_is \
	"$(value 'bulkhead_dropped_packets_total{namespace="shop",direction="ingress"}')" \
	"$(net_bulkhead show counters | awk '/^drop/ { n += $2 } END { print n }')"
net_check "dropped bytes count for the destination's namespace" test \
	"$(value 'bulkhead_dropped_bytes_total{namespace="shop",direction="ingress"}')" -gt 40
net_check "drops count for no other namespace" \
	net_is "$(grep -c '^bulkhead_dropped_packets_total' "$NET_TMP/metrics")" 2
net_check "metrics --namespaces 0" read_metrics --namespaces 0
net_check "drops of all namespaces are one series" test \
	"$(value 'bulkhead_dropped_packets_total{namespace="(others)",direction="ingress"}')" -gt 0
net_check "there are no readers of events" net_is "$(value bulkhead_event_readers)" 0
net_check "no event is lost" net_is "$(value bulkhead_events_lost_total)" 0
net_check "the policy that allowed has a series" test "$(value \
	'bulkhead_policy_decisions_total{policy="shop/db",direction="ingress",action="allow"}')" -gt 0
net_check "metrics --policies 1" read_metrics --policies 1
net_check "the policy that decided most has a series" \
	net_is "$(grep -c '^bulkhead_policy_decisions_total{policy="shop/db"' "$NET_TMP/metrics")" 1
net_check "the other policies are one series" \
	net_is "$(grep -c '^bulkhead_policy_decisions_total{policy="(others)"' "$NET_TMP/metrics")" 1

# What "(others)" loses, the series of its own has: the sum over all series is the same.
sum() { # FAMILY
	awk -v family="bulkhead_$1{" 'index($1, family) == 1 { n += $NF } END { print n + 0 }' "$NET_TMP/metrics"
}
for family in dropped_packets_total policy_decisions_total; do
	read_metrics --namespaces 0 --policies 0
	all=$(sum $family)
	net_check "$family: all are others" test "$all" -gt 0
	for bound in 1 2 100; do
		read_metrics --namespaces $bound --policies $bound
		net_check "$family: with $bound series of their own, the sum is the same" net_is "$(sum $family)" "$all"
	done
done
net_check "load another generation" net_bulkhead load --audit "$NET_TMP/policy.ini"
read_metrics
net_check "the generation is that of status" net_is "$(value bulkhead_generation)" \
	"$(net_bulkhead status -j | grep -oE '"generation":[0-9]+' | head -n 1 | cut -d: -f2)"

mkdir "$NET_TMP/collector"
file=$NET_TMP/collector/bulkhead.prom
net_check "metrics -o writes a file for the collector" net_bulkhead metrics -o "$file"
net_check "no other file lies beside it" net_is "$(ls "$NET_TMP/collector")" bulkhead.prom
net_check "others may read the file" net_is "$(stat -c %a "$file")" 644
net_check "a folder that does not exist is an error" \
	net_is "$(net_bulkhead metrics -o "$NET_TMP/none/x" >/dev/null 2>&1; echo $?)" 3
net_check "the file stays as it was where a write fails" grep -q '^bulkhead_loaded 1' "$file"

mkfifo "$NET_TMP/pipe"
timeout 20 cat "$NET_TMP/pipe" >"$NET_TMP/piped" &
reader=$!
net_check "metrics -o writes into what is no regular file, such as /dev/null" net_bulkhead metrics -o "$NET_TMP/pipe"
net_check "the pipe is one still" test -p "$NET_TMP/pipe"
net_check "the reader of the pipe ends" wait $reader
net_check "the reader of the pipe has the metrics" grep -q '^bulkhead_loaded 1' "$NET_TMP/piped"
ln -s collector/bulkhead.prom "$NET_TMP/link"
net_check "metrics -o writes the file that a link leads to" eval 'net_bulkhead metrics -o "$NET_TMP/link" && [ -L "$NET_TMP/link" ]'

if command -v promtool >/dev/null; then
	net_check "promtool has nothing against it" \
		bash -c 'promtool check metrics <"$1"' bash "$NET_TMP/metrics"
else
	net_result ok "promtool has nothing against it # SKIP prometheus is not installed"
fi

# The dashboard uses only metrics that exist; net_health asks for those of engine, follower and plugin.
mapfile -t asked < <(grep -oE 'bulkhead_[a-z_]+' "$NET_TOP/tools/grafana/bulkhead.json" |
	grep -vE '^bulkhead_(engine|follow|process|cni)_' | sort -u)
known() {
	local name
	for name; do
		grep -q "^# TYPE $name " "$NET_TMP/metrics" || { echo "$name" && return 1; }
	done
	[ $# -gt 0 ]
}
net_check "every series of the dashboard exists" known "${asked[@]}"

# Waits until a page of the node contains a text.
page_has() { # URL TEXT
	local i
	for ((i = 0; i < 200; i++)); do
		net_on node curl -s "$1" 2>/dev/null | grep -qF -- "$2" && return
		sleep 0.1
	done
	net_on node curl -s "$1" | tail -n 5
	return 1
}
# A follower serves the same metrics and its own, even without its API server.
net_on node ip link set lo up
printf '%s\n' "apiVersion: v1" "kind: Config" "current-context: c" \
	"clusters: [{name: c, cluster: {server: 'https://127.0.0.1:1'}}]" \
	"users: [{name: u, user: {token: t}}]" \
	"contexts: [{name: c, context: {cluster: c, user: u}}]" >"$NET_TMP/kubeconfig"
net_check "load without --audit" net_bulkhead load "$NET_TMP/policy.ini"
nsenter --net="/run/netns/$NET-node" "$BULKHEAD" follow -n worker-1 --pin "$NET_PIN" \
	--kubeconfig "$NET_TMP/kubeconfig" --records "" --listen 127.0.0.1:9464 2>"$NET_TMP/follow" &
NET_SERVERS+=($!)
http() { # PATH
	# shellcheck disable=SC2016
	net_on node timeout 10 bash -c 'exec 3<>/dev/tcp/127.0.0.1/9464 &&
		printf "GET %s HTTP/1.0\r\n\r\n" "$1" >&3 && cat <&3' bash "$1"
}
serves() { # PATH TEXT
	local i
	for ((i = 0; i < 100; i++)); do
		http "$1" 2>/dev/null >"$NET_TMP/answer" && grep -qF -- "$2" "$NET_TMP/answer" && return
		sleep 0.1
	done
	cat "$NET_TMP/follow" "$NET_TMP/answer"
	return 1
}
net_check "a follower serves its node's metrics" serves /metrics "bulkhead_loaded 1"
net_check "a follower reports that no server answers" serves /metrics "bulkhead_follow_connected 0"
net_check "a follower answers /healthz" serves /healthz "200 OK"
net_check "a follower answers no other path" serves /etc/passwd "404 Not Found"
if command -v promtool >/dev/null; then
	http /metrics | sed '1,/^\r$/d' >"$NET_TMP/served"
	net_check "promtool has nothing against the follower's metrics" \
		bash -c '[ -s "$1" ] && promtool check metrics <"$1"' bash "$NET_TMP/served"
else
	net_result ok "promtool has nothing against the follower's metrics # SKIP prometheus is not installed"
fi
net_allowed web tcp "$(net_ip db)" 80 "without the server an allowed connection opens"
net_denied web tcp "$(net_ip6 db)" 443 "without the server a denied connection does not open"
follow_on() { # ADDRESS: what it says when it ends
	! net_on node timeout 60 "$BULKHEAD" follow -n worker-1 --pin "$NET_PIN" --records "" \
		--kubeconfig "$NET_TMP/kubeconfig" --listen "$1" 2>&1
}
net_check "a follower refuses a malformed address" grep -q "not ADDRESS:PORT" <(follow_on nonsense)

if command -v prometheus-node-exporter >/dev/null && command -v prometheus >/dev/null &&
	command -v curl >/dev/null; then
	net_on node ip link set lo up
	nsenter --net="/run/netns/$NET-node" prometheus-node-exporter --collector.disable-defaults --collector.textfile \
		--collector.textfile.directory="$NET_TMP/collector" \
		--web.listen-address=127.0.0.1:9100 >"$NET_TMP/exporter" 2>&1 &
	NET_SERVERS+=($!)
	net_check "node_exporter serves the file's metrics" page_has http://127.0.0.1:9100/metrics "bulkhead_loaded 1"
	printf '%s\n' "global: {scrape_interval: 1s}" "scrape_configs: [{job_name: node," \
		"static_configs: [{targets: ['127.0.0.1:9100']}]}]" >"$NET_TMP/prometheus.yml"
	nsenter --net="/run/netns/$NET-node" prometheus --config.file="$NET_TMP/prometheus.yml" \
		--storage.tsdb.path="$NET_TMP/tsdb" --web.listen-address=127.0.0.1:9090 \
		>"$NET_TMP/prometheus" 2>&1 &
	NET_SERVERS+=($!)
	net_check "Prometheus scrapes the metrics" page_has \
		'http://127.0.0.1:9090/api/v1/query?query=bulkhead_interfaces' '"role":"endpoint"'
else
	net_result ok "Prometheus scrapes the metrics # SKIP prometheus or its node exporter is not installed"
fi

echo "# 4,096 namespaces whose endpoints are gone"
fill_dropped() { # each free entry gets a namespace that is not there
	seq 1000001 1004096 | while read -r n; do
		echo "map update pinned $NET_PIN/dropped key $((n & 255)) $((n >> 8 & 255)) $((n >> 16)) 0 0 0 0 1 value$(printf ' 0%.0s' {1..32})"
	done | bpftool batch file - >"$NET_TMP/filled" 2>&1
	net_is "$(bpftool -j map dump pinned "$NET_PIN/dropped" | jq length)" 4096
}
net_denied web tcp "$(net_ip db)" 82 "db drops a packet"
net_check "the map of dropped packets by namespace is full" fill_dropped
read_metrics
all=$(sum dropped_packets_total)
net_check "an endpoint that has dropped packets is deleted all the same" net_bulkhead endpoint del shop/db
net_check "another one is deleted, too" net_bulkhead endpoint del shop/web
read_metrics
net_check "their dropped packets count on" net_is "$(sum dropped_packets_total)" "$all"
net_check "the policy is loaded anew" net_bulkhead load "$NET_TMP/policy.ini"

# The kernel allows quotes and backslashes in an interface's name.
net_ips node <<'END'
link set veth-web down
link set veth-web name v"e\b
END
net_check "metrics with an interface of an odd name" read_metrics
net_check "a label quotes the interface's name" grep -qF 'bulkhead_connections_largest{interface="v\"e\\b"} ' "$NET_TMP/metrics"
net_end
