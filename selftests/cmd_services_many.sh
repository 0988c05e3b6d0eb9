#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A Service of very many addresses, or a cluster of very many Services, costs those who read it a time that grows
# with its size and not with the size's square.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

# Ten times what each takes. A look at each backend for each other takes three times as much or more.
cheaply() { # ARGUMENT...
	(ulimit -t 4 && "$BULKHEAD" "$@" >"$tmp/out")
	[ $? -le 1 ] && [ -s "$tmp/out" ]
}

# A Service before the addresses 20.0.0.0 to 20.1.x.y, of which the first is left out so often.
service() { # CLUSTER-ADDRESS LEFT-OUT
	echo '{"apiVersion": "v1", "kind": "List", "items": [{"apiVersion": "v1", "kind": "Service",
"metadata": {"name": "s", "namespace": "evil"}, "spec": {"clusterIP": "'"$1"'", "ports": [{"port": 80}]}}'
	for ((slice = 0; slice < 100; slice++)); do
		echo ', {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "addressType": "IPv4",
"metadata": {"name": "s-'$slice'", "namespace": "evil", "labels": {"kubernetes.io/service-name": "s"}},
"ports": [{"port": 80, "protocol": "TCP"}], "endpoints": ['
		seq $((slice * 1000)) $((slice * 1000 + 999)) | awk -v left_out="$2" '$1 >= left_out {
			printf "%s{\"addresses\": [\"20.%d.%d.%d\"]}", comma, $1 / 65536, $1 / 256 % 256, $1 % 256
			comma = ","
		}'
		echo ']}'
	done
	echo ', {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "good"},
"status": {"podIP": "10.0.0.1"}}]}'
}
service 10.96.0.1 0 >"$tmp/old.json"
service 10.96.0.1 2 >"$tmp/new.json"
service None 0 >"$tmp/headless.json"

check "diff compares a Service of 100,000 backends in less than four seconds of a processor" \
	cheaply diff -j "$tmp/old.json" "$tmp/new.json"
check "diff finds the two backends of 100,000 that were removed" \
	is "$(grep -o '"part":"[^"]*","change":"[a-z]*"' "$tmp/out")" \
	'"part":"backend 20.0.0.0 port 80","change":"removed"
"part":"backend 20.0.0.1 port 80","change":"removed"'
check "trace evaluates a headless Service of 100,000 backends in less than four seconds of a processor" \
	cheaply trace --from good/p --to svc:evil/s --port TCP/80 "$tmp/headless.json"
check "trace lists each backend of a headless Service once" \
	is "$(grep -c '^  allow 20\.' "$tmp/out") $(sort -u "$tmp/out" | grep -c '^  allow 20\.')" "100000 100000"

# 4,000 isolated pods of one namespace, all of them behind each of eight Services, on 40 nodes
seq 0 3999 | awk 'BEGIN {
		for (i = 0; i < 40; i++)
			printf "[node w%d]\nip = 192.168.0.%d\n", i, i + 1
		print "[network-policy a/closed]\nendpoints =\ntypes = Ingress"
		for (i = 1; i <= 8; i++)
			printf "[service a/s%d]\naddress = 10.96.0.%d\nport = TCP/80\nbackends = endpoints(app=x)\n", i, i
	}
	{ printf "[endpoint a/p%d]\nlabels = app=x\nnode = w%d\nip = 10.0.%d.%d\n", $1, $1 % 40, $1 / 256, $1 % 256 }' >"$tmp/own.ini"
check "matrix evaluates eight Services before 4,000 pods of one kind in less than four seconds of a processor" \
	cheaply matrix -j --port TCP/80 "$tmp/own.ini"

# A Service of 200 ports before 500 pods, each of a group of its own with a policy of its own: one allows a port
ports=$(seq 1000 1199 | sed 's/.*/{"name": "n&", "port": &, "protocol": "TCP"}/' | paste -sd,)
seq 0 499 | awk -v ports="$ports" 'BEGIN {
		print "{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [{\"apiVersion\": \"v1\", \"kind\": \"Service\","
		print "\"metadata\": {\"name\": \"s\", \"namespace\": \"a\"}, \"spec\": {\"clusterIP\": \"10.96.0.1\", \"ports\": [" ports "]}}"
		print ", {\"apiVersion\": \"v1\", \"kind\": \"Pod\", \"metadata\": {\"name\": \"web\", \"namespace\": \"a\"}, \"status\": {\"podIP\": \"10.1.0.1\"}}"
	}
	{
		ip = "10.0." int($1 / 250) "." $1 % 250 + 1
		meta = "\"metadata\": {\"name\": \"p" $1 "\", \"namespace\": \"a\""
		label = "{\"app\": \"x" $1 "\"}"
		print ", {\"apiVersion\": \"v1\", \"kind\": \"Pod\", " meta ", \"labels\": " label "}, \"status\": {\"podIP\": \"" ip "\"}}"
		print ", {\"apiVersion\": \"networking.k8s.io/v1\", \"kind\": \"NetworkPolicy\", " meta "},"
		print "\"spec\": {\"podSelector\": {\"matchLabels\": " label "}, \"ingress\": [" ($1 ? "" : "{\"ports\": [{\"port\": 1100}]}") "]}}"
		addresses = addresses comma "{\"addresses\": [\"" ip "\"]}"
		comma = ","
	}
	END {
		print ", {\"apiVersion\": \"discovery.k8s.io/v1\", \"kind\": \"EndpointSlice\", \"addressType\": \"IPv4\","
		print "\"metadata\": {\"name\": \"s-1\", \"namespace\": \"a\", \"labels\": {\"kubernetes.io/service-name\": \"s\"}},"
		print "\"ports\": [" ports "], \"endpoints\": [" addresses "]}]}"
	}' >"$tmp/ports.json"
check "lint compares 500 backends of 500 groups at 200 ports in less than four seconds of a processor" \
	cheaply lint "$tmp/ports.json"
check "lint finds the one port at which a caller reaches one of 500 backends" \
	is "$(grep -o '[^ ]*: [^ ]*: a/web reaches the backend a/p0 and not a/p[0-9]*' "$tmp/out")" \
	"a/s: TCP/1100: a/web reaches the backend a/p0 and not a/p1"
check_end
