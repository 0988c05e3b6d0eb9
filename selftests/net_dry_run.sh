#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# --dry-run prints each step of the change and writes nothing: no map, hook, pin or file. The same command
# without --dry-run then makes exactly that change.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db late
cat >"$NET_TMP/one.ini" <<EOF
$(net_head)
$(net_endpoint db "mac = $(net_mac db)")
$(net_endpoint_at web worker-2 "10.9.0.1, fd09::1")
[network-policy shop/db]
endpoints = role=db
ingress = from endpoints(role=web) ports TCP/80
EOF
sed 's#TCP/80#TCP/443#' "$NET_TMP/one.ini" >"$NET_TMP/two.ini"
late=(shop/late --ip "$(net_ip late),$(net_ip6 late)" --mac "$(net_mac late)" --labels role=web)

# Prints all state that a command could have changed.
held() {
	net_on node bpftool -j net show
	net_on node tc qdisc show
	[ ! -e "$NET_PIN" ] || find "$NET_PIN" -printf '%f %i\n' | sort
	[ ! -e "$NET_PIN/config" ] || "$NET_HELPERS/entries" "$NET_PIN" config ifaces macs endpoints added prefixes segments \
		pairs ports services || return
	[ ! -e "$NET_TMP/state" ] || cat "$NET_TMP/state"/*
}
rehearsed() { # COMMAND...: prints what it would change, and changes nothing
	local before
	before=$(held) || { echo "the node's state cannot be read" && return 1; }
	net_bulkhead "$@" --dry-run >"$NET_TMP/told" 2>"$NET_TMP/stderr" || { cat "$NET_TMP/stderr" && return 1; }
	cat "$NET_TMP/told"
	[ "$(held)" = "$before" ] || { echo "it changed something" && return 1; }
	net_bulkhead "$@" --dry-run -j >"$NET_TMP/json" 2>/dev/null &&
		"$NET_HELPERS/json" check <"$NET_TMP/json" &&
		[ "$(held)" = "$before" ] || { echo "with -j it did" && return 1; }
}
tells() { # PATTERN...: each is in the order of the last rehearsal
	local pattern at=0 line
	for pattern; do
		line=$(tail -n +$((at + 1)) "$NET_TMP/told" | grep -nE -- "$pattern" | head -1 | cut -d: -f1)
		[ -n "$line" ] || { echo "no $pattern after line $at" && return 1; }
		at=$((at + line))
	done
}
puts() { # MAP: how many keys the last rehearsal puts there, by JSON
	"$NET_HELPERS/json" count items act=put "map=$1" <"$NET_TMP/json"
}
entries() { # MAP
	bpftool -j map dump pinned "$NET_PIN/$1" | "$NET_HELPERS/json" count
}

net_check "a dry run of a first load" rehearsed load --state "$NET_TMP/state" "$NET_TMP/one.ini"
net_check "a dry run of a first load prints the load's steps in order" tells "^load:" "prepare +make-folder: .* services of [0-9]+" "stage +put segments" \
	"stage +put endpoints \(4\): .*$(net_ip db)" "stage +put ifaces" "stage +attach.*veth-db" \
	"stage +pin-policy" "flip +flip: generation 1"
net_allowed out tcp "$(net_ip db)" 80 "nothing is active after the dry run"
endpoints=$(puts endpoints) macs=$(puts macs) prefixes=$(puts prefixes)
net_check "the first load" net_bulkhead load "$NET_TMP/one.ini"
net_check "the load puts the entries that the dry run counted" net_is "$endpoints $macs $prefixes" \
	"$(entries endpoints) $(entries macs) $(entries prefixes)"
net_denied out tcp "$(net_ip db)" 80 "the loaded policy is active"

net_check "a dry run of the same load" rehearsed load "$NET_TMP/one.ini"
net_check "the dry run prints that nothing is to change" tells "there is nothing to change"
net_check "a dry run of another policy" rehearsed load "$NET_TMP/two.ini"
net_check "the dry run puts segments before the commit and deletes them after the commit" tells "stage +put (pairs|segments)" \
	"stage +pin-policy" "flip +flip: generation 2" "collect +delete (pairs|segments)" \
	"collect +settle-policies"
net_check "a dry run of staging the policy" rehearsed load --stage "$NET_TMP/two.ini"
net_check "the dry run prints no step about endpoints and no commit" eval '! grep -E "endpoints|flip" "$NET_TMP/told"'
net_check "a dry run refuses what a load refuses" net_fails 2 net_bulkhead load --dry-run --rollback \
	<(printf '[bulkhead]\nnode = worker-1\n')

net_check "a dry run of endpoint add" rehearsed endpoint add "${late[@]}"
net_check "a dry run of endpoint add prints its steps in order" tells "^endpoint add:" "stage +put endpoints \(2\)" "stage +put added" \
	"stage +turn: veth-late: an endpoint's" "flip +flip: generation 2"
net_denied late tcp "$(net_ip db)" 80 "the endpoint is not active after the dry run"
net_check "endpoint add" net_bulkhead endpoint add "${late[@]}"
net_allowed late tcp "$(net_ip db)" 80 "the added endpoint is active"
net_check "a dry run of endpoint set" rehearsed endpoint set shop/late --labels role=db
net_check "a dry run of endpoint set prints two words and a record" tells "stage +store endpoints \(2\)" "flip +flip" \
	"flip +record added \(2\)"
net_check "a dry run of endpoint del" rehearsed endpoint del shop/late
net_check "a dry run of endpoint del prints its steps in order" tells "stage +store endpoints \(2\)" "flip +flip: generation 3" \
	"collect +delete macs" "collect +turn: veth-late: a way out" "collect +forget-connections \(2\)" \
	"collect +delete endpoints \(2\)"
net_allowed late tcp "$(net_ip db)" 80 "the endpoint is still active"
net_check "a dry run of endpoint del refuses an unknown endpoint" net_fails 2 net_bulkhead endpoint del shop/nobody --dry-run

# The repair of a vanished interface is planned first, and the command's own change on top of it.
net_check "the endpoint's interface is deleted" ip -n "$NET-node" link del veth-late
net_check "a dry run of endpoint add with the lost endpoint's address" rehearsed endpoint add shop/heir --node worker-3 \
	--ip "$(net_ip late)" --labels role=web
net_check "the dry run prints the removal of the lost endpoint first" tells "^interfaces that are gone:" "collect +detach" \
	"collect +delete endpoints \(2\)" "^endpoint add:" "stage +put endpoints: $(net_ip late)"

net_check "a dry run of unload" rehearsed unload
net_check "a dry run of unload prints its steps" tells "^unload:" "prepare +clear.*veth-db" "prepare +remove-folder"
net_denied out tcp "$(net_ip db)" 80 "the policy is still active after the dry run"
net_check "unload" net_bulkhead unload
net_check "a dry run of unload with nothing loaded" rehearsed unload
net_check "the dry run prints that nothing is to change" tells "there is nothing to change"

net_end
