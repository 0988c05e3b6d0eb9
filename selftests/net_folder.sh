#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A pin folder with another program's pins: a first load and an unload refuse the folder and change nothing
# in it. In a folder of ours, another program's pin survives every command.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web
net_policy_of TCP/80 TCP/80 >"$NET_TMP/policy.ini"

map() { # NAME PIN: a map of another program's
	bpftool map create "$NET_PIN/$2" type array key 4 value 8 entries 1 name "$1"
}
pins() { # each pin, and the ID of the map that it leads to
	local pin
	for pin in "$NET_PIN"/*; do
		echo "$pin $(bpftool map show pinned "$pin" | sed 's/:.*//;q')"
	done
}
refuses() { # PATTERN COMMAND...
	net_bulkhead "${@:2}" >"$NET_TMP/out" 2>&1
	net_is $? 2 && grep "$1" "$NET_TMP/out"
}
mkdir "$NET_PIN"
for name in their_events events; do
	# Another program's pin has one of our names: the map's own name tells them apart.
	pin=${name#their_}
	net_check "another program's pin $pin, a map $name" map "$name" "$pin"
	before=$(pins)
	net_check "a first load refuses the folder" \
		refuses "holds $pin, which is another program's" load "$NET_TMP/policy.ini"
	net_check "and touches nothing" net_is "$(pins)" "$before"
	net_check "unload refuses it, too" refuses "holds $pin, which is another" unload
	net_check "and touches nothing" net_is "$(pins)" "$before"
	net_allowed web tcp "$(net_ip db)" 443 "nothing is in force"
	rm "$NET_PIN/$pin"
done
net_check "another program's config" map their_config config
before=$(pins)
net_bulkhead load "$NET_TMP/policy.ini" >"$NET_TMP/out" 2>&1
net_check "a first load refuses it" net_is $? 3
net_check "and says whose it is" grep "config is another program's" "$NET_TMP/out"
net_check "and touches nothing" net_is "$(pins)" "$before"
rm "$NET_PIN/config"

net_check "the folder, empty, is taken" net_bulkhead load "$NET_TMP/policy.ini"
net_allowed web tcp "$(net_ip db)" 80 "the policy is in force"
net_denied web tcp "$(net_ip db)" 443 "all of it"
net_check "another program pins something there" map theirs theirs
net_check "a load goes on" net_bulkhead load "$NET_TMP/policy.ini"
net_check "unload" net_bulkhead unload
net_check "leaves that, and nothing else" net_is "$(ls "$NET_PIN")" theirs
net_allowed web tcp "$(net_ip db)" 443 "nothing is in force"

net_end
