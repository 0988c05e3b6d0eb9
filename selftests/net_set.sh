#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# endpoint set: changes the labels or ports of an endpoint in force in one step; the endpoint is never
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
EOF

set_late() {
	net_bulkhead endpoint set shop/late "$@"
}
net_check "load" net_bulkhead load "$NET_TMP/policy.ini"
net_check "one that is not in force" net_ends 2 "shop/late is not in force here" set_late --labels role=web
net_check "nothing to set" net_ends 2 "set needs" set_late
net_check "add late as a web" net_bulkhead endpoint add shop/late --ip "$late4, $late6" \
	--mac "$(net_mac late)" --labels role=web
net_allowed late tcp "$db4" 80 "it may what a web may"
net_check "set its labels to a db's, and its port" \
	set_late --labels role=db --named-port "redis TCP/6379"
net_allowed web tcp "$late4" 6379 "it is let in as a db, by its port's name"
net_denied web tcp "$late4" 443 "and no more"
net_allowed web tcp "$late6" 80 "over IPv6 too"
net_denied out tcp "$late6" 80 "and from nobody else"
net_denied late tcp "$db4" 80 "it may not what a web may"
net_check "it is listed once" net_is "$(net_bulkhead endpoint list | grep -c "shop/late.*$late4")" 1
net_check "a load keeps it as it was set" net_bulkhead load "$NET_TMP/policy.ini"
net_allowed web tcp "$late4" 6379 "as a db"
net_denied out tcp "$late4" 80 "and guarded"
net_check "other labels alone keep the port" set_late --labels role=db,more=yes
net_allowed web tcp "$late4" 6379 "by its name"
net_denied web tcp "$late4" 443 "and no more"

# All the while, outside sends packets that neither set of labels allows, and web a flow that both allow.
net_stream late recv 1443 1080
net_stream out send "$late4" 1443
net_stream web send "$late4" 1080
for ((i = 0; i < 20; i++)); do
	labels=role=db
	[ $((i % 2)) -eq 0 ] || labels=role=db,more=no
	set_late --labels $labels || break
done >"$NET_TMP/sets" 2>&1
net_check "set twenty times" net_is "$i" 20
net_stream_end
net_check "somebody tried" test "$(net_count out 1443)" -gt 10
net_check "and never came through" net_is "$(net_count late 1443)" 0
net_check "the flow that both allow lost nothing" net_is "$(net_count late 1080)" "$(net_count web 1080)"

net_check "labels that no segment has isolate it" \
	net_ends 0 "is isolated: it fits none" set_late --labels role=other
net_denied web tcp "$late4" 80 "they do"
net_check "trace says it, too" \
	net_ends 1 "^deny" net_bulkhead trace --from shop/web --to shop/late --port TCP/80

# For an endpoint of the loaded policy, the change lasts until the next load.
net_check "its labels have to be given" net_ends 2 "its labels have to be given" \
	net_bulkhead endpoint set shop/web --named-port "x TCP/1"
net_check "web as another" net_bulkhead endpoint set shop/web --labels role=other
net_denied web tcp "$db4" 80 "may no more what a web may"
net_check "trace says it" net_ends 1 "^deny shop/web" \
	net_bulkhead trace --from shop/web --to shop/db --port TCP/80
net_check "a load goes by its input" net_bulkhead load "$NET_TMP/policy.ini"
net_allowed web tcp "$db4" 80 "it is a web again"
net_denied web tcp "$db4" 443 "and no more"
net_check "then nothing is to do" net_is "$(net_writes "$NET_TMP/policy.ini")" 0

# Killed at any change of state, the command leaves the old or the new labels, and the next command
# succeeds.
net_check "back to a db" set_late --labels role=db
walk() {
	local n=0
	while n=$((n + 1)) && net_fault state $n kill endpoint set shop/late --labels role=db,a=$n; [ $? -eq 99 ]; do
		! net_ask out tcp "$late4" 80 $NET_WAIT_DENIED && net_ask web tcp "$late4" 80 $NET_WAIT_ALLOWED ||
			{ echo "killed at $n" && return 1; }
		set_late --labels role=db || return 1
	done >"$NET_TMP/walk" 2>&1
	[ $n -gt 2 ] || { cat "$NET_TMP/walk" && return 1; }
}
net_check "killed anywhere" walk

net_end
