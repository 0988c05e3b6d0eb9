#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Deltas beside an endpoint that `endpoint add` brought and for which the node made a segment, or port numbers: the
# delta changes segments, brings and takes the first pod of that kind, or names the endpoint itself. The node makes the
# segment anew, gives it up, or makes it for the first time. Each is planned from what the delta names; a load of the
# whole policy afterwards finds nothing to change.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 443"
net_start db web late
# shellcheck source=selftests/lib/delta.sh
. "$(dirname "$0")/lib/delta.sh"

# No pod of the policy has role=kind, unless a line says so.
policy() { # PORT-FOR-KIND [LINE...]
	net_head
	net_endpoint db
	net_endpoint web
	printf '%s\n' "${@:2}"
	cat <<-END
		[network-policy shop/db]
		endpoints = role=db
		ingress = from endpoints(role=web) ports TCP/80
		ingress = from endpoints(role=kind) ports TCP/$1
	END
}
far() { # NAME ROLE [LINE...]
	net_endpoint_at "$1" far "10.9.0.${#1}, fd09::${#1}" "labels = role=$2" "${@:3}"
}
closed="$(printf '%s\n' '[network-policy shop/kind]' 'endpoints = role=kind' 'types = Egress')"
# db calls a port by its name, whose number late gives.
named="$(printf '%s\n' '[network-policy shop/calls]' 'endpoints = role=db' 'egress = to endpoints(role=kind) ports web')"
policy 443 >"$here/0.ini"
policy 443 "$(far a new)" >"$here/1.ini"
policy 80 "$(far a new)" >"$here/2.ini"
policy 80 "$(far a new)" "$closed" >"$here/3.ini"
policy 80 >"$here/4.ini"
policy 80 "$(far of-the-kind kind)" >"$here/5.ini"
policy 443 >"$here/6.ini"
policy 443 "$named" >"$here/7.ini"
policy 443 "$named" "$(far other-number kind "port = web TCP/443")" >"$here/8.ini"
policy 80 "$named" >"$here/9.ini"
policy 443 "$(net_endpoint late "labels = role=kind")" >"$here/10.ini"
policy 80 >"$here/11.ini"
policy 443 >"$here/12.ini"
net_check "compile policies and deltas" chain {0..12}

step() { # NAME PORT|- WHAT
	net_check "a delta: $3" load_delta "$1"
	net_check "$3: a load of the whole policy has nothing to change" whole_changes_nothing "$1"
	reaches_by "$2" late db "$3"
}
add() {
	net_bulkhead endpoint add shop/late --ip "$(net_ip late),$(net_ip6 late)" --labels role=kind \
		--named-port "web TCP/80"
}
net_check "load a policy" load "$here/0.bhp"
net_check "endpoint add of a kind that the policy does not have" add
reaches_by 443 late db "added"
step 1 443 "another segment comes"
step 2 80 "a rule about the kind changes"
step 3 - "a policy isolates the kind"
step 4 80 "segments go"
step 5 80 "the first pod of the kind comes"
step 6 443 "the last pod of the kind goes"
step 7 443 "a policy calls the kind's port by its name"
reaches_by 80 db late "the port has the number that endpoint add gave"
step 8 443 "a pod of the kind gives another number to the name"
reaches_by 80 db late "another pod's number is not late's"
net_check "stage a delta" load --stage "$here/9.bhd"
reaches_by 443 late db "staged"
step 9 80 "a delta that is staged"
reaches_by 80 db late "after the staged delta"
step 10 443 "the policy names the endpoint"
net_check "no record is left" net_is "$(net_entries added)" "added 0"
net_check "a delta takes the endpoint off" load --force "$here/11.bhd"

# An entry that an extension has left in the maps would be there still.
used() { # FILE: the numbers of entries, and of segments in use
	net_entries pairs named variations services >"$1"
	"$NET_HELPERS/entries" "$NET_PIN" segments | grep -c ' 0*[1-9a-f]' >>"$1"
}
net_check "endpoint add again" add
step 12 443 "another rule"
net_check "endpoint del" net_bulkhead endpoint del shop/late
used "$NET_TMP/after"
net_check "unload" net_bulkhead unload
net_check "load the same policy on an empty node" load "$here/12.bhp"
used "$NET_TMP/anew"
net_check "the extensions have left nothing" diff "$NET_TMP/after" "$NET_TMP/anew"
net_end
