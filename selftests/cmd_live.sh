#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# trace, matrix and show of the active maps print the same as of the inputs that were loaded.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 443"
net_start db web
cat >"$NET_TMP/policy.ini" <<END
[endpoint shop/db]
node = worker-1
ip = $(net_ip db), $(net_ip6 db)
labels = role=db
port = api TCP/443

[endpoint shop/web]
node = worker-1
ip = $(net_ip web), $(net_ip6 web)

[endpoint shop/idle]
node = worker-2
ip = 10.9.0.1
labels = role=idle

[network-policy shop/idle]
endpoints = role=idle
types = Ingress

[network-policy shop/db]
endpoints = role=db
ingress = from cidr(172.17.0.0/16 except 172.17.1.0/24) ports TCP/80
ingress = from endpoints() ports api
END
for from in shop/db shop/web 172.17.0.9 172.17.1.9 fd07::2; do
	for port in TCP/80 TCP/443 UDP/443 ICMP; do
		echo "$from shop/db $port"
		echo "shop/db $from $port"
	done
done >"$NET_TMP/flows"

says() { # NAME PATTERN ARGUMENT...: of the maps
	local name=$1 pattern=$2
	shift 2
	net_check "$name" sh -c 'pattern=$1; shift; "$@" | grep -E -- "$pattern"' - "$pattern" \
		"$BULKHEAD" "$@" --pin "$NET_PIN"
}

nothing_active() {
	net_bulkhead trace --batch "$NET_TMP/flows" 2>"$NET_TMP/why"
	[ $? -eq 2 ] && grep 'nothing is active' "$NET_TMP/why"
}

same() { # ARGUMENT...: of the maps and of the input
	"$BULKHEAD" "$@" --pin "$NET_PIN" >"$NET_TMP/maps" &&
		"$BULKHEAD" "$@" "$NET_TMP/policy.ini" >"$NET_TMP/input" &&
		[ -s "$NET_TMP/maps" ] && diff "$NET_TMP/maps" "$NET_TMP/input"
}

# trace -v of the maps prints the same as of the compiled file.
explains_same() { # PORT
	set -- trace -v --from shop/web --to shop/db --port "$1"
	"$BULKHEAD" "$@" --pin "$NET_PIN" >"$NET_TMP/maps" 2>"$NET_TMP/why"
	"$BULKHEAD" "$@" "$NET_TMP/policy.bhp" >"$NET_TMP/input"
	diff "$NET_TMP/maps" "$NET_TMP/input" && [ ! -s "$NET_TMP/why" ] && cat "$NET_TMP/maps"
}

explains() { # PORT PATTERN
	explains_same "$1" | grep -E -- "$2"
}

net_check "before load, trace, matrix and show say that nothing is active" nothing_active
net_check "load" net_bulkhead load -n worker-1 "$NET_TMP/policy.ini"
net_check "trace of the maps says the same as of the inputs" same trace --batch "$NET_TMP/flows"
net_check "trace -j of the maps says the same as of the inputs" same -j trace --batch "$NET_TMP/flows"
"$BULKHEAD" compile -o "$NET_TMP/policy.bhp" "$NET_TMP/policy.ini" >/dev/null
net_check "trace -v of the maps says the same as of the compiled file" explains_same TCP/443
net_check "trace -v names the rule that decides a port" \
	explains TCP/443 '^      allow network-policy shop/db/ingress\[1\]: TCP/443$'
net_check "trace -v names who isolates at the other ports" explains TCP/443 \
	'^      deny network-policy, isolated by shop/db: TCP/0-442, TCP/444-65535, UDP, SCTP, other$'
net_check "trace -v names a policy that decides nothing" explains TCP/443 'shop/idle: does not select$'
# The chain of policies and rules is that of the inputs, which have files and lines; the maps add the verdict on each port.
chain_of_inputs() { # PORT
	"$BULKHEAD" trace -v --from shop/web --to shop/db --port "$1" "$NET_TMP/policy.ini" |
		sed 's/ ([^()]*:[0-9]*)$//' >"$NET_TMP/chain"
	explains_same "$1" >"$NET_TMP/both"
	[ -s "$NET_TMP/chain" ] && ! grep -vxFf "$NET_TMP/both" "$NET_TMP/chain"
}
net_check "trace -v of the maps has the inputs' policies and rules for an allowed flow" chain_of_inputs TCP/443
net_check "trace -v of the maps has the inputs' policies and rules for a denied flow" chain_of_inputs TCP/80
net_check "trace -v names what selects the segment" explains TCP/80 '^    segment [0-9]+, of endpoints\(role=db in shop\)[;,]'
net_check "trace -v says where no policy applies" explains TCP/80 'no policy selects it in this direction'
net_check "matrix of the maps says the same as of the inputs" same matrix --port TCP/80,TCP/443
net_check "show segments of the maps says the same as of the inputs" same show segments
net_check "show endpoints of the maps says the same as of the inputs" same -p show endpoints

net_allowed web tcp "$(net_ip db)" 443 "an allowed connection opens"
net_denied web tcp "$(net_ip db)" 80 "a denied connection does not open"
says "the rule has a hit" ' +[1-9][0-9]*  shop/db/ingress\[1\]$' show rules
says "a rule that decided nothing has no hit" ' +0  shop/db/ingress\[0\]$' show rules
says "isolation is counted for the policy that isolates" 'ingress +- +[1-9][0-9]*  isolated by shop/db$' show rules
says "isolation by a policy that selects others is not counted" 'ingress +- +0  isolated by shop/idle$' show rules
says "show rules -j has the isolation's hits" '"policy":"shop/db","ingress":true,"egress":false,"hits":[1-9]' -j show rules
says "the denial is counted" '^drop +[1-9][0-9]* packets .*destination.s policy$' show counters
says "show conntrack has the connection" "^shop/web \($(net_ip web):[0-9]+\) +shop/db \($(net_ip db)\) +TCP/443 .*ingress allow$" show conntrack
says "show conntrack -j has the connection" '"destination":"'"$(net_ip db)"'","destination_name":"shop/db","port":"TCP/443"' -j show conntrack
says "--to leaves others out" "^shop/web .* shop/db " show conntrack --to shop/db
never() { # NAME PATTERN ARGUMENT...: of the maps
	local name=$1 pattern=$2
	shift 2
	net_check "$name" sh -c 'pattern=$1; shift; "$@" >"$0" && ! grep -E -- "$pattern" "$0"' \
		"$NET_TMP/out" "$pattern" "$BULKHEAD" "$@" --pin "$NET_PIN"
}
never "none is from shop/db" TCP/443 show conntrack --from shop/db
never "no connection is at another port" TCP/443 show conntrack --port TCP/80
says "--port has the connection at its port" TCP/443 show conntrack --port TCP/443 --namespace shop
refuses() { # PATTERN ARGUMENT...
	local pattern=$1
	shift
	net_bulkhead "$@" 2>"$NET_TMP/why"
	[ $? -eq 2 ] && grep -F -- "$pattern" "$NET_TMP/why"
}
net_check "show endpoints has the interface" grep -E "^shop/db .* veth-db +$(net_ip db) +segment" \
	<(net_bulkhead show endpoints)
net_check "show endpoints -j has the interface" grep -E '"name":"shop/db",.*"interface":"veth-db"' \
	<(net_bulkhead show endpoints -j)
net_check "an unknown namespace is refused" refuses 'did you mean `shop`?' show conntrack --namespace shpo
net_check "a filter that cannot apply is refused" refuses 'counters: takes no filter' show counters --port TCP/80
says "rules between two ends: isolation" 'isolated by shop/db$' show rules --from shop/web --to shop/db
never "at one port not those of another" 'ingress.0' show rules --from shop/web --port TCP/443
says "--port has the rule of that port" 'ingress.1.$' show rules --from shop/web --port TCP/443
db=$(net_bulkhead show endpoints | sed -n 's/^shop\/db .*segment \([0-9]*\).*/\1/p')
tells() { # PATTERN
	net_bulkhead status | grep -E -- "$1"
}
net_check "status has an interface's endpoint and segment" \
	tells "^  veth-db +endpoint, .*: shop/db in segment $db$"
says "status -j has the endpoint's segment" '"pods":\[\{"namespace":"shop","name":"db","segment":'"$db"'\}\]' -j status
sed 's/TCP\/80$/TCP\/81/' "$NET_TMP/policy.ini" >"$NET_TMP/next.ini"
differs() { # PATTERN ARGUMENT...
	local pattern=$1
	shift
	net_bulkhead diff "$@" >"$NET_TMP/out"
	[ $? -eq 1 ] && grep -E -- "$pattern" "$NET_TMP/out"
}
net_check "diff compares with the active policy" differs '^172.17.0.0/16 -> shop/db$' "$NET_TMP/next.ini"
net_check "diff of the active policy prints nothing" net_is "$(net_bulkhead diff "$NET_TMP/policy.ini" && echo same)" same
says "show generation has the generation" '^active as generation [1-9]' show generation

says "endpoint add -j has isolation and map writes" '^\{"isolated":true,"map_writes":[1-9][0-9]*\}$' -j endpoint add lab/late --ip 10.9.0.2
says "endpoint del -j has isolation and map writes" '^\{"isolated":false,"map_writes":[1-9][0-9]*\}$' -j endpoint del lab/late
net_check "load another policy" net_bulkhead load "$NET_TMP/next.ini"
net_check "load the first policy's file again" net_bulkhead load --rollback "$NET_TMP/policy.bhp"
net_check "trace -v explains ports by name after a rollback" explains_same TCP/443
net_check "unload" net_bulkhead unload
debug() { # PATTERN ARGUMENT...
	local pattern=$1
	shift
	net_bulkhead load "$@" -n worker-1 "$NET_TMP/policy.ini" 2>&1 >/dev/null | grep -E -m 1 -- "$pattern"
}
net_check "load -d prints how many instructions the verifier walked" debug '^processed [0-9]+ insns' -d
net_check "unload where nothing is loaded" net_bulkhead unload
net_check "unload -j where nothing is loaded" net_is "$(net_bulkhead unload -j)" '{"unloaded":true}'
net_check "load without -d prints nothing of the verifier" eval '! debug "processed [0-9]+ insns"'

net_end
