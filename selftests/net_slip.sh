#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# No slip of an operator removes protection: it is refused with status 2 before anything changes, and done
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
	net_check "$1 are guarded" net_is "$(guarded)" "$1"
	net_allowed web tcp "$db4" 80 "what the policy allows"
	net_denied web tcp "$db4" 443 "and no more"
}
net_check "load, by the node's name" net_bulkhead load -n worker-1 "$NET_TMP/policy.ini"
still 2

net_check "another load without the name" net_bulkhead load "$NET_TMP/policy.ini"
net_check "writes nothing" net_is "$(net_writes "$NET_TMP/policy.ini")" 0
net_check "another name is refused" refused "worker-1 by the load before, and worker-2 now" \
	-n worker-2 "$NET_TMP/policy.ini"
{ printf '[bulkhead]\nnode = worker-2\n' && cat "$NET_TMP/policy.ini"; } >"$NET_TMP/two.ini"
net_check "the input's, too" refused "worker-1 by the load before, and worker-2 now" "$NET_TMP/two.ini"
still 2
sed 's/TCP\/80/TCP\/443/' "$NET_TMP/policy.ini" >"$NET_TMP/new.ini"
staged=$(net_bulkhead load --stage -j "$NET_TMP/new.ini" | sed 's/.*"policy_generation": *\([0-9]*\).*/\1/')
net_check "what is staged is activated without the name" net_bulkhead load --activate "$staged"
net_check "all are guarded" net_is "$(guarded)" 2
net_allowed web tcp "$db4" 443 "by the new policy"
net_denied web tcp "$db4" 80 "and no other"
net_check "and back" net_bulkhead load "$NET_TMP/policy.ini"

# The output of a pipe that failed, and other inputs with too little.
mkdir "$NET_TMP/folder"
: >"$NET_TMP/empty.yaml"
net_check "a pipe that failed" bash -c "false | nsenter --net=/run/netns/$NET-node $BULKHEAD load \
	--pin $NET_PIN - 2>&1 | grep 'the input has no object'"
net_check "standard input of nothing" refused "the input has no object" - </dev/null
net_check "an empty folder" refused "the input has no object" "$NET_TMP/folder"
net_check "an empty file" refused "the input has no object" "$NET_TMP/empty.yaml"
net_check "to stage it, too" refused "the input has no object" --stage "$NET_TMP/empty.yaml"
sed -n '/^\[network-policy/,$p' "$NET_TMP/policy.ini" >"$NET_TMP/alone.ini"
net_check "one policy file alone" refused "shop/db would be taken off, and its interface veth-db is" \
	"$NET_TMP/alone.ini"
net_check "says how many go" grep -q "2 of 2 endpoints would not be guarded any more" "$NET_TMP/said"
sed '/^\[endpoint shop\/web/,/^labels/d' "$NET_TMP/policy.ini" >"$NET_TMP/without.ini"
net_check "an input without one endpoint" refused "shop/web would be taken off" "$NET_TMP/without.ini"
net_check "and no other" net_is "$(grep -c 'would be taken off' "$NET_TMP/said")" 1
net_check "nor is that staged" refused "shop/web would be taken off" --stage "$NET_TMP/without.ini"
still 2

add() {
	net_bulkhead endpoint add shop/late --ip "$late4, $late6" --labels role=db "$@"
}
in_force() { # NAME
	net_allowed web tcp "$late4" 80 "$1: it is in its segment"
	net_denied web tcp "$late4" 443 "$1: it is guarded"
	net_allowed web tcp "$late6" 80 "$1: over IPv6 too"
	net_denied web tcp "$late6" 443 "$1: and guarded there"
}
net_check "one is added" add
in_force added
net_check "a load of a snapshot from before" net_bulkhead load "$NET_TMP/policy.ini"
in_force "after the load"
net_check "status has it" net_is "$(guarded)" 3
net_check "another load writes nothing" net_is "$(net_writes "$NET_TMP/policy.ini")" 0
net_check "one that allows another port" net_bulkhead load "$NET_TMP/new.ini"
net_allowed web tcp "$late4" 443 "places it by the labels it was added with"
net_denied web tcp "$late4" 80 "and guards it so"
net_check "and back" net_bulkhead load "$NET_TMP/policy.ini"
in_force "back again"
net_check "with what is needed only" net_bulkhead load --peers needed "$NET_TMP/policy.ini"
in_force "of what is needed"
net_check "and with all" net_bulkhead load --peers all "$NET_TMP/policy.ini"
# The next policy has no segment for the endpoint's labels: the endpoint is isolated until a policy has one.
sed 's/endpoints = role=db/endpoints = role=db, more/; s/^labels = role=db/labels = role=db, more=yes/' \
	"$NET_TMP/policy.ini" >"$NET_TMP/more.ini"
net_check "a policy in which it fits nowhere it is known for" net_bulkhead load "$NET_TMP/more.ini"
net_allowed web tcp "$db4" 80 "which is in force"
net_denied web tcp "$db4" 443 "all of it"
net_check "isolates it" grep "shop/late.*isolated.*added" <(net_bulkhead endpoint list)
net_denied web tcp "$late4" 80 "and nobody reaches it"
net_check "and back to its segment" net_bulkhead load "$NET_TMP/policy.ini"
in_force "after that"
{
	cat "$NET_TMP/policy.ini"
	net_endpoint late "labels = role=web"
} >"$NET_TMP/late.ini"
net_check "an input that has it" net_bulkhead load "$NET_TMP/late.ini"
net_allowed late tcp "$db4" 80 "is what says who it is"
net_denied late tcp "$db4" 443 "and guards it"
net_check "it is added no more" net_is "$(net_bulkhead endpoint list | grep -c added)" 0
net_check "so that a snapshot from before is refused" refused "shop/late would be taken off" \
	"$NET_TMP/policy.ini"
net_check "unless that is meant" net_bulkhead load --force "$NET_TMP/policy.ini"
net_allowed out tcp "$late4" 443 "then it is off"
net_check "add it again" add
net_check "delete it" net_bulkhead endpoint del shop/late
net_allowed out tcp "$late4" 443 "then it is off, too"
net_check "a load does not bring it back" net_bulkhead load "$NET_TMP/policy.ini"
net_check "two are guarded" net_is "$(guarded)" 2
net_check "add it once more" add
ip -n "$NET-node" link del veth-late
net_bulkhead load "$NET_TMP/policy.ini" >"$NET_TMP/out" 2>&1
net_check "with its interface it goes" net_is "$(guarded)" 2
net_check "which the load says" grep -q "shop/late is off: its interface is gone" "$NET_TMP/out"
net_check "and nobody has its address" net_is "$(net_bulkhead endpoint list | grep -c shop/late)" 0
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
net_check "a pod goes while load runs: the rest is put in force" net_is $? 0
net_check "it is told" grep -q "gone since the load began" "$NET_TMP/out"
net_check "the others are counted" grep -q ": 1 endpoints guarded" "$NET_TMP/out"
net_denied out tcp "$db4" 443 "and guarded"
net_denied out tcp "$db4" 80 "by the policy"
net_allowed db tcp "$(net_ip out)" 80 "which lets them out"
net_check "the next load has it off" net_bulkhead load "$NET_TMP/policy.ini"
net_check "then nothing is to do" net_is "$(net_writes "$NET_TMP/policy.ini")" 0

# An empty policy, with --force.
net_check "load of nothing, forced" net_bulkhead load --force "$NET_TMP/empty.yaml"
net_check "nobody is guarded" net_is "$(guarded)" 0
net_allowed out tcp "$db4" 443 "all is open"

net_end
