#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Services under the real kube-proxy: which backends each caller reaches, without policy and with policy,
# by every kind of address that a Service has. `make check-kube` starts the control plane and runs this.
# BULKHEAD_SMALL=1: one Service of each kind.
# shellcheck source=selftests/lib/cluster.sh
. "$(dirname "$0")/lib/cluster.sh"

# The callers and who may be called:
# web     may call role=server and role=target at port 8080, and DNS
# wide    may call every address that is no pod's
# range   may call the Services' own addresses, which allows nothing
# shut    may call no pod
# open    is isolated in no direction, and no server admits it
# s1, s2  admit the callers whose row names them, and the outside host, at port 8080
# x1, x2  admit everybody; web may not call them
# y1, y2  admit no caller; web may call them
# With BULKHEAD_SMALL there is one caller and server of each kind, and one kube-proxy.
SMALL="local remote x-local x-remote y-local half-remote own-web host-own node-x node-both external kube-dns"
[ -z "${BULKHEAD_SMALL:-}" ] || CLUSTER_PROXIED=worker-1

# Prints the lines of standard input whose column COLUMN names one of the Services under test.
small() { # COLUMN
	awk -v small="${BULKHEAD_SMALL:+$SMALL}" -v column="$1" '
		BEGIN { n = split(small, names); for (i in names) kept[names[i]] }
		{ name = $column; sub(/@.*/, "", name) }
		!n || (name in kept && !/@worker-2/)'
}

cluster_services() {
	small 2 <<-EOF
	shop local        80 8080 -     s1
	shop remote       80 8080 -     s2
	shop both         80 8080 -     s1,s2
	shop x-local      80 8080 -     x1
	shop x-remote     80 8080 -     x2
	shop y-local      80 8080 -     y1
	shop y-remote     80 8080 -     y2
	shop half-local   80 8080 -     s1,x1
	shop half-remote  80 8080 -     s2,x2
	shop half-mixed   80 8080 -     s1,x2
	shop own-web      80 8080 -     web
	shop own-shut     80 8080 -     shut
	shop host-own     80 8080 -     worker-1
	shop host-remote  80 8080 -     worker-2
	shop none         80 8080 -     -
	shop port-local   8080 9090 -   s1
	shop port-remote  8080 9090 -   s2
	shop sticky       80 8080 -     s1,s2   sessionAffinity: ClientIP,
	shop sticky-half  80 8080 -     s1,x1   sessionAffinity: ClientIP,
	shop node-both    80 8080 30080 s1,s2   type: NodePort,
	shop node-y       80 8080 30081 y1,y2   type: NodePort,
	shop keep-s       80 8080 30082 s1      type: NodePort, externalTrafficPolicy: Local,
	shop keep-y       80 8080 30083 y1      type: NodePort, externalTrafficPolicy: Local,
	shop node-far     80 8080 30084 s2      type: NodePort,
	shop node-x       80 8080 30086 x1,x2   type: NodePort,
	shop external     80 8080 -     s1,s2   externalIPs: [198.51.100.10, "fd51::10"],
	shop external-y   80 8080 -     y1,y2   externalIPs: [198.51.100.11, "fd51::11"],
	shop balancer     80 8080 30085 s1,s2   type: LoadBalancer,
	kube-system kube-dns 53 53 - dns1,dns2 clusterIP: 10.96.0.10, clusterIPs: [10.96.0.10, "fd96::a"],
	EOF
}

cluster_pods() {
	cat <<-EOF
	shop web worker-1 "role": "web", "admitted": "yes"
	shop wide worker-1 "role": "wide", "admitted": "yes"
	shop range worker-1 "role": "range", "admitted": "yes"
	shop shut worker-1 "role": "shut", "admitted": "yes"
	shop open worker-1 "role": "open"
	shop s1 worker-1 "role": "server"
	shop s2 worker-2 "role": "server"
	shop x1 worker-1 "role": "other"
	shop x2 worker-2 "role": "other"
	shop y1 worker-1 "role": "target"
	shop y2 worker-2 "role": "target"
	shop worker-1 worker-1 "role": "host"
	shop worker-2 worker-2 "role": "host"
	kube-system dns1 worker-1 "k8s-app": "kube-dns"
	kube-system dns2 worker-2 "k8s-app": "kube-dns"
	shop just worker-1 "role": "just", "admitted": "yes"
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
	{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: just, namespace: shop},
	 spec: {podSelector: {matchLabels: {role: just}}, policyTypes: [Egress], egress: [
	  {to: [{podSelector: {matchLabels: {role: server}}}]},
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

# Writes the load balancer's addresses into the Services' status, as a cloud's controller does.
balancer_status() {
	kubectl get -n shop service balancer -o json |
		sed 's/"loadBalancer": {}/"loadBalancer": {"ingress": [{"ip": "198.51.100.20"}, {"ip": "fd51::20"}]}/' |
		kubectl replace --raw /api/v1/namespaces/shop/services/balancer/status -f -
}

# Caller, called address, and who answers without policy and with policy. `a+b` means that each of them
# answers some of the calls, `no` is no answer. `a|b` means that one of them answers all calls, as the
# first packet decides. Another node's NodePort is an ordinary address, which `wide` may call.
cases() {
	small 2 <<-EOF
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
	just   local            s1        s1
	just   remote           s2        s2
	just   x-local          x1        no
	just   x-remote         x2        no
	just   y-local          y1        no
	just   half-local       s1+x1     no+s1
	just   half-remote      s2+x2     no+s2
	just   host-remote      host-2    no
	just   node-far@worker-1    s2    no
	just   keep-s@worker-1      s1    s1
	just   node-x@worker-1      x1+x2 no
	just   node-x@worker-2      x1+x2 no
	just   external-y@198.51.100.11,fd51::11  y1+y2 no
	wide   local            s1        no
	wide   remote           s2        no
	wide   x-local          x1        no
	wide   x-remote         x2        no
	wide   half-remote      s2+x2     no
	wide   host-own         host-1    host-1
	wide   host-remote      host-2    host-2
	wide   node-both@worker-1   s1+s2 no
	wide   node-x@worker-1      x1+x2 no
	wide   node-x@worker-2      x1+x2 x1+x2
	wide   node-both@worker-2   s1+s2 no+s2
	wide   node-y@worker-2      y1+y2 no
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
	shut   node-x@worker-1      x1+x2 no
	shut   external@198.51.100.10,fd51::10    s1+s2 no
	shut   balancer@198.51.100.20,fd51::20    s1+s2 no
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

# TRIES calls are enough to see each of two backends answer once.
TRIES=${BULKHEAD_SMALL:+8}
TRIES=${TRIES:-32}
answers() { # CLIENT PROTOCOL ADDRESS PORT WAIT TRIES
	net_on "$1" "$NET_HELPERS/backend" ask "$2" "$3" "$4" "$5" "$6" |
		sed 's/ from .*//; s/^silent$\|^refused$/no/'
}

# With session affinity (a|b) the first call decides which backend answers, so one call is made before the
# others.
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
			address=$(cluster_address "$3" $family)
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

table() { # without|with WHEN
	local client target without with
	# shellcheck disable=SC2034 # by their names
	while read -r client target without with <&3; do
		row "$2" "$client" "$target" "${!1}"
	done 3< <(cases)
}

# Cluster DNS: a responder runs in each backend of kube-dns. The C library resolves names through
# kube-dns' IPv4 and IPv6 address.
dns_serve() {
	local pod service records=()
	for service in remote x-remote; do
		records+=("--host-record=$service.shop.svc.cluster.local,${CLUSTER_IP[$service/4]},${CLUSTER_IP[$service/6]}")
	done
	for pod in dns1 dns2; do
		nsenter --net="/run/netns/$NET-$pod" dnsmasq --keep-in-foreground --conf-file=/dev/null \
			--user=root --pid-file= --no-resolv --no-hosts --bind-interfaces \
			--listen-address="$(net_ip $pod)" --listen-address="$(net_ip6 $pod)" "${records[@]}" \
			</dev/null >"$NET_TMP/$pod.log" 2>&1 &
		NET_SERVERS+=($!)
	done
	# The mount hides the machine's own file, and ends with this test's mount namespace.
	touch "$NET_TMP/resolv.conf" && mount --bind "$NET_TMP/resolv.conf" /etc/resolv.conf
}

# Caller, name, and the servers that answer without policy and with policy.
names() {
	cat <<-EOF
	just  remote     s2  s2
	just  x-remote   x2  no
	web   remote     s2  s2
	web   x-remote   x2  no
	wide  remote.shop.svc.cluster.local.  s2  unknown
	shut  remote.shop.svc.cluster.local.  s2  unknown
	EOF
}

# Resolves by one server over UDP or TCP. A server that policy denies is not asked over TCP: the C library
# would wait for minutes.
resolve_by() { # WHEN CLIENT NAME EXPECTED SERVER OPTIONS
	[[ $4 != unknown || $6 != *use-vc* ]] || return 0
	cat >"$NET_TMP/resolv.conf" <<-EOF
	nameserver $5
	search shop.svc.cluster.local svc.cluster.local cluster.local
	options ndots:5 $6
	EOF
	net_check "$1: $2 to $3 by name, from $5, $6: $4" net_is "$(observed "$2" tcp "$3" 80 "$4")" "$4"
}

resolve() { # without|with WHEN
	local client name without with server
	# shellcheck disable=SC2034 # by their names
	while read -r client name without with <&3; do
		for server in 10.96.0.10 fd96::a; do
			resolve_by "$2" "$client" "$name" "${!1}" $server "timeout:2"
			resolve_by "$2" "$client" "$name" "${!1}" $server "timeout:2 use-vc"
		done
	done 3< <(names)
}

# kube-proxy does not translate a packet to a port that the Service lacks. Such a packet leaves the node by
# the default route, and the outside host counts it.
count_untranslated() {
	net_on out iptables -t raw -A PREROUTING -d 10.96.0.0/16 &&
		net_on out ip6tables -t raw -A PREROUTING -d fd96::/112
}

untranslated() { # CLIENT: how many packets of either version left the cluster
	local family
	for family in 4 6; do
		net_on out "ip${family#4}tables" -t raw -Z PREROUTING
		answers "$1" udp "${CLUSTER_IP[local/$family]}" 81 "$NET_WAIT_DENIED" 1 >/dev/null
		net_on out "ip${family#4}tables" -t raw -nvxL PREROUTING | awk 'NR > 2 { print $1 }'
	done | paste -sd ' '
}

# The API server's own Service has a backend outside the cluster.
server_answers() { # CLIENT
	net_on "$1" kubectl --server=https://10.96.0.1 --request-timeout=3s get --raw /readyz
}

server_silent() { # CLIENT
	! server_answers "$1"
}

WAIT_SOME=1000

cluster_start
[ -n "${BULKHEAD_SMALL:-}" ] || net_check "the load balancer has its addresses" balancer_status
dns_serve
net_check "the outside host counts untranslated packets" count_untranslated
cluster_settled
table without "no policy"
resolve without "no policy"
# With IPVS the node has the Service's address itself, so that no packet leaves.
outside="1 1"
[ "$PROXY_MODE" != ipvs ] || outside="0 0"
net_check "no policy: packets to a port that a Service lacks leave the cluster: $outside" net_is "$(untranslated wide)" "$outside"
if [ -z "${BULKHEAD_SMALL:-}" ]; then
	net_check "both nodes load what the API has" cluster_load
	table without "no policy under Bulkhead"
	resolve without "no policy under Bulkhead"
fi

cluster_apply "the API takes the policies" policies
net_check "both nodes load what the API has" cluster_load
table with policy
resolve with policy
for client in web wide range open; do
	net_check "policy: $client's packets to a port that a Service lacks leave no node" \
		net_is "$(untranslated $client)" "0 0"
done
net_check "policy: wide reaches the API server by its Service" server_answers wide
net_check "policy: web does not reach the API server by its Service" server_silent web
net_end
