#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# trace, matrix and lint of Services, and the messages about two owners of one address.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"
cd "$top" || exit 1

# Compares the exit status, and the whole output with standard input.
prints() { # NAME STATUS ARGUMENT...
	local name=$1 status=$2 got
	shift 2
	cat >"$tmp/wanted"
	run_bulkhead "$@"
	got=$?
	[ "$got" -eq "$status" ] && diff "$tmp/wanted" "$tmp/out" >>"$tmp/err"
	check_run $? "$name (exit $got)"
}

# Compares the exit status and searches the output and messages for the pattern.
says() { # NAME STATUS PATTERN ARGUMENT...
	local name=$1 status=$2 pattern=$3 got
	shift 3
	run_bulkhead "$@"
	got=$?
	[ "$got" -eq "$status" ] && cat "$tmp/out" "$tmp/err" | grep -qE -- "$pattern"
	check_run $? "$name (exit $got)"
}

# Fails if the output matches the pattern.
silent() { # NAME PATTERN ARGUMENT...
	local name=$1 pattern=$2
	shift 2
	run_bulkhead "$@"
	! cat "$tmp/out" "$tmp/err" | grep -qE -- "$pattern"
	check_run $? "$name"
}

cat >"$tmp/world.ini" <<'END'
[bulkhead]
service-cidr = 10.96.0.0/12
[node w1]
ip = 192.168.7.1
[node w2]
ip = 192.168.7.2
[endpoint shop/web]
node = w1
ip = 10.1.0.7
labels = role=web
[endpoint shop/db-0]
node = w1
ip = 10.1.0.5
labels = role=db
port = redis TCP/6379
[endpoint shop/db-1]
node = w2
ip = 10.1.0.6
labels = role=db
port = redis TCP/6380
[service shop/db]
address = 10.96.0.10
port = redis TCP/6379 to redis node 30379
backends = endpoints(role=db)
[service shop/one]
address = 10.96.0.11
port = TCP/80 to 6379
backends = 10.1.0.5
[service shop/api]
address = 10.96.0.1
port = TCP/443 to 6443
backends = 192.168.7.1, 192.0.2.9 to 7443
[service shop/heads]
backends = endpoints(role=db)
[service shop/none]
address = 10.96.0.12
port = TCP/80
[network-policy shop/web]
endpoints = role=web
types = Egress
egress = to endpoints(role=db) ports TCP/6379
END
ask() { # NAME STATUS TO PORT [OPTION...]
	local name=$1 status=$2 to=$3 port=$4
	shift 4
	prints "$name" "$status" trace --from shop/web --to "$to" --port "$port" "$@" "$tmp/world.ini"
}

ask "each backend with its verdict and rule; it depends" 1 svc:shop/db TCP/6379 <<'END'
depends shop/web (10.1.0.7) -> service shop/db (10.96.0.10) TCP/6379
  allow shop/db-0 (10.1.0.5) TCP/6379
    egress   allow network-policy shop/web/egress[0]
    ingress  allow default
  deny shop/db-1 (10.1.0.6) TCP/6380
    egress   deny network-policy: isolated by shop/web
    ingress  allow default
END
ask "by the Service's address, allowed" 0 10.96.0.11 TCP/80 <<'END'
allow shop/web (10.1.0.7) -> service shop/one (10.96.0.11) TCP/80
  allow shop/db-0 (10.1.0.5) TCP/6379
    egress   allow network-policy shop/web/egress[0]
    ingress  allow default
END
ask "the own node and a host outside" 1 svc:shop/api TCP/443 <<'END'
depends shop/web (10.1.0.7) -> service shop/api (10.96.0.1) TCP/443
  deny 192.0.2.9 (192.0.2.9) TCP/7443
    egress   deny network-policy: isolated by shop/web
    ingress  -
  allow node w1 (192.168.7.1) TCP/6443
    egress   allow default: its own node is never isolated
    ingress  -
END
ask "a headless Service: its backends' own ports" 0 svc:shop/heads TCP/6379 <<'END'
allow shop/web (10.1.0.7) -> service shop/heads TCP/6379
  allow shop/db-0 (10.1.0.5) TCP/6379
    egress   allow network-policy shop/web/egress[0]
    ingress  allow default
  allow shop/db-1 (10.1.0.6) TCP/6379
    egress   allow network-policy shop/web/egress[0]
    ingress  allow default
END
ask "no backends" 1 svc:shop/none TCP/80 <<'END'
deny shop/web (10.1.0.7) -> service shop/none (10.96.0.12) TCP/80
  no backend takes new connections
END
ask "no such port" 1 svc:shop/db TCP/80 <<'END'
deny shop/web (10.1.0.7) -> service shop/db (10.96.0.10) TCP/80
  the Service has no such port
END
ask "in service-cidr, and unknown" 1 10.96.0.99 TCP/80 <<'END'
depends shop/web (10.1.0.7) -> service unknown (10.96.0.99) TCP/80
  in service-cidr, and no input has its backends: the kernel's choice of backend decides
END
ask "the node port of the own node, in JSON" 1 192.168.7.1 TCP/30379 -j <<'END'
{"verdict":"depends","source":{"name":"shop/web","address":"10.1.0.7"},"destination":{"name":"192.168.7.1","address":"192.168.7.1"},"port":"TCP/30379","service":"shop/db","why":null,"backends":[{"name":"shop/db-0","service":"shop/db","address":"10.1.0.5","port":"TCP/6379","node":"w1","ready":true,"chosen":true,"verdict":"allow","egress":{"verdict":"allow","tier":"network-policy","policy":"shop/web","rule":"egress[0]"},"ingress":{"verdict":"allow","tier":"default","policy":null,"rule":null}},{"name":"shop/db-1","service":"shop/db","address":"10.1.0.6","port":"TCP/6380","node":"w2","ready":true,"chosen":true,"verdict":"deny","egress":{"verdict":"deny","tier":"network-policy","policy":null,"rule":null,"isolated_by":["shop/web"]},"ingress":{"verdict":"allow","tier":"default","policy":null,"rule":null}}]}
END
says "-v walks the rules at each backend" 1 'egress\[0\] +port does not match' \
	trace -v --from shop/web --to svc:shop/db --port TCP/6379 "$tmp/world.ini"
says "-v in JSON" 1 '"egress_chain":\[\{"tier":"network-policy"' \
	trace -vj --from shop/web --to svc:shop/db --port TCP/6379 "$tmp/world.ini"
cat >"$tmp/host.yaml" <<'END'
apiVersion: v1
kind: Pod
metadata: {namespace: kube-system, name: proxy}
spec: {nodeName: w1, hostNetwork: true, containers: [{name: c, image: i}]}
status: {phase: Running, podIP: 192.168.7.1, podIPs: [{ip: 192.168.7.1}]}
END
says "-j names the node of a hostNetwork pod that calls a Service" 0 \
	'"source":\{"name":"kube-system/proxy","address":"192.168.7.1","node":"w1"\}' \
	trace -j --from kube-system/proxy --to svc:shop/db --port TCP/6379 "$tmp/world.ini" "$tmp/host.yaml"
says "no such Service" 2 'svc:shop/x: no such Service' \
	trace --from shop/web --to svc:shop/x --port TCP/80 "$tmp/world.ini"
says "a Service without a slash" 2 'svc:shop: no such Service; write it as svc:NAMESPACE/NAME$' \
	trace --from shop/web --to svc:shop --port TCP/80 "$tmp/world.ini"
says "a Service does not call" 2 'svc:shop/db: a Service is no source of flows' \
	trace --from svc:shop/db --to shop/web --port TCP/80 "$tmp/world.ini"
"$BULKHEAD" compile -o "$tmp/world.bhp" "$tmp/world.ini" >"$tmp/out" 2>"$tmp/err"
says "a compiled file has them too" 1 '^depends .* service shop/db' \
	trace --from shop/web --to svc:shop/db --port TCP/6379 "$tmp/world.bhp"

printf '%s\n' 'shop/web svc:shop/db TCP/6379' 'shop/web shop/db-0 TCP/6379' \
	'shop/web 10.96.0.99 TCP/1' 'shop/web svc:shop/x TCP/1' >"$tmp/flows"
printf '%s\t' depends 'service shop/db' '10.1.0.5 TCP/6379 allow' \
	'allow network-policy shop/web/egress[0]' 'allow default' '10.1.0.6 TCP/6380 deny' \
	'deny network-policy' >"$tmp/lines"
printf 'allow default\nallow\tallow network-policy shop/web/egress[0]\tallow default\n' \
	>>"$tmp/lines"
printf 'depends\tservice -\nerror\tsvc:shop/x: no such Service\n' >>"$tmp/lines"
prints "a batch with Services among its lines" 2 trace --batch "$tmp/flows" "$tmp/world.ini" \
	<"$tmp/lines"

prints "matrix has a column for each Service with the port" 0 matrix --pods --port TCP/6379 \
	"$tmp/world.ini" <<'END'
Rows reach columns: + yes, - no, ? it depends on the backend that the kernel chooses.

  TCP/6379    1 2 3 4 5 6 7
1 shop/db-0   + + + + + + +
2 shop/db-1   + + + + + + +
3 shop/web    + + + + - - ?
4 node w1     + + +       +
5 node w2     + + +       +
6 world       + + +       +
7 svc:shop/db              
END
prints "matrix has a group of equal pods apart from their own node" 0 matrix --port TCP/6379 \
	"$tmp/world.ini" <<'END'
Rows reach columns: + yes, - no, ? it depends on the backend that the kernel chooses, o only between a pod and its own node.

  TCP/6379           1 2 3 4 5
1 shop/db-* (2 pods) + + + + +
2 shop/web           + + o - ?
3 node w1 and 1 more + +     +
4 world              + +     +
5 svc:shop/db                 
END
says "matrix in JSON" 0 '"from":"shop/web","to":\[[^]]*\],"depends":\["svc:shop/db"\]' \
	matrix -j --port TCP/6379 "$tmp/world.ini"
silent "matrix without Services has none" 'svc:|depends' matrix -j --port TCP/80 policies/demo/yaml

says "lint: backends whose policies differ" 1 \
	'shop/db: TCP/6379: shop/web reaches the backend shop/db-0 and not shop/db-1, .*\[backends-differ\]' \
	lint "$tmp/world.ini"
silent "lint: not those that are alike" 'shop/one.*backends-differ' lint "$tmp/world.ini"
cat >"$tmp/contested.ini" <<'END'
[node w1]
ip = 10.1.0.4
[endpoint shop/web]
ip = 10.1.0.4
[endpoint shop/db-0]
node = w1
ip = 10.1.0.5
[endpoint shop/db-1]
ip = 10.1.0.6
[service shop/db]
address = 10.96.0.10
port = TCP/6379
backends = 10.1.0.5, 10.1.0.6 to 6380
[network-policy shop/closed]
endpoints =
types = Ingress
END
says "lint: a caller with the address of one backend's node reaches that backend alone" 1 \
	'shop/db: TCP/6379: shop/web reaches the backend shop/db-0 and not shop/db-1, .*\[backends-differ\]' \
	lint "$tmp/contested.ini"
rule() { # CIDR
	printf '[network-policy shop/more]\nendpoints = role=db\ntypes = Egress\n'
	printf 'egress = to cidr(%s)\n' "$1"
}
rule 10.96.0.10/32 >"$tmp/rule.ini"
says "lint: a CIDR of a Service's address" 1 \
	'10.96.0.10/32 holds the address of the Service shop/db and no other.*\[block-of-services\]' \
	lint "$tmp/world.ini" "$tmp/rule.ini"
rule 10.97.0.0/16 >"$tmp/rule.ini"
says "lint: a CIDR within service-cidr" 1 '10.97.0.0/16 lies in service-cidr.*\[block-of-services\]' \
	lint "$tmp/world.ini" "$tmp/rule.ini"
rule 10.0.0.0/8 >"$tmp/rule.ini"
silent "lint: not one that holds pods too" block-of-services lint "$tmp/world.ini" "$tmp/rule.ini"
rule 0.0.0.0/0 >"$tmp/rule.ini"
silent "lint: nor everything" block-of-services lint "$tmp/world.ini" "$tmp/rule.ini"

again() { # SECTION LINE...
	printf '[service y/%s]\n' "$1"
	shift
	printf '%s\n' "$@"
}
again t 'address = 10.96.0.10' 'port = TCP/1' >"$tmp/again.ini"
says "two with one address are refused, both named" 2 \
	'again.ini:1: Service y/t has the address 10.96.0.10, which is Service shop/db.s too \(.*world.ini:21\)' \
	compile "$tmp/world.ini" "$tmp/again.ini"
again t 'address = 10.96.0.20' 'port = UDP/1 node 30379' >"$tmp/again.ini"
says "a node port of another protocol is another" 0 'endpoints' \
	compile -o "$tmp/x.bhp" "$tmp/world.ini" "$tmp/again.ini"
again t 'address = 10.96.0.20' 'port = TCP/1 node 30379' >"$tmp/again.ini"
says "two with one node port are refused, both named" 2 \
	'Service y/t has the node port 30379, which is Service shop/db.s too' \
	compile "$tmp/world.ini" "$tmp/again.ini"
again t 'address = 10.1.0.5' 'port = TCP/1' >"$tmp/again.ini"
says "the address of a pod is warned of, both named" 0 \
	'again.ini:1: warning: Service y/t has the address 10.1.0.5, which is Pod shop/db-0.s too' \
	compile -o "$tmp/x.bhp" "$tmp/world.ini" "$tmp/again.ini"
printf '%s\n' '[service y/t]' 'address = 10.96.0.20' 'external-address = 203.0.113.1' 'port = TCP/1' \
	'[service y/u]' 'address = 10.96.0.21' 'external-address = 203.0.113.1' 'port = TCP/1' \
	>"$tmp/again.ini"
says "one external address and port of two is warned of" 0 \
	'Service y/u has the address 203.0.113.1, which is Service y/t.s too .*backends of both' \
	compile -o "$tmp/x.bhp" "$tmp/world.ini" "$tmp/again.ini"
printf '[bulkhead]\nservice-cidr = 10.1.0.0/16\n' >"$tmp/again.ini"
says "a service-cidr over pods is warned of" 0 \
	'warning: service-cidr 10.1.0.0/16 holds 10.1.0.5, the address of Pod shop/db-0' \
	compile -o "$tmp/x.bhp" "$tmp/world.ini" "$tmp/again.ini"

cat >"$tmp/alone.yaml" <<'END'
apiVersion: v1
kind: Namespace
metadata: {name: other}
---
apiVersion: v1
kind: Service
metadata: {name: s, namespace: alone}
spec: {clusterIP: 10.96.0.1, ports: [{port: 80}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: s-1, namespace: alone, labels: {kubernetes.io/service-name: s}}
addressType: IPv4
ports: [{port: 80, protocol: TCP}]
endpoints: [{addresses: [10.1.0.5]}]
END
prints "lint reads a Service of a namespace that has neither pods nor policies" 0 lint "$tmp/alone.yaml" </dev/null

check_end
