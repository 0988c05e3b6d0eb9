#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# endpoint set: changes the labels or ports of an active endpoint in one step; the endpoint is never
# unguarded.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web late
db4=$(net_ip db) late4=$(net_ip late) late6=$(net_ip6 late)
net_policy_of "TCP/80, UDP/1080" "TCP/80, UDP/1080, redis" >"$NET_TMP/policy.ini"
sed -i 's/^labels = role=db/&\nport = redis TCP\/6379/' "$NET_TMP/policy.ini"
cat >>"$NET_TMP/policy.ini" <<EOF
[network-policy shop/redis]
endpoints = role=db
ingress = from endpoints(role=web) ports redis
[network-policy shop/other]
endpoints = role=other
types = Ingress, Egress
[network-policy shop/more]
endpoints = more=no
ingress = from endpoints(role=web) ports TCP/9
EOF

set_late() {
	net_bulkhead endpoint set shop/late "$@"
}
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_check "set refuses an endpoint that is not active" net_ends 2 "shop/late is not active here" set_late --labels role=web
net_check "set refuses to set nothing" net_ends 2 "set needs" set_late
net_check "add late as a web" net_bulkhead endpoint add shop/late --ip "$late4, $late6" \
	--mac "$(net_mac late)" --labels role=web
net_allowed late tcp "$db4" 80 "late reaches db as a web"
net_check "set late's labels to a db's, and its port's number" \
	set_late --labels role=db --named-port "redis TCP/6379"
net_allowed web tcp "$late4" 6379 "late is reached as a db at its number of the port's name"
net_denied web tcp "$late4" 443 "late is reached at no other port"
net_allowed web tcp "$late6" 80 "late is reached as a db over IPv6"
net_denied out tcp "$late6" 80 "the outside does not reach late"
net_denied late tcp "$db4" 80 "late does not reach db any more"
net_check "endpoint list has late once" net_is "$(net_bulkhead endpoint list | grep -c "shop/late.*$late4")" 1
net_check "load after the set" net_bulkhead load "$NET_TMP/policy.ini"
net_allowed web tcp "$late4" 6379 "late is a db after the load"
net_denied out tcp "$late4" 80 "late is guarded after the load"
net_check "set other labels and no port" set_late --labels role=db,more=yes
net_allowed web tcp "$late4" 6379 "late keeps its number of the port's name"
net_denied web tcp "$late4" 443 "late keeps being closed at other ports"

# The two sets of labels are two segments. All the while, outside sends packets that neither set allows, and web a
# flow that both allow.
net_stream late recv 1443 1080
net_stream out send "$late4" 1443
net_stream web send "$late4" 1080
for ((i = 0; i < 20; i++)); do
	labels=role=db
	[ $((i % 2)) -eq 0 ] || labels=role=db,more=no
	set_late --labels $labels || break
done >"$NET_TMP/sets" 2>&1
net_check "set late's labels twenty times" net_is "$i" 20
net_stream_end
net_check "the outside tried to reach late meanwhile" test "$(net_count out 1443)" -gt 10
net_check "no packet from the outside arrived" net_is "$(net_count late 1443)" 0
net_check "the flow that both labels allow lost no packet" net_is "$(net_count late 1080)" "$(net_count web 1080)"

net_check "set labels that no segment has and a policy isolates" set_late --labels role=other
net_denied web tcp "$late4" 80 "late is isolated"
net_check "trace names the policy that isolates late" net_ends 1 "isolated by shop/other" \
	net_bulkhead trace --from shop/web --to shop/late --port TCP/80
net_check "set labels that no segment has and no policy selects" set_late --labels role=free
net_allowed out tcp "$late4" 443 "anybody reaches late"
net_allowed out tcp "$late6" 443 "anybody reaches late over IPv6"
net_denied late tcp "$db4" 80 "late is no web any more"
net_check "set the isolated labels again" set_late --labels role=other

# For an endpoint of the loaded policy, the change lasts until the next load.
net_check "set of an endpoint of the policy needs its labels" net_ends 2 "its labels have to be given" \
	net_bulkhead endpoint set shop/web --named-port "x TCP/1"
net_check "set the policy's web to another role" net_bulkhead endpoint set shop/web --labels role=other
net_denied web tcp "$db4" 80 "web does not reach db any more"
net_check "trace denies web" net_ends 1 "^deny shop/web" \
	net_bulkhead trace --from shop/web --to shop/db --port TCP/80
net_check "load after the set of web" net_bulkhead load "$NET_TMP/policy.ini"
net_allowed web tcp "$db4" 80 "web reaches db again"
net_denied web tcp "$db4" 443 "web reaches no other port"
net_check "the same load again writes nothing" net_is "$(net_writes "$NET_TMP/policy.ini")" 0

# The policy is pinned as a delta then, which the change reads as a whole.
net_check "set late to labels that no segment has" set_late --labels role=free
net_check "set late to a web again" set_late --labels role=web
net_check "set the policy's web to labels that no segment has" net_bulkhead endpoint set shop/web --labels role=none
net_check "web has a segment of this node's own" net_ends 0 "^shop/web  $(net_ip web)  segment 1073741[0-9]*  veth-web  added" \
	net_bulkhead endpoint list
net_denied web tcp "$db4" 80 "web, of another role, does not reach db"
net_check "load after the second set of web" net_bulkhead load "$NET_TMP/policy.ini"
net_allowed web tcp "$db4" 80 "web reaches db after that load"

# Killed at any change of state, the command leaves the old or the new labels, and the next command
# succeeds.
net_check "set late to a db again" set_late --labels role=db
walk() {
	local n=0
	while n=$((n + 1)) && net_fault state $n kill endpoint set shop/late --labels role=db,more=no,a=$n; [ $? -eq 99 ]; do
		! net_ask out tcp "$late4" 80 $NET_WAIT_DENIED && net_ask web tcp "$late4" 80 $NET_WAIT_ALLOWED ||
			{ echo "killed at $n" && return 1; }
		set_late --labels role=db || return 1
	done >"$NET_TMP/walk" 2>&1
	[ $n -gt 2 ] || { cat "$NET_TMP/walk" && return 1; }
}
net_check "a set, killed anywhere, leaves the old or the new labels" walk

net_end
