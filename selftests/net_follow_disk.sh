#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A follower that cannot save a policy for the node's next start, on a full or a read-only disk, activates the policy and
# says that it is not saved. It saves the policy as soon as the disk takes it.
# shellcheck source=selftests/lib/api.sh
. "$(dirname "$0")/lib/api.sh"

net_start db
state=$NET_TMP/state
mkdir "$state"
mount -t tmpfs -o size=256k tmpfs "$state" || net_skip "cannot mount"
api_start
api_pods worker-1 db
condition() { # STATUS TEXT
	api GET $API_NODE/worker-1 | jq -r '.status.conditions[] | select(.type == "PolicySaved") | "\(.status) \(.message)"' |
		grep -q "^$1 .*$2"
}
says() { # METRIC STATUS TEXT
	api_metric_is 9467 follow_policy_saved "$1" && condition "$2" "$3"
}
warnings() {
	grep -c "the policy is active, but cannot be kept in $state" "$NET_TMP/follow-worker-1.log"
}
is_kept() {
	! net_bulkhead status --check --state "$state" | grep -qF "$state"
}
follow() {
	api_follower worker-1 --state "$state" --listen 127.0.0.1:9467
}
fill() {
	! head -c 1M /dev/zero >"$state/else" 2>/dev/null
}

api_engine one --node-limit 20
follow
net_check "a policy is active" api_follows
net_check "the policy is saved" api_await says 1 True "with the active policy"
net_check "status --check has nothing of the file" is_kept

net_check "the disk is full" fill
net_check "a policy is active that the full disk does not take" api_follows
net_check "the follower says that the full disk does not take it" api_await says 0 False "$state: No space left"
net_check "status --check names the file" eval '! is_kept'
net_check "one more is active" api_follows
net_check "a third is active" api_follows
net_check "the log has one warning" net_is "$(warnings)" 1
api_end follow-worker-1 TERM
follow
net_check "the follower says so after its start" api_await says 0 False "$state: No space left"
net_check "the log has another warning after the start" net_is "$(warnings)" 2
rm "$state/else"
net_check "the follower saves the policy once there is room, without a change" api_await says 1 True "with the active policy"
net_check "status --check has nothing of the file again" is_kept

mount -o remount,ro "$state"
net_check "a policy is active that the read-only disk does not take" api_follows
net_check "the follower says that the disk is read-only" api_await says 0 False "$state: Read-only file system"
mount -o remount,rw "$state"
net_check "the follower saves the policy once it can" api_await says 1 True "with the active policy"
net_check "status --check has nothing of the file at the end" is_kept
api_end follow-worker-1 TERM
umount "$state"
net_end
