#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Services under the real kube-proxy: what each caller reaches, without policy and with it, by every
# kind of address that a Service has. Run by make check-kube, which has a control plane for it.
# shellcheck source=selftests/lib/cluster.sh
. "$(dirname "$0")/lib/cluster.sh"

# web     may call role=server and role=target at port 8080, and DNS
# wide    may call every address that is no pod's
# range   may call the Services' own addresses, which allows nothing
# shut    may call nobody
# open    is isolated in no direction, and nobody lets it in
# s1, s2  let in those that are admitted, and the outside host, at port 8080
# x1, x2  let everybody in; web may not call them
# y1, y2  let nobody in; web may call them
cluster_start web:worker-1 wide:worker-1 range:worker-1 shut:worker-1 open:worker-1 \
	s1:worker-1 s2:worker-2 x1:worker-1 x2:worker-2 y1:worker-1 y2:worker-2 dns1:worker-1 dns2:worker-2

# Name, port, port of the backends, NodePort or -, backends, more of the Service's spec.
services() {
	cat <<-EOF
	local        80 8080 -     s1
	remote       80 8080 -     s2
	both         80 8080 -     s1,s2
	x-local      80 8080 -     x1
	x-remote     80 8080 -     x2
	y-local      80 8080 -     y1
	y-remote     80 8080 -     y2
	half-local   80 8080 -     s1,x1
	half-remote  80 8080 -     s2,x2
	half-mixed   80 8080 -     s1,x2
	own-web      80 8080 -     web
	own-shut     80 8080 -     shut
	host-own     80 8080 -     worker-1
	host-remote  80 8080 -     worker-2
	none         80 8080 -     -
	port-local   8080 9090 -   s1
	port-remote  8080 9090 -   s2
	sticky       80 8080 -     s1,s2   sessionAffinity: ClientIP,
	sticky-half  80 8080 -     s1,x1   sessionAffinity: ClientIP,
	node-both    80 8080 30080 s1,s2   type: NodePort,
	node-y       80 8080 30081 y1,y2   type: NodePort,
	keep-s       80 8080 30082 s1      type: NodePort, externalTrafficPolicy: Local,
	keep-y       80 8080 30083 y1      type: NodePort, externalTrafficPolicy: Local,
	node-far     80 8080 30084 s2      type: NodePort,
	external     80 8080 -     s1,s2   externalIPs: [198.51.100.10, "fd51::10"],
	external-y   80 8080 -     y1,y2   externalIPs: [198.51.100.11, "fd51::11"],
	balancer     80 8080 30085 s1,s2   type: LoadBalancer,
	EOF
}

# Namespace, pod or node, labels.
pods() {
	cat <<-EOF
	shop web "role": "web", "admitted": "yes"
	shop wide "role": "wide", "admitted": "yes"
	shop range "role": "range", "admitted": "yes"
	shop shut "role": "shut", "admitted": "yes"
	shop open "role": "open"
	shop s1 "role": "server"
	shop s2 "role": "server"
	shop x1 "role": "other"
	shop x2 "role": "other"
	shop y1 "role": "target"
	shop y2 "role": "target"
	shop worker-1 "role": "host"
	shop worker-2 "role": "host"
	kube-system dns1 "k8s-app": "kube-dns"
	kube-system dns2 "k8s-app": "kube-dns"
	EOF
}

policies() {
	cat <<-EOF
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: web, namespace: shop},
	 spec: {podSelector: {matchLabels: {role: web}}, policyTypes: [Egress], egress: [
	  {to: [{podSelector: {matchExpressions: [{key: role, operator: In, values: [server, target]}]}}],
	   ports: [{port: 8080, protocol: TCP}, {port: 8080, protocol: UDP}]},
	  {to: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: kube-system}},
	         podSelector: {matchLabels: {k8s-app: kube-dns}}}],
	   ports: [{port: 53, protocol: TCP}, {port: 53, protocol: UDP}]}]}}
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: wide, namespace: shop},
	 spec: {podSelector: {matchLabels: {role: wide}}, policyTypes: [Egress], egress: [
	  {to: [{ipBlock: {cidr: 0.0.0.0/0, except: [10.244.0.0/16]}},
	        {ipBlock: {cidr: "::/0", except: ["fd44::/16"]}}]}]}}
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: range, namespace: shop},
	 spec: {podSelector: {matchLabels: {role: range}}, policyTypes: [Egress], egress: [
	  {to: [{ipBlock: {cidr: 10.96.0.0/16}}, {ipBlock: {cidr: "fd96::/112"}}]}]}}
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: shut, namespace: shop},
	 spec: {podSelector: {matchLabels: {role: shut}}, policyTypes: [Egress]}}
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: servers, namespace: shop},
	 spec: {podSelector: {matchLabels: {role: server}}, ingress: [
	  {from: [{podSelector: {matchLabels: {admitted: "yes"}}},
	          {ipBlock: {cidr: 192.168.7.2/32}}, {ipBlock: {cidr: "fd07::2/128"}}],
	   ports: [{port: 8080, protocol: TCP}, {port: 8080, protocol: UDP}]}]}}
	---
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: targets, namespace: shop},
	 spec: {podSelector: {matchLabels: {role: target}}, policyTypes: [Ingress]}}
	EOF
}

objects() {
	local node namespace name labels port target node_port backends more
	echo '---'
	echo '{apiVersion: v1, kind: Namespace, metadata: {name: shop}}'
	for node in $CLUSTER_NODES; do
		cluster_node_object "$node"
	done
	while read -r namespace name labels; do
		cluster_pod_object "$namespace" "$name" "$labels"
	done < <(pods)
	while read -r name port target node_port backends more; do
		cluster_service_object shop "$name" "$port" "$target" "$node_port" "$more"
		[ "$backends" != - ] || backends=
		# shellcheck disable=SC2086
		cluster_slice_objects shop "$name" "$target" ${backends//,/ }
	done < <(services)
	cluster_service_object kube-system kube-dns 53 53 - 'clusterIP: 10.96.0.10, clusterIPs: [10.96.0.10, "fd96::a"],'
	cluster_slice_objects kube-system kube-dns 53 dns1 dns2
}

# What kubelets and a cloud would tell the API.
statuses() {
	local node namespace name labels
	for node in $CLUSTER_NODES; do
		cluster_node_object "$node" | cluster_status "" nodes "$node"
	done
	while read -r namespace name labels; do
		cluster_pod_object "$namespace" "$name" "$labels" |
			cluster_status "$namespace" pods "${name/#worker-/host-}"
	done < <(pods)
	kubectl get -n shop service balancer -o json |
		sed 's/"loadBalancer": {}/"loadBalancer": {"ingress": [{"ip": "198.51.100.20"}, {"ip": "fd51::20"}]}/' |
		kubectl replace --raw /api/v1/namespaces/shop/services/balancer/status -f - >/dev/null
}

# Who calls, what, and who answers without policy and with it: every name of a set joined by +, `no`
# for no answer. Of sets with | between them one, for what the first packet decides.
# SERVICE is its cluster address, SERVICE@NODE its NodePort there, SERVICE@ADDRESS,ADDRESS another.
cases() {
	cat <<-EOF
	web    local            s1        s1
	web    remote           s2        s2
	web    both             s1+s2     s1+s2
	web    x-local          x1        no
	web    x-remote         x2        no
	web    y-local          y1        no
	web    y-remote         y2        no
	web    half-local       s1+x1     no+s1
	web    half-remote      s2+x2     no+s2
	web    half-mixed       s1+x2     no+s1
	web    own-web          web       web
	web    host-own         host-1    host-1
	web    host-remote      host-2    no
	web    none             no        no
	web    port-local       s1        no
	web    port-remote      s2        no
	web    sticky           s1|s2     s1|s2
	web    sticky-half      s1|x1     s1|no
	web    node-both@worker-1   s1+s2 no+s1
	web    node-both@worker-2   s1+s2 no
	web    node-y@worker-1      y1+y2 no
	web    external@198.51.100.10,fd51::10    s1+s2 no+s1
	web    external-y@198.51.100.11,fd51::11  y1+y2 no
	web    balancer@198.51.100.20,fd51::20    s1+s2 no+s1
	wide   local            s1        no
	wide   remote           s2        no
	wide   x-local          x1        no
	wide   x-remote         x2        no
	wide   half-remote      s2+x2     no
	wide   host-own         host-1    host-1
	wide   host-remote      host-2    host-2
	wide   node-both@worker-1   s1+s2 no
	wide   external@198.51.100.10,fd51::10    s1+s2 no
	range  local            s1        no
	range  remote           s2        no
	range  x-local          x1        no
	range  x-remote         x2        no
	range  host-own         host-1    host-1
	range  host-remote      host-2    no
	shut   local            s1        no
	shut   remote           s2        no
	shut   own-shut         shut      shut
	shut   host-own         host-1    host-1
	shut   node-both@worker-1   s1+s2 no
	shut   node-far@worker-1    s2    no
	shut   node-far@worker-2    s2    no
	open   local            s1        no
	open   remote           s2        no
	open   x-local          x1        x1
	open   x-remote         x2        x2
	worker-1 local          s1        s1
	worker-1 remote         s2        no
	worker-1 x-remote       x2        x2
	worker-1 y-local        y1        y1
	out    node-both@worker-1   s1+s2 no+s1
	out    node-both@worker-2   s1+s2 no+s2
	out    node-y@worker-1      y1+y2 no
	out    node-y@worker-2      y1+y2 no
	out    keep-s@worker-1      s1    s1
	out    keep-s@worker-2      no    no
	out    keep-y@worker-1      y1    no
	out    node-far@worker-1    s2    no
	out    node-far@worker-2    s2    s2
	out    external@198.51.100.10,fd51::10    s1+s2 no+s1
	out    external-y@198.51.100.11,fd51::11  y1+y2 no
	out    balancer@198.51.100.20,fd51::20    s1+s2 no+s1
	EOF
}

declare -A CLUSTER_IP PORT NODE_PORT

# An address and a port: 4 or 6.
address_of() { # TARGET FAMILY
	local service=${1%@*} at=${1#*@}
	case $1 in
	*@worker-*) [ "$2" = 4 ] && echo "$(net_ip "$at") ${NODE_PORT[$service]}" ||
		echo "$(net_ip6 "$at") ${NODE_PORT[$service]}" ;;
	*@*) [ "$2" = 4 ] && echo "${at%,*} ${PORT[$service]}" || echo "${at#*,} ${PORT[$service]}" ;;
	*) echo "${CLUSTER_IP[$1/$2]} ${PORT[$service]}" ;;
	esac
}

# Where nobody is to answer it takes no time to see; TRIES tell two backends from one.
TRIES=32
answers() { # CLIENT PROTOCOL ADDRESS PORT WAIT TRIES
	net_on "$1" "$NET_HELPERS/backend" ask "$2" "$3" "$4" "$5" "$6" |
		sed 's/ from .*//; s/^silent$\|^refused$/no/'
}

# A Service that remembers its callers does so from the first connection on.
observed() { # CLIENT PROTOCOL ADDRESS PORT EXPECTED
	local wait=$NET_WAIT_ALLOWED
	case $5 in
	no) wait=$NET_WAIT_DENIED ;;
	*no*) wait=$WAIT_SOME ;;
	esac
	{
		[[ $5 != *"|"* ]] || answers "$1" "$2" "$3" "$4" "$wait" 1
		answers "$1" "$2" "$3" "$4" "$wait" $TRIES
	} | sort -u | paste -sd +
}

row() { # WHEN CLIENT TARGET EXPECTED
	local family protocol address got wrong=() protocols="tcp udp"
	[[ $3 != balancer@* ]] || protocols=tcp
	for family in 4 6; do
		for protocol in $protocols; do
			address=$(address_of "$3" $family)
			# shellcheck disable=SC2086
			got=$(observed "$2" $protocol $address "$4")
			[[ "|$4|" == *"|$got|"* ]] || wrong+=("$protocol to $address: $got")
		done
	done
	if [ ${#wrong[@]} -eq 0 ]; then
		net_result ok "$1: $2 to $3: $4"
	else
		net_result "not ok" "$1: $2 to $3: $4"
		printf '# %s\n' "${wrong[@]}"
	fi
}

table() { # without|with NAME
	local client target without with
	# shellcheck disable=SC2034 # by their names
	while read -r client target without with <&3; do
		row "$2" "$client" "$target" "${!1}"
	done 3< <(cases)
}

lookup() {
	local name four six port node_port
	while read -r name four six port node_port; do
		CLUSTER_IP[$name/4]=$four CLUSTER_IP[$name/6]=$six PORT[$name]=$port NODE_PORT[$name]=$node_port
	done < <(kubectl get -n shop services -o jsonpath='{range .items[*]}{.metadata.name} {.spec.clusterIPs[0]} {.spec.clusterIPs[1]} {.spec.ports[0].port} {.spec.ports[0].nodePort}{"\n"}{end}')
}

WAIT_SOME=1000
[ -z "${BULKHEAD_SMALL:-}" ] || WAIT_SOME=8000

objects >"$NET_TMP/objects.yaml"
net_check "the API takes the objects" kubectl apply -f "$NET_TMP/objects.yaml"
net_check "and their statuses" statuses
lookup
cluster_proxy
cluster_settled
table without "no policy"

net_check "both nodes load what the API has" cluster_load
table without "no policy under Bulkhead"
net_end
