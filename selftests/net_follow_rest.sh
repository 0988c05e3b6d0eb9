#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# An address rests until a generation that is being installed, and the API server's store is put back to a backup, whose
# generations are lower: the rest ends with the policies of the new time, and does not wait until they are as many.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

api_world db
api_node worker-2
rests() {
	grep -qs '"rests": *true' "$NET_TMP"/records/left/*
}
stated() {
	[ "$(api_get $API_NODE/worker-1 status.leftAddresses.0.address)" = 10.9.9.9 ]
}
noticed() {
	[ "$(cat "$NET_TMP"/*.log | grep -c "all objects are listed anew")" -ge 2 ]
}
api_engine one --node-limit 3600
api_follower worker-1
net_check "the first policy is rolled out" api_await api_both_followed 0
net_check "a change is rolled out before the backup" api_both_follow
backup=$(api GET /test/version)
for i in 1 2 3; do
	net_check "change $i is rolled out" api_both_follow
done
net_check "a further change" api_change
net_check "a rollout waits for the other node" api_await api_waits
echo '{"address": "10.9.9.9", "namespace": "shop", "name": "gone", "uid": "u-1", "rests": true}' >"$NET_TMP/records/left/.new"
mv "$NET_TMP/records/left/.new" "$NET_TMP/records/left/10.9.9.9_u-1"
net_check "the address is stated" api_await stated
net_pause 1
net_check "the address rests while the rollout waits" rests
net_check "the backup is restored" api PUT /test/restore "down $backup"
net_check "engine and follower notice" api_await noticed
net_check "a change after the restore is rolled out" api_both_follow
freed() { # the other node reports what the cluster wants
	api_installs worker-2
	! rests
}
net_check "the address rests no longer" api_await freed
if rests; then # what is known of it, for a reader of the failure
	api GET "$API_STATUS"
	api GET "$API_NODE"
	cat "$NET_TMP"/*.log "$NET_TMP"/records/left/*
fi
net_end
