#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Deltas: a chain of deltas leaves the same entries in every map, and the same policy for the next boot,
# as whole policies do. A delta whose base is not active is refused.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web
here=$NET_TMP/policies
mkdir "$here"

# The cluster at each step: a step adds objects to the last one, or takes some away.
endpoint() { # NAME LABELS ADDRESSES [LINE]
	printf '[endpoint shop/%s]\nip = %s\nlabels = %s\n%s\n' "$1" "$3" "$2" "${4:-}"
}
pods() {
	endpoint db role=db "$(net_ip db),$(net_ip6 db)" $'node = here\nport = data TCP/6379'
	endpoint web "${1:-role=web}" "$(net_ip web),$(net_ip6 web)" 'node = here'
	endpoint far-0 role=web 10.9.0.1,fd09::1 'node = far'
	endpoint far-1 role=db 10.9.0.2,fd09::2 'node = far'
}
policy() { # PORTS [LINE]
	printf '[node far]\nip = 192.168.8.1\n[network-policy shop/db]\nendpoints = role=db\n'
	printf 'ingress = from endpoints(role=web) ports %s\n%s\n' "$1" "${2:-}"
}
service() { # PORT
	printf '[service shop/s]\naddress = 10.96.0.1, fd96::1\nport = TCP/%s to 6379\n' "$1"
	printf 'backends = endpoints(role=db)\n'
}
{ pods && policy TCP/80; } >"$here/0.ini"
{ pods && policy TCP/80 && endpoint far-2 role=web 10.9.0.3 'node = far'; } >"$here/1.ini"
{ pods role=new && policy TCP/80 && endpoint far-2 role=web 10.9.0.3 'node = far'; } >"$here/2.ini"
{ pods role=new && policy "TCP/80, UDP/443" 'ingress = from endpoints(role=new) ports TCP/443, data'; } >"$here/3.ini"
{ cat "$here/3.ini" && service 80; } >"$here/4.ini"
{ pods && policy TCP/443 'ingress = from cidr(10.9.0.0/24) ports TCP/80' && service 81; } >"$here/5.ini"
{ pods && policy TCP/80; } >"$here/6.ini"
last=6

bulkhead() {
	"$BULKHEAD" "$@" >/dev/null
}
compile_all() {
	local i
	bulkhead compile -o "$here/0.bhp" "$here/0.ini" || return
	for ((i = 1; i <= last; i++)); do
		bulkhead compile --base "$here/$((i - 1)).bhp" -o "$here/$i.bhp" "$here/$i.ini" &&
			bulkhead compile --base "$here/$((i - 1)).bhp" --delta -o "$here/$i.bhd" \
				"$here/$i.ini" || return
	done
}
net_check "compile a policy and $last deltas" compile_all

load() {
	net_bulkhead load -n here --force --state "$NET_TMP/state" "$@"
}
# Writes the policy that the next boot would load: a whole policy is kept, and possibly a delta of it.
kept() { # FILE
	LC_ALL=C sed '1,/^$/d' "$NET_TMP/state/policy" >"$1"
	[ ! -e "$NET_TMP/state/policy.delta" ] ||
		bulkhead compile --base "$1" -o "$1" "$NET_TMP/state/policy.delta"
}
# Writes every map that policy is in, and the policy for the next boot. `show` fails where the pinned
# policy is damaged.
state() { # FILE
	net_maps >"$1" && kept "$NET_TMP/kept.bhp" && cat "$NET_TMP/kept.bhp" >>"$1" &&
		net_bulkhead show segments -j >>"$1"
}
all() { # SUFFIX: loads the first policy, then each step's file of this suffix
	local i
	load "$here/0.bhp" || return
	for ((i = 1; i <= last; i++)); do
		load "$here/$i.$1" && state "$NET_TMP/$i.$1" || return
	done
}
net_check "load whole policies one after another" all bhp
net_check "unload" net_bulkhead unload --state "$NET_TMP/state"
net_check "load deltas one after another" all bhd
for ((i = 1; i <= last; i++)); do
	net_check "delta $i leaves the same maps and kept policy as the whole policy" cmp "$NET_TMP/$i.bhp" "$NET_TMP/$i.bhd"
done
net_allowed web tcp "$(net_ip db)" 80 "what the last policy allows passes"
net_allowed web tcp "$(net_ip6 db)" 80 "what the last policy allows passes over IPv6"
net_denied web tcp "$(net_ip db)" 443 "what only an earlier policy allowed is denied"
net_denied web tcp "$(net_ip6 db)" 443 "what only an earlier policy allowed is denied over IPv6"

refused() { # TEXT COMMAND...
	local said
	said=$("${@:2}" 2>&1)
	net_is $? 2 && grep "$1" <<<"$said"
}
net_check "a delta of an older policy is refused by name" refused \
	"2.bhd: is a delta of the policy [0-9a-f]* of generation 2; active is [0-9a-f]* of generation 7" \
	load "$here/2.bhd"
net_check "read the maps after the refusal" state "$NET_TMP/after"
net_check "the refusal changed nothing" cmp "$NET_TMP/$last.bhd" "$NET_TMP/after"
net_check "staging a delta of an older policy is refused" refused "is a delta of the policy" load --stage "$here/2.bhd"
net_check "diff with a delta of an older policy is refused" refused "active is" net_bulkhead diff "$here/2.bhd"
net_check "trace refuses a delta" refused "here a policy has to be whole" \
	"$BULKHEAD" trace --from shop/web --to shop/db --port TCP/80 "$here/2.bhd"

net_check "load --rollback of a whole policy" load --rollback "$here/2.bhp"
net_check "stage a delta of it" load --stage "$here/3.bhd"
net_denied web tcp "$(net_ip db)" 443 "the staged policy is not active"
differs() { # COMMAND...
	local said
	said=$("$@")
	net_is $? 1 && grep 'gains TCP/443' <<<"$said"
}
net_check "diff of the delta and the active policy" differs net_bulkhead diff "$here/3.bhd"
net_check "diff of the delta and its base" differs "$BULKHEAD" diff "$here/2.bhp" "$here/3.bhd"
net_check "activate the staged policy" net_bulkhead load --activate 4 --state "$NET_TMP/state"
net_allowed web tcp "$(net_ip db)" 443 "the activated policy is active"
net_allowed web tcp "$(net_ip6 db)" 443 "the activated policy is active over IPv6"

whole() {
	bulkhead compile --base "$here/3.bhp" -o "$NET_TMP/4.bhp" "$here/4.bhd" &&
		cmp "$here/4.bhp" "$NET_TMP/4.bhp"
}
net_check "compile makes the whole policy of a base and its delta" whole
net_check "unload" net_bulkhead unload --state "$NET_TMP/state"
net_check "a delta is refused where nothing is active" refused "nothing is active" \
	load "$here/4.bhd"
net_end
