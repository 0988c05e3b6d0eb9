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
	# Another program's pin has one of our names: the command recognises its own pin by the map's name.
	pin=${name#their_}
	net_check "another program pins its map $name as $pin" map "$name" "$pin"
	before=$(pins)
	net_check "a first load refuses the folder" \
		refuses "holds $pin, which is another program's" load "$NET_TMP/policy.ini"
	net_check "the refused load touches no pin" net_is "$(pins)" "$before"
	net_check "unload refuses the folder" refuses "holds $pin, which is another" unload
	net_check "the refused unload touches no pin" net_is "$(pins)" "$before"
	net_allowed web tcp "$(net_ip db)" 443 "nothing is active after the refusals"
	rm "$NET_PIN/$pin"
done
net_check "another program pins its map as config" map their_config config
before=$(pins)
net_bulkhead load "$NET_TMP/policy.ini" >"$NET_TMP/out" 2>&1
net_check "a first load refuses the foreign config" net_is $? 3
net_check "the message says that config is another program's" grep "config is another program's" "$NET_TMP/out"
net_check "the refused load touches no pin" net_is "$(pins)" "$before"
rm "$NET_PIN/config"

net_check "a first load takes an empty folder" net_bulkhead load "$NET_TMP/policy.ini"
net_allowed web tcp "$(net_ip db)" 80 "the policy is active"
net_denied web tcp "$(net_ip db)" 443 "the active policy denies what it should"
net_check "another program pins its map in our folder" map theirs theirs
net_check "a load beside the foreign pin" net_bulkhead load "$NET_TMP/policy.ini"
net_check "unload beside the foreign pin" net_bulkhead unload
net_check "unload leaves the foreign pin alone" net_is "$(ls "$NET_PIN")" theirs
net_allowed web tcp "$(net_ip db)" 443 "nothing is active after the unload"

net_end
