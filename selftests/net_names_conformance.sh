#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Domain names in egress rules (NPEP-133), with real resolvers and real clients and without an Internet.
#
# The outside host is the authority of all names and the origin server of their addresses. Resolvers: unbound and
# dnsmasq as pods behind Services, and unbound as NodeLocal DNSCache on the node. Clients: glibc, musl (static)
# and, with BULKHEAD_FULL=1, Go; each asks and connects at once to every address of the answer. Before the
# policy every probe connects; these are the allowed twins of all that is denied later.
#
# Nothing above "the policy" and in the probes is about Bulkhead: another implementation replaces apply().
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

for tool in unbound dnsmasq dig musl-gcc; do
	command -v $tool >/dev/null || net_skip "needs $tool"
done
CACHE=169.254.20.10
UNBOUND=10.96.0.53 UNBOUND6=fd96::53 DNSMASQ=10.96.0.54 ROGUE=192.168.7.2
NET_PORTS="443 80"
NET_WAIT_DENIED=400
WAIT=$NET_WAIT_ALLOWED

# ---- names ----

zone() {
	local i
	cat <<-EOF2
	api.example.org 300 A 198.18.0.1
	api.example.org 300 AAAA fd98::1
	only4.example.org 300 A 198.18.0.2
	only6.example.org 300 AAAA fd98::2
	a.svc.example.org 300 A 198.18.0.3
	b.a.svc.example.org 300 A 198.18.0.4
	b.a.svc.example.org 300 AAAA fd98::4
	svc.example.org 300 A 198.18.0.5
	mysvc.example.org 300 A 198.18.0.6
	other.example.org 300 A 198.18.0.7
	other.example.org 300 AAAA fd98::7
	www.api.example.org 300 A 198.18.0.8
	hop.example.org 300 HOP hop1.example.net
	hop8.example.net 300 A 198.18.0.9
	chain.example.org 300 CNAME chain1.example.net
	chain8.example.net 300 A 198.18.0.10
	chain8.example.net 300 AAAA fd98::10
	evil.example.com 300 CNAME target.example.org
	target.example.org 300 A 198.18.0.11
	late.example.org 300 A 198.18.0.12
	turn.example.org 5 TURN 2
	heads.shop.svc.cluster.local 30 A $(net_ip db)
	heads.shop.svc.cluster.local 30 A $(net_ip db2)
	heads.shop.svc.cluster.local 30 AAAA $(net_ip6 db)
	heads.shop.svc.cluster.local 30 AAAA $(net_ip6 db2)
	shut.shop.svc.cluster.local 30 A $(net_ip shut)
	$(net_ip db | tr . -).shop.pod.cluster.local 30 A $(net_ip db)
	other.shop.svc.cluster.local 30 A $(net_ip blind)
	EOF2
	for ((i = 1; i < 8; i++)); do
		echo "hop$i.example.net 300 HOP hop$((i + 1)).example.net"
		echo "chain$i.example.net 300 CNAME chain$((i + 1)).example.net"
	done
	for ((i = 1; i <= 100; i++)); do
		echo "hundred.example.org 300 A 198.18.1.$i"
		echo "hundred.example.org 300 AAAA fd98:1::$i"
	done
	for ((i = 1; i <= 60; i++)); do
		echo "sixty.example.org 300 A 198.18.3.$i"
	done
	for ((i = 1; i <= 6; i++)); do
		echo "turn.example.org 5 A 198.18.2.$i"
	done
}

# ---- the world ----

# Starts a server that says nothing when it listens, and waits for its socket.
serve_dns() { # HOST COMMAND...
	nsenter --net="/run/netns/$NET-$1" "${@:2}" </dev/null >"$NET_TMP/$1.dns" 2>&1 &
	NET_SERVERS+=($!)
	until net_on "$1" ss -Hltn | grep -q ':53 ' && net_on "$1" ss -Hlun | grep -q ':53 '; do
		kill -0 $! 2>/dev/null || { cat "$NET_TMP/$1.dns" && exit 1; }
		sleep 0.05
	done
}

# 0x20 towards the authority; UDP answers to clients of up to 4,096 bytes.
unbound_at() { # HOST ADDRESS...
	local host=$1 address
	shift
	{
		cat <<-EOF2
		server:
		  chroot: ""
		  username: ""
		  directory: "$NET_TMP"
		  pidfile: ""
		  use-syslog: no
		  do-daemonize: no
		  num-threads: 1
		  module-config: "iterator"
		  access-control: 0.0.0.0/0 allow
		  access-control: ::/0 allow
		  use-caps-for-id: yes
		  edns-buffer-size: 4096
		  max-udp-size: 4096
		  minimal-responses: yes
		EOF2
		for address; do
			echo "  interface: $address"
		done
		printf 'forward-zone:\n  name: "."\n  forward-addr: %s@5353\n' "$(net_ip out)"
		printf 'remote-control:\n  control-enable: no\n'
	} >"$NET_TMP/$host.unbound"
	serve_dns "$host" unbound -d -c "$NET_TMP/$host.unbound"
}

dnsmasq_at() { # HOST ADDRESS...
	local host=$1 address addresses=()
	shift
	for address; do
		addresses+=("--listen-address=$address")
	done
	serve_dns "$host" dnsmasq --keep-in-foreground --conf-file=/dev/null --user=root --pid-file= \
		--no-resolv --no-hosts --bind-interfaces "${addresses[@]}" --server="$(net_ip out)#5353" \
		--edns-packet-max=4096 --cache-size=10000
}

origins() {
	awk '/cluster\.local/ || had[$4]++ { next }
		$3 == "A" { print "addr add " $4 "/32 dev lo" }
		$3 == "AAAA" { print "addr add " $4 "/128 nodad dev lo" }' "$NET_TMP/zone" | ip -n "$NET-out" -batch -
}

build_clients() {
	local top
	top=$(cd "$(dirname "$0")/.." && pwd)
	CLIENTS="glibc musl"
	cp "$NET_HELPERS/resolve" "$NET_TMP/resolve-glibc" &&
		musl-gcc -static -D_GNU_SOURCE -O2 -o "$NET_TMP/resolve-musl" \
			"$top/selftests/helpers/resolve.c" || exit 1
	[ -n "${BULKHEAD_FULL:-}" ] || return
	PATH=$PATH:/usr/lib/go-1.19/bin
	command -v go >/dev/null || return
	CLIENTS+=" go"
	GOFLAGS=-mod=mod GOCACHE=$NET_TMP/go GO111MODULE=off CGO_ENABLED=0 \
		go build -o "$NET_TMP/resolve-go" "$top/selftests/helpers/resolve.go" || exit 1
}

# Each group of rows is about its own answers: it has a pod that has asked for nothing before.
mapfile -t CALLERS < <(printf 'web-%d\n' {1..20})
PEERS=(peer-1 peer-2)
service_start dns masq blind db db2 shut "${CALLERS[@]}" "${PEERS[@]}"
service_leads 53/53 dns 53 && service_leads 54/53 masq 53 || exit 1
ip -n "$NET-node" link add nodelocal type veth peer name nodelocal0
ip -n "$NET-node" link set nodelocal0 up
ip -n "$NET-node" link set nodelocal up
ip -n "$NET-node" addr add $CACHE/32 dev nodelocal
zone >"$NET_TMP/zone"
origins
build_clients
net_server out "$NET_TMP/authority" "$NET_HELPERS/authority" "$NET_TMP/zone" "$(net_ip out)" 5353
unbound_at dns "$(net_ip dns)" "$(net_ip6 dns)"
unbound_at node $CACHE
dnsmasq_at masq "$(net_ip masq)" "$(net_ip6 masq)"
dnsmasq_at out $ROGUE # nobody has configured it

# ---- the policy ----

policy() { # [NAME...]: further names
	local name asking
	printf -v asking ', %s' "${CALLERS[@]}" "${PEERS[@]}"
	asking=${asking#, }
	cat <<-EOF2
	apiVersion: policy.networking.k8s.io/v1alpha2
	kind: ClusterNetworkPolicy
	metadata: {name: names}
	spec:
	  tier: Admin
	  priority: 10
	  subject:
	    pods:
	      namespaceSelector: {}
	      podSelector: {matchExpressions: [{key: role, operator: In, values: [$asking]}]}
	  egress:
	  - name: dns
	    action: Accept
	    to:
	    - pods:
	        namespaceSelector: {}
	        podSelector: {matchExpressions: [{key: role, operator: In, values: [dns, masq]}]}
	    - networks: [$CACHE/32, $ROGUE/32]
	    protocols:
	    - udp: {destinationPort: {number: 53}}
	    - tcp: {destinationPort: {number: 53}}
	  - name: names
	    action: Accept
	    to:
	    - domainNames:
	      - API.example.org
	      - "*.svc.example.org."
	      - only4.example.org
	      - only6.example.org
	      - hop.example.org
	      - chain.example.org
	      - hundred.example.org
	      - sixty.example.org
	      - turn.example.org
	      - target.example.org
	      - heads.shop.svc.cluster.local
	      - shut.shop.svc.cluster.local
	      - "*.shop.pod.cluster.local"
	EOF2
	for name; do
		echo "      - $name"
	done
	cat <<-EOF2
	    protocols:
	    - tcp: {destinationPort: {number: 443}}
	    - tcp: {destinationPort: {number: 7443}}
	  - name: nothing-else
	    action: Deny
	    to:
	    - networks: [0.0.0.0/0, "::/0"]
	---
	apiVersion: policy.networking.k8s.io/v1alpha2
	kind: ClusterNetworkPolicy
	metadata: {name: no-dns}
	spec:
	  tier: Admin
	  priority: 20
	  subject:
	    pods: {namespaceSelector: {}, podSelector: {matchLabels: {role: blind}}}
	  egress:
	  - action: Accept
	    to: [domainNames: [api.example.org]]
	  - action: Deny
	    to: [networks: [0.0.0.0/0, "::/0"], namespaces: {}]
	---
	apiVersion: networking.k8s.io/v1
	kind: NetworkPolicy
	metadata: {name: shut, namespace: shop}
	spec:
	  podSelector: {matchLabels: {role: shut}}
	  policyTypes: [Ingress]
	  ingress:
	  - from: [podSelector: {matchLabels: {role: ${PEERS[0]}}}]
	EOF2
}

world_ini() {
	service_endpoints "resolver = $UNBOUND, $UNBOUND6, $DNSMASQ, $CACHE"
	service_object 53/53 dns 53
	service_object 54/53 masq 53
}

apply() { # [NAME...]
	policy "$@" >"$NET_TMP/policy.yaml"
	world_ini >"$NET_TMP/world.ini"
	net_bulkhead load --set dns-grace=1 "$NET_TMP/world.ini" "$NET_TMP/policy.yaml"
}

# ---- probes ----

# Resolves and connects, by one resolver, which a resolv.conf of the caller's own names. Prints each address
# and what became of it.
look_up() { # POD CLIENT RESOLVER NAME WAIT PORT [4|6]
	printf '%s\n' "nameserver $3" "search shop.svc.cluster.local svc.cluster.local cluster.local" \
		"options ndots:5 timeout:2 attempts:4${OPTION:+ $OPTION}" >"$NET_TMP/resolv.conf"
	# shellcheck disable=SC2016
	net_on "$1" timeout 60 unshare --mount sh -c 'mount --bind "$1/resolv.conf" /etc/resolv.conf &&
		exec "$1/resolve-$2" "$3" "$4" "$5" $6' sh "$NET_TMP" "$2" "$4" "${6:-443}" "$5" "${7:-}" |
		sed 's/ late$/ ok/' | sort
}

each() { # RESULT ADDRESS...
	local address
	for address in "${@:2}"; do
		echo "$address $1"
	done | sort
}

reaches() { # POD CLIENT RESOLVER NAME ADDRESS...
	net_check "$1, $2, by $3: reaches $4" net_is "$(look_up "$1" "$2" "$3" "$4" "$WAIT")" \
		"$(each ok "${@:5}")"
}

# Before the policy, what is denied later connects.
misses() { # POD CLIENT RESOLVER NAME ADDRESS...
	local result=silent wait=$NET_WAIT_DENIED
	[ -z "$OPEN" ] || result=ok wait=$WAIT
	net_check "$1, $2, by $3: ${OPEN:+without the policy }$result at $4" net_is \
		"$(look_up "$1" "$2" "$3" "$4" "$wait")" "$(each $result "${@:5}")"
}

of() { # NAME TYPE: its addresses
	awk -v name="$1" -v type="$2" '$1 == name && $3 == type { print $4 }' "$NET_TMP/zone"
}

# Sets `web` to the next pod that has asked for nothing.
caller=0
afresh() {
	[ -z "$OPEN" ] || { web=${CALLERS[0]} && return; }
	caller=$((caller + 1))
	[ $caller -lt ${#CALLERS[@]} ] || { echo "# too few callers" && exit 1; }
	web=${CALLERS[caller]}
}

# The rows of the proposal's text that one client and one resolver answer.
names() { # CLIENT RESOLVER
	local client=$1 by=$2
	afresh
	reaches "$web" "$client" "$by" api.example.org 198.18.0.1 fd98::1
	reaches "$web" "$client" "$by" ONLY4.eXample.ORG 198.18.0.2
	reaches "$web" "$client" "$by" only6.example.org. fd98::2
	reaches "$web" "$client" "$by" a.svc.example.org 198.18.0.3
	reaches "$web" "$client" "$by" b.A.svc.example.org 198.18.0.4 fd98::4
	reaches "$web" "$client" "$by" chain.example.org 198.18.0.10 fd98::10
	misses "$web" "$client" "$by" svc.example.org 198.18.0.5
	misses "$web" "$client" "$by" mysvc.example.org 198.18.0.6
	misses "$web" "$client" "$by" other.example.org 198.18.0.7 fd98::7
	misses "$web" "$client" "$by" www.api.example.org 198.18.0.8
	# whose owner could give the address of the permitted name as he likes
	misses "$web" "$client" "$by" evil.example.com 198.18.0.11
	reaches "$web" "$client" "$by" target.example.org 198.18.0.11
}

# Pods by the names that Kubernetes gives them: headless Services, and pods. The other pod's ingress decides, too.
pods() { # CLIENT RESOLVER
	local client=$1 by=$2
	afresh
	reaches "$web" "$client" "$by" heads.shop.svc.cluster.local. "$(net_ip db)" "$(net_ip db2)" "$(net_ip6 db)" \
		"$(net_ip6 db2)"
	reaches "$web" "$client" "$by" heads.shop.svc "$(net_ip db)" "$(net_ip db2)" "$(net_ip6 db)" "$(net_ip6 db2)"
	reaches "$web" "$client" "$by" "$(net_ip db | tr . -).shop.pod.cluster.local." "$(net_ip db)"
	misses "$web" "$client" "$by" other.shop.svc.cluster.local. "$(net_ip blind)"
	misses "$web" "$client" "$by" shut.shop.svc.cluster.local. "$(net_ip shut)"
	reaches "${PEERS[0]}" "$client" "$by" shut.shop.svc.cluster.local. "$(net_ip shut)"
}

# An answer teaches the pod that asked, for the ports of the rule, and no other.
scope() {
	afresh
	[ -n "$OPEN" ] || net_denied "$web" tcp 198.18.0.2 443 "an address before its name was asked for"
	reaches "$web" glibc $UNBOUND only4.example.org 198.18.0.2
	net_allowed "$web" tcp 198.18.0.2 443 "the address by itself once its name was asked for"
	[ -n "$OPEN" ] || net_denied "$web" tcp 198.18.0.2 80 "another port of the address"
	[ -n "$OPEN" ] || net_denied "${PEERS[1]}" tcp 198.18.0.2 443 "a pod that has not asked"
	reaches "${PEERS[1]}" glibc $UNBOUND only4.example.org 198.18.0.2
	net_allowed "${PEERS[1]}" tcp 198.18.0.2 443 "the pod once it has asked"
	afresh
	misses "$web" glibc $ROGUE api.example.org 198.18.0.1 fd98::1
	reaches "$web" glibc $UNBOUND api.example.org 198.18.0.1 fd98::1
	reaches "$web" glibc $UNBOUND6 only4.example.org 198.18.0.2
}

ask() { # POD RESOLVER NAME ARGUMENT...: prints the addresses
	net_on "$1" dig +short +tries=3 +time=5 "@$2" "$3" "${@:4}" | sort
}

asks() { # NAME POD RESOLVER NAME ARGUMENT...: all addresses come
	local addresses
	addresses=$(ask "${@:2}")
	net_check "$1: all addresses of $4" net_is "$addresses" "$(of "$4" "${5:-A}" | sort)"
}

last() { # NAME: an answer's whole length counts
	local address
	for address in 1 28 29 73 74 100; do
		net_allowed "$web" tcp 198.18.1.$address 443 "$1: address $address of 100"
	done
}

# Messages of up to 4,096 bytes over UDP, and any over TCP.
sizes() {
	afresh
	# shellcheck disable=SC2046
	reaches "$web" glibc $UNBOUND hundred.example.org $(of hundred.example.org A) $(of hundred.example.org AAAA)
	last "TCP after truncation, glibc"
	# in one packet: of an answer in fragments, the first one teaches
	for pod in "${CALLERS[@]}" dns masq; do
		ip -n "$NET-node" link set "veth-$pod" mtu 9000
		ip -n "$NET-$pod" link set eth0 mtu 9000
	done
	afresh
	asks "UDP of 4,096" "$web" $UNBOUND hundred.example.org A +bufsize=4096 +ignore
	last "UDP of 4,096"
	afresh
	asks "UDP of 4,096 by dnsmasq" "$web" $DNSMASQ hundred.example.org A +bufsize=4096 +ignore
	last "UDP of 4,096 by dnsmasq"
	afresh
	asks "UDP of 1,232" "$web" $UNBOUND sixty.example.org A +bufsize=1232 +ignore
	net_allowed "$web" tcp 198.18.3.60 443 "UDP of 1,232: the last address"
	afresh
	asks "TCP at once" "$web" $UNBOUND hundred.example.org A +tcp
	last "TCP at once"
	afresh
	OPTION=use-vc reaches "$web" glibc $UNBOUND api.example.org 198.18.0.1 fd98::1
	afresh
	OPTION=edns0 reaches "$web" glibc $UNBOUND api.example.org 198.18.0.1 fd98::1
	# the resolver asks eight times, and answers once with the whole chain
	afresh
	reaches "$web" glibc $UNBOUND hop.example.org 198.18.0.9
}

until_denied() { # POD ADDRESS PORT
	local i
	for ((i = 0; i < 120; i++)); do
		net_ask "$1" tcp "$2" "$3" $NET_WAIT_DENIED || return 0
		sleep 0.5
	done
	return 1
}

# Each answer has two of six addresses for 5 s: the next ones open and the last ones close, for new connections.
turns() {
	local first second i
	afresh
	net_check "a load of a policy with one name more" apply late.example.org
	first=$(ask "$web" $UNBOUND turn.example.org)
	net_check "two addresses at a time" net_is "$(echo "$first" | wc -l)" 2
	first=${first%%$'\n'*}
	net_allowed "$web" tcp "$first" 443 "an address of the first answer"
	net_check "a connection to that address" net_hold "$web" out "$first" 7443 1
	for ((i = 0; i < 60; i++)); do
		second=$(ask "$web" $UNBOUND turn.example.org)
		[[ $second != *"$first"* ]] && break
		sleep 0.5
	done
	second=${second%%$'\n'*}
	net_allowed "$web" tcp "$second" 443 "an address of a later answer"
	net_check "the first answer's time ends" until_denied "$web" "$first" 443
	net_check "a connection to an address whose time is over goes on" net_is "$(net_alive 7443)" 1
	net_check "a load of the same policy" apply late.example.org
	net_check "the connection goes on after a load of the same policy" net_is "$(net_alive 7443)" 1
	reaches "$web" glibc $UNBOUND late.example.org 198.18.0.12
	net_check "a load of a policy without a name" apply
	net_denied "$web" tcp 198.18.0.12 443 "the name that is no longer there"
	reaches "$web" glibc $UNBOUND api.example.org 198.18.0.1 fd98::1
}

no_dns() {
	net_check "a pod without a rule for DNS: ${OPEN:+without the policy }$([ -n "$OPEN" ] || echo no) answer" \
		net_is "$(net_on blind dig +short +tries=1 +time=2 @$UNBOUND api.example.org A | grep -v '^;')" \
		"${OPEN:+198.18.0.1}"
}

OPEN=yes OPTION=
names glibc $UNBOUND
pods glibc $UNBOUND
scope
no_dns
OPEN=
net_check "a first load" apply
for client in $CLIENTS; do
	names "$client" $UNBOUND
done
names glibc $DNSMASQ
names musl $CACHE
pods glibc $UNBOUND
pods musl $DNSMASQ
[ -z "${BULKHEAD_FULL:-}" ] || names glibc $CACHE
scope
no_dns
sizes
turns
net_check "unload" net_bulkhead unload
net_allowed "$web" tcp 198.18.0.7 443 "everything after the unload"
net_end
