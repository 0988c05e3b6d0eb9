#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# No mistake of an operator removes protection: it is refused with status 2 before anything changes, and done
# with --force. An endpoint that was added stays.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web late
db4=$(net_ip db) late4=$(net_ip late) late6=$(net_ip6 late)
net_policy_of TCP/80 TCP/80 | sed '/^node = worker-1/d' >"$NET_TMP/unnamed.ini"
sed 's/^\[endpoint .*/&\nnode = worker-1/' "$NET_TMP/unnamed.ini" >"$NET_TMP/policy.ini"

refused() { # PATTERN ARGUMENT...: of load, before it changes anything
	net_ends 2 "$1" net_bulkhead load "${@:2}"
}
guarded() {
	net_bulkhead status | grep -c 'endpoint, tc'
}
still() { # COUNT: so many endpoints are guarded, and by the policy
	net_check "$1 endpoints are guarded" net_is "$(guarded)" "$1"
	net_allowed web tcp "$db4" 80 "web sends what the policy allows"
	net_denied web tcp "$db4" 443 "web sends nothing that the policy denies"
}
net_check "load with the node's name" net_bulkhead load -n worker-1 "$NET_TMP/policy.ini"
still 2

net_check "load without the node's name" net_bulkhead load "$NET_TMP/policy.ini"
net_check "the load without the name writes nothing" net_is "$(net_writes "$NET_TMP/policy.ini")" 0
net_check "another node's name is refused" refused "node name: changed from worker-1 to worker-2" \
	-n worker-2 "$NET_TMP/policy.ini"
{ printf '[bulkhead]\nnode = worker-2\n' && cat "$NET_TMP/policy.ini"; } >"$NET_TMP/two.ini"
net_check "another node's name in the input is refused" refused "node name: changed from worker-1 to worker-2" "$NET_TMP/two.ini"
still 2
sed 's/TCP\/80/TCP\/443/' "$NET_TMP/policy.ini" >"$NET_TMP/new.ini"
staged=$(net_bulkhead load --stage -j "$NET_TMP/new.ini" | sed 's/.*"policy_generation": *\([0-9]*\).*/\1/')
net_check "a staged policy is activated without the name" net_bulkhead load --activate "$staged"
net_check "both endpoints are guarded" net_is "$(guarded)" 2
net_allowed web tcp "$db4" 443 "web sends what the new policy allows"
net_denied web tcp "$db4" 80 "web does not send what only the old policy allowed"
net_check "load the first policy again" net_bulkhead load "$NET_TMP/policy.ini"

# The output of a pipe that failed, and other inputs with too little.
mkdir "$NET_TMP/folder"
: >"$NET_TMP/empty.yaml"
net_check "the output of a failed pipe is refused" bash -c "false | nsenter --net=/run/netns/$NET-node $BULKHEAD load \
	--pin $NET_PIN - 2>&1 | grep 'the input has no object'"
net_check "an empty standard input is refused" refused "the input has no object" - </dev/null
net_check "an empty folder is refused" refused "the input has no object" "$NET_TMP/folder"
net_check "an empty file is refused" refused "the input has no object" "$NET_TMP/empty.yaml"
net_check "staging an empty file is refused" refused "the input has no object" --stage "$NET_TMP/empty.yaml"
sed -n '/^\[network-policy/,$p' "$NET_TMP/policy.ini" >"$NET_TMP/alone.ini"
net_check "a policy without the endpoints is refused" refused "shop/db would be taken off, and its interface veth-db is" \
	"$NET_TMP/alone.ini"
net_check "the message counts the endpoints that would lose their guard" grep -q "2 of 2 endpoints would not be guarded any more" "$NET_TMP/said"
sed '/^\[endpoint shop\/web/,/^labels/d' "$NET_TMP/policy.ini" >"$NET_TMP/without.ini"
net_check "an input without web is refused" refused "shop/web would be taken off" "$NET_TMP/without.ini"
net_check "the message names web only" net_is "$(grep -c 'would be taken off' "$NET_TMP/said")" 1
net_check "staging the input without web is refused" refused "shop/web would be taken off" --stage "$NET_TMP/without.ini"
is_wanted() { # the active policy is the one that is wanted
	net_ends 0 "^generation .* is active" net_bulkhead status && ! grep "failed to load" "$NET_TMP/said"
}
net_check "a refused load leaves the active policy wanted" is_wanted
net_check "a load with the loopback as uplink is refused" refused "uplink lo: this is the node's loopback" --uplink lo "$NET_TMP/policy.ini"
net_check "a load refused for an interface leaves the active policy wanted" is_wanted
still 2

add() {
	net_bulkhead endpoint add shop/late --ip "$late4, $late6" --labels role=db "$@"
}
late_is_active() { # NAME
	net_allowed web tcp "$late4" 80 "$1: late is in its segment"
	net_denied web tcp "$late4" 443 "$1: late is guarded"
	net_allowed web tcp "$late6" 80 "$1: late is in its segment over IPv6"
	net_denied web tcp "$late6" 443 "$1: late is guarded over IPv6"
}
net_check "add late" add
late_is_active added
net_check "load a snapshot from before late" net_bulkhead load "$NET_TMP/policy.ini"
late_is_active "after the load"
net_check "status has three guarded endpoints" net_is "$(guarded)" 3
net_check "the same load again writes nothing" net_is "$(net_writes "$NET_TMP/policy.ini")" 0
net_check "load a policy that allows another port" net_bulkhead load "$NET_TMP/new.ini"
net_allowed web tcp "$late4" 443 "late has its place by the labels that it was added with"
net_denied web tcp "$late4" 80 "late is guarded by the new policy"
net_check "load the first policy with late added" net_bulkhead load "$NET_TMP/policy.ini"
late_is_active "back again"
# The next policy has no segment for the endpoint's labels, and none of its rules selects them.
sed 's/endpoints = role=db/endpoints = role=db, more/; s/^labels = role=db/labels = role=db, more=yes/' \
	"$NET_TMP/policy.ini" >"$NET_TMP/more.ini"
net_check "load a policy that has no segment for late" net_bulkhead load "$NET_TMP/more.ini"
net_allowed web tcp "$db4" 80 "the new policy allows what it should"
net_denied web tcp "$db4" 443 "the new policy denies what it should"
net_check "endpoint list has late in a segment" grep "shop/late.*segment.*added" <(net_bulkhead endpoint list)
net_allowed out tcp "$late4" 443 "anybody reaches late, which no policy selects"
net_check "load the policy that has late's segment" net_bulkhead load "$NET_TMP/policy.ini"
late_is_active "after that"
{
	cat "$NET_TMP/policy.ini"
	net_endpoint late "labels = role=web"
} >"$NET_TMP/late.ini"
net_check "load an input that has late" net_bulkhead load "$NET_TMP/late.ini"
net_allowed late tcp "$db4" 80 "late is what the input says"
net_denied late tcp "$db4" 443 "late is guarded as the input says"
net_check "endpoint list has no added endpoint" net_is "$(net_bulkhead endpoint list | grep -c added)" 0
net_check "a snapshot from before late is refused now" refused "shop/late would be taken off" \
	"$NET_TMP/policy.ini"
"$BULKHEAD" compile "$NET_TMP/late.ini" -o "$NET_TMP/late.bhp" >/dev/null
"$BULKHEAD" compile --base "$NET_TMP/late.bhp" "$NET_TMP/policy.ini" -o "$NET_TMP/policy.bhp" >/dev/null
net_check "load the compiled input that has late" net_bulkhead load --rollback "$NET_TMP/late.bhp"
net_check "a follower's load of that snapshot puts late's interface into quarantine" \
	net_is "$(net_on node "$NET_HELPERS/quarantine" "$NET_PIN" "$NET_TMP/policy.bhp")" whole
net_check "an input without web is refused beside the quarantined interface" refused "shop/web would be taken off" "$NET_TMP/without.ini"
net_check "the quarantined interface counts as no endpoint" \
	grep -q "1 of 2 endpoints would not be guarded any more" "$NET_TMP/said"
net_check "load the input that has late again" net_bulkhead load "$NET_TMP/late.ini"
net_check "load --force of that snapshot" net_bulkhead load --force "$NET_TMP/policy.ini"
net_allowed out tcp "$late4" 443 "late is off"
net_check "add late again" add
net_check "delete late" net_bulkhead endpoint del shop/late
net_allowed out tcp "$late4" 443 "the deleted late is off"
net_check "load after late was deleted" net_bulkhead load "$NET_TMP/policy.ini"
net_check "two endpoints are guarded" net_is "$(guarded)" 2
net_check "add late once more" add
ip -n "$NET-node" link del veth-late
net_bulkhead load "$NET_TMP/policy.ini" >"$NET_TMP/out" 2>&1
net_check "load after late's interface is gone" net_is "$(guarded)" 2
net_check "load reports that late is off" grep -q "shop/late is off: its interface is gone" "$NET_TMP/out"
net_check "endpoint list has nobody at late's address" net_is "$(net_bulkhead endpoint list | grep -c shop/late)" 0
still 2

# A pod's interface vanishes while load attaches its first link or filter.
cat >"$NET_TMP/going.c" <<'EOF2'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

int bpf_obj_pin(int fd, const char *path)
{
	int (*next)(int, const char *) = (int (*)(int, const char *))dlsym(RTLD_NEXT, "bpf_obj_pin");
	static int done;

	if (!done++ && system(getenv("GOING")))
		abort();
	return next(fd, path);
}
EOF2
gcc -shared -fPIC -o "$NET_TMP/going.so" "$NET_TMP/going.c" || exit 1
net_check "unload" net_bulkhead unload
GOING="ip link del veth-web" LD_PRELOAD=$NET_TMP/going.so \
	net_bulkhead load -n worker-1 "$NET_TMP/policy.ini" >"$NET_TMP/out" 2>&1
net_check "load succeeds where a pod's interface goes meanwhile" net_is $? 0
net_check "load reports the interface that has gone" grep -q "gone since the load began" "$NET_TMP/out"
net_check "load counts the other endpoint as guarded" grep -q ", 1 endpoints guarded" "$NET_TMP/out"
net_denied out tcp "$db4" 443 "the other endpoint is guarded"
net_denied out tcp "$db4" 80 "the other endpoint admits nobody whom the policy denies"
net_allowed db tcp "$(net_ip out)" 80 "the other endpoint sends what the policy allows"
net_check "the next load succeeds" net_bulkhead load "$NET_TMP/policy.ini"
net_check "the load after that writes nothing" net_is "$(net_writes "$NET_TMP/policy.ini")" 0

# An empty policy, with --force.
net_check "load --force of an empty input" net_bulkhead load --force "$NET_TMP/empty.yaml"
net_check "no endpoint is guarded" net_is "$(guarded)" 0
net_allowed out tcp "$db4" 443 "every endpoint is open"

net_end
