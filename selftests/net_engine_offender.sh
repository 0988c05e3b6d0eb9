#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A namespace whose policies are over a budget again and again is looked at ever more rarely. Meanwhile what is large
# and new in that namespace is set aside, closed, unseen; what is small counts at once; and so do the policies of other
# namespaces. A policy that is corrected counts again.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

api_world
evil=${API_POLICIES/shop/evil}
# Rules from so many addresses, each of its own.
rules() { # COUNT FIRST-BYTE
	seq 0 $(($1 - 1)) | awk -v first="$2" \
		'{ printf "%s{\"from\": [{\"ipBlock\": {\"cidr\": \"%d.0.%d.%d/32\"}}]}", (NR > 1 ? "," : ""), first, $1 / 256, $1 % 256 }'
}
policy() { # NAME COUNT FIRST-BYTE: writes it to a file
	echo '{"metadata": {"name": "'"$1"'"}, "spec": {"podSelector": {}, "ingress": ['"$(rules "$2" "$3")"']}}' >"$NET_TMP/$1"
}

api_begin --listen 127.0.0.1:9465
policy big 5000 20
net_check "a policy over its budget" api POST $evil "@$NET_TMP/big"
net_check "an Event says that the policy is set aside" api_await api_said SetAside "the limit is 4096"
policy small 3 30
net_check "a small policy of the same namespace" api POST $evil "@$NET_TMP/small"
net_check "an Event says that the small policy is active" api_await api_said Active '"name":"small"'
net_check "one object is set aside" api_await api_metric_is 9465 engine_objects_aside 1

# Each change is over the budget again: the pauses are 1, 2, 4, 8 s and so on.
insist() {
	local i
	for ((i = 0; i < 30; i++)); do
		policy big 5000 $((40 + i))
		api PUT $evil/big "@$NET_TMP/big" >/dev/null || return
		sleep 0.5
	done
}
compiles=$(api_metric 9465 engine_compiles_total)
net_check "the policy over its budget changes 30 times" insist
compiles=$(($(api_metric 9465 engine_compiles_total) - compiles))
echo "# $compiles compiles"
net_check "not each of the 30 changes was compiled" test "$compiles" -lt 25
more=0
unseen() { # a further policy, until one comes during a pause
	more=$((more + 1))
	policy "more-$more" 5000 $((100 + more))
	api POST $evil "@$NET_TMP/more-$more" >/dev/null && sleep 0.5 &&
		api_said SetAside "its namespace was over a budget, and is looked at again within"
}
net_check "a further large policy of the namespace is set aside unseen, and an Event says so" api_await unseen
net_check "a policy of another namespace is rolled out" api_rolls

policy big 4 20
net_check "the policy over its budget is corrected" api PUT $evil/big "@$NET_TMP/big"
for ((i = 1; i <= more; i++)); do
	api DELETE "$evil/more-$i" >/dev/null
done
net_check "nothing is set aside any more" api_await api_metric_is 9465 engine_objects_aside 0
net_check "an Event says that the corrected policy counts" api_await api_said Accepted "within its budgets"
net_check "an Event says that the corrected policy is active" api_await api_said Active '"name":"big"'

# PolicyStatus names the object that is refused, even if as many are refused as before. A policy that is refused stays
# as it was last accepted, so that no rollout renews PolicyStatus.
names() { # POLICY
	api_get $API_STATUS status.conditions.2.message | grep -q "^NetworkPolicy evil/$1 is refused: "
}
write() { # POLICY CIDR: the server takes any
	api PUT "$evil/$1" '{"metadata": {"name": "'"$1"'"}, "spec": {"podSelector": {}, "ingress": [{"from": [
		{"ipBlock": {"cidr": "'"$2"'"}}]}]}}' >/dev/null
}
for name in first second; do
	api POST $evil '{"metadata": {"name": "'"$name"'"}, "spec": {}}' >/dev/null
	write $name 10.0.0.0/8
	net_check "the engine reads policy $name" api_await api_said Active '"name":"'$name'"'
done
write first 010.0.0.0/8
net_check "PolicyStatus names the policy that is refused" api_await names first
kill -STOP "${API_PID[engine-one]}"
write first 10.0.0.0/8
write second 010.0.0.0/8
kill -CONT "${API_PID[engine-one]}"
net_check "PolicyStatus names the policy that is refused in its place" api_await names second
net_end
