#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The last load is kept on disk and restored when the node starts: with its options, before any pod exists,
# whole or not at all, and never in place of an active policy.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web
state=$NET_TMP/state kept=$NET_TMP/state/policy
policy() { # PORT [HEAD]
	cat <<-EOF2
	${2:-}
	$(net_endpoint db)
	$(net_endpoint web "interface = veth-web")
	[network-policy shop/db]
	endpoints = role=db
	ingress = from endpoints(role=web) ports TCP/$1
	EOF2
}
# Without the node's name: the first load gives it.
policy 80 >"$NET_TMP/policy.ini"
policy 443 >"$NET_TMP/next.ini"

load() {
	net_bulkhead load --state "$state" "$@"
}
restore() {
	net_bulkhead load --restore --state "$state" "$@"
}
# Removes the state in the kernel; the state on disk stays.
restart() {
	net_bulkhead unload
}
nothing_active() {
	net_is "$(net_bulkhead status)" "nothing is loaded"
}
traffic() { # ALLOWED-PORT DENIED-PORT WHEN
	local address
	for address in "$(net_ip db)" "$(net_ip6 db)"; do
		net_allowed web tcp "$address" "$1" "$3: web reaches $address, $1"
		net_denied web tcp "$address" "$2" "$3: web does not reach $address, $2"
		net_denied out tcp "$address" "$1" "$3: the outside does not reach $address, $1"
	done
	net_allowed web tcp "$(net_ip out)" 80 "$3: web reaches the outside"
}
is_fine() {
	net_bulkhead status --check --state "$state"
}

net_check "without a state folder nothing is restored" net_ends 0 "no load is kept" restore
net_check "with an empty state folder nothing is restored" eval 'mkdir -m 700 "$state" && net_ends 0 "no load" restore'
net_check "nothing is active after these restores" nothing_active
net_check "a load with --pin and without --state keeps nothing" eval \
	'net_bulkhead load -n worker-1 "$NET_TMP/policy.ini" && [ ! -e "$kept" ]'
net_check "status --check with a state folder reports that no load is kept" net_ends 1 "no load is kept in" is_fine
net_check "--restore with --pin needs --state" net_ends 2 "needs --state" net_bulkhead load --restore
net_check "unload" net_bulkhead unload

net_check "load" load -n worker-1 --uplink eth0 --set connections=5000 "$NET_TMP/policy.ini"
net_check "load keeps the policy, for root alone" net_is "$(stat -c '%a %U' "$kept")" "600 root"
net_check "the state folder is for root alone" net_is "$(stat -c '%a' "$state")" 700
net_check "status --check has no problem" is_fine
net_check "the kept file begins with the options" net_is "$(sed -n '2,/^$/p' "$kept" | tr '\0' ' ')" \
	"$(printf '%s\n' node=worker-1 uplink=eth0 set=connections=5000 audit=no)"
restore_beside_active() {
	local before
	before=$(net_bulkhead status -j)
	net_ends 0 "a policy is active" restore && net_is "$(net_bulkhead status -j)" "$before"
}
net_check "restore leaves an active policy alone" restore_beside_active
before=$(stat -c '%i %Y' "$kept")
net_check "the same load again" load --uplink eth0 "$NET_TMP/policy.ini"
net_check "the kept file is not written again" net_is "$(stat -c '%i %Y' "$kept")" "$before"

restart
net_check "after a restart nothing is active" nothing_active
net_allowed web tcp "$(net_ip db)" 443 "after a restart nothing is denied"
net_check "restore" net_ends 0 "2 endpoints guarded" restore
traffic 80 443 restored
net_check "restore has the settings of the first load" \
	grep -q '"name":"ct","used":[0-9]*,"max":5000' <(net_bulkhead status -j)
net_check "status --check has no problem after the restore" is_fine

net_check "a load without the node's name, after a restart, guards that node" net_ends 0 "2 endpoints guarded" \
	load --audit "$NET_TMP/next.ini"
net_check "the kept load has the name" grep -qa '^node=worker-1' "$kept"
policy 80 "$(net_head)" >"$NET_TMP/policy.ini"
policy 443 "$(net_head)" >"$NET_TMP/next.ini"
net_check "the new load is kept in place of the old one" grep -qa '^audit=yes' "$kept"
net_check "the kept load has no uplink, as the new load named none" eval '! grep -qa "^uplink=" "$kept"'
net_check "the kept load has the first load's settings" grep -qa '^set=connections=5000' "$kept"
restart
net_check "restore the audited load" restore
net_allowed web tcp "$(net_ip db)" 80 "the restored load drops nothing"
net_check "the restored load counts audited packets" grep -q '^audit *[1-9]' <(net_bulkhead show counters)
net_check "load the first policy again" load "$NET_TMP/policy.ini"
net_check "a folder is in the way of the next file" mkdir "$state/policy.new"
net_check "load the same policy, audited, which cannot be kept" net_ends 0 "cannot be kept in" \
	load --audit "$NET_TMP/policy.ini"
net_check "status --check has no problem with the policy itself" net_bulkhead status --check
net_check "status --check says that the kept load has other options" net_ends 1 "policy was loaded with other options" is_fine
net_check "the next file has room again" rmdir "$state/policy.new"
net_check "load the first policy once more" load "$NET_TMP/policy.ini"
net_check "status --check has no problem after that load" is_fine

net_check "stage another policy" load --stage "$NET_TMP/next.ini"
restart
net_check "restore after a policy was staged" restore
traffic 80 443 "staged, and restarted"
generation=$(load --stage -j "$NET_TMP/next.ini" | grep -o '"policy_generation":[0-9]*' | cut -d: -f2)
net_check "activate the staged policy" load --activate "$generation"
restart
net_check "restore after the activation" restore
traffic 443 80 "activated, and restarted"

# At a node's start the pods and their interfaces do not exist.
ip -n "$NET-node" link del veth-web && ip netns del "$NET-web"
ip -n "$NET-node" route del "$(net_ip db)" && ip -n "$NET-node" -6 route del "$(net_ip6 db)"
restart
load_gone() { net_ends 3 "interface veth-web" load "$NET_TMP/next.ini"; }
net_check "an interface that is gone is an error of load" load_gone
net_check "restore goes on without the pods' interfaces" net_ends 0 "2 of 2 endpoints of this node have no interface" restore
ip -n "$NET-node" link add tunnel type veth peer name tunnel-end
restart
net_check "a load that names no interface goes on, too" net_ends 0 "db is not guarded" \
	load -u tunnel <(sed /interface/d "$NET_TMP/next.ini")
net_check "the way out of the node is not taken for a pod's interface" \
	eval '! net_bulkhead status | grep "eth0 *endpoint"'
ip -n "$NET-node" route add "$(net_ip db)" dev veth-db
ip -n "$NET-node" -6 route add "$(net_ip6 db)" dev veth-db
net_host web && NET_PODS=(db web) && net_plug web
net_check "once the pods are there, load guards them" net_ends 0 "2 endpoints guarded" load "$NET_TMP/next.ini"
traffic 443 80 "pods that came after the start"

# An uplink that is created after the restore.
net_check "load with a tunnel as uplink" eval 'load -u eth0 -u tunnel "$NET_TMP/next.ini"'
ip -n "$NET-node" link del tunnel
restart
net_check "load refuses an uplink that does not exist" net_ends 3 "uplink tunnel" \
	load -u eth0 -u tunnel "$NET_TMP/next.ini"
net_check "restore reports the missing uplink and goes on" net_ends 0 "uplink tunnel does not exist yet" restore
net_check "the kept load still has the uplink" grep -qa '^uplink=tunnel' "$kept"
traffic 443 80 "without the tunnel"

# Any byte of the kept file that is changed or missing is noticed.
cp "$kept" "$NET_TMP/whole"
size=$(stat -c %s "$kept")
change_byte() { # FILE OFFSET
	printf '%b' "\\0$(printf %o $(($(od -An -v -t u1 -j "$2" -N 1 "$1") ^ 1)))" |
		dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
damage() { # OFFSET
	cp "$NET_TMP/whole" "$kept" && change_byte "$kept" "$1" &&
		net_is "$(cmp -l "$NET_TMP/whole" "$kept" | wc -l)" 1 || return
	net_ends 2 "load the policy again" restore && nothing_active
}
restart
audit=$(grep -abo 'audit=no' "$NET_TMP/whole" | cut -d: -f1)
for at in 0 15 20 60 "$((audit + 6))" "$((size / 2))" $((size - 1)); do
	net_check "byte $at damaged: refused, and nothing is active" damage "$at"
done
for length in 0 10 48 60 $((size / 2)) $((size - 1)); do
	head -c "$length" "$NET_TMP/whole" >"$kept"
	net_check "cut to $length bytes: refused" net_ends 2 "load the policy again" restore
done
net_check "nothing is active after the damaged files" nothing_active
sed 's/^audit=no/audit=on/' "$NET_TMP/whole" >"$kept"
net_check "a kept file with a changed option is refused" net_ends 2 "checksum" restore
net_check "load replaces the damaged file" load "$NET_TMP/next.ini"
net_check "status --check has no problem after that load" is_fine

# A damaged delta: the policy that it changes is whole, but older than the one that was active.
compile() { "$BULKHEAD" compile -o "$@" >/dev/null; }
net_check "compile a policy" compile "$NET_TMP/base.bhp" "$NET_TMP/policy.ini"
net_check "compile a delta of it" compile "$NET_TMP/next.bhd" --base "$NET_TMP/base.bhp" --delta "$NET_TMP/next.ini"
net_check "load the policy" load "$NET_TMP/base.bhp"
net_check "a folder is in the way of the next file again" mkdir "$state/policy.new"
net_check "load the same policy as another node, which cannot be kept" net_ends 0 "cannot be kept in" \
	load --force -n worker-2 "$NET_TMP/base.bhp"
net_check "status --check says that the kept load is another node's" \
	net_ends 1 "policy was loaded with other options" is_fine
net_check "the next file has room once more" rmdir "$state/policy.new"
net_check "load the policy as this node" load --force "$NET_TMP/base.bhp"
net_check "status --check has no problem as this node" is_fine
net_check "load the delta" load "$NET_TMP/next.bhd"
delta=$state/policy.delta
net_check "load keeps the delta beside the policy" cp "$delta" "$NET_TMP/delta"
cp "$kept" "$NET_TMP/whole"
net_check "status --check has no problem with the delta" is_fine
head -c 20 "$NET_TMP/delta" >"$delta"
net_check "status --check says that the node could not start with the damaged delta" \
	net_ends 1 "cannot be read at the node's next start" is_fine
restart
delta_is_named() {
	net_ends 2 "$delta: .*remove this file" restore && nothing_active && cmp "$kept" "$NET_TMP/whole"
}
size=$(stat -c %s "$NET_TMP/delta")
for at in 0 8 $((size / 2)) $((size - 1)); do
	cp "$NET_TMP/delta" "$delta" && change_byte "$delta" "$at"
	net_check "byte $at of the delta damaged: restore names the delta, and nothing is active" delta_is_named
done
for length in 0 20 $((size / 2)) $((size - 1)); do
	head -c "$length" "$NET_TMP/delta" >"$delta"
	net_check "the delta cut to $length bytes: restore names the delta, and nothing is active" delta_is_named
done
net_check "the delta is removed" rm "$delta"
net_check "restore without the delta" restore
traffic 80 443 "restored without its delta"
restart
cp "$NET_TMP/delta" "$delta"
net_check "restore with the whole delta" restore
traffic 443 80 "restored with its delta"
net_check "a load replaces policy and delta" load "$NET_TMP/policy.ini"
net_check "no delta is kept beside the new policy" test ! -e "$delta"
net_check "load what is kept on a full disk later" load "$NET_TMP/next.ini"

# A full disk.
mount -t tmpfs -o size=64k,mode=700 state "$state" || exit 1
trap 'umount "$state"; net_cleanup' EXIT
net_check "load before the disk is full" load "$NET_TMP/policy.ini"
cp "$kept" "$NET_TMP/whole"
head -c 64k /dev/zero >"$state/much" 2>/dev/null
net_check "a load on a full disk is active, with a warning" \
	net_ends 0 "cannot be kept in .*No space left" load "$NET_TMP/next.ini"
traffic 443 80 "on a full disk"
net_check "the file that was kept before is whole" cmp "$kept" "$NET_TMP/whole"
net_check "no other file lies beside it" net_is "$(ls "$state")" $'much\npolicy'
net_check "status --check reports that the kept load is another one" net_ends 1 "is not the active policy" is_fine
rm "$state/much"
echo "left by a command that was killed" >"$state/policy.new"
net_check "with room again, the same load is kept" load "$NET_TMP/next.ini"
net_check "status --check has no problem with room again" is_fine
net_check "a load whose state folder cannot be written to is active, with a warning" eval 'mount -o remount,ro "$state" &&
	net_ends 0 "cannot be kept in .*Read-only" load "$NET_TMP/policy.ini"'
net_check "unload reports that the policy would come back" \
	net_ends 3 "is kept for the node" net_bulkhead unload --state "$state"
mount -o remount,rw "$state"
net_check "restore once more" restore
net_check "unload" net_bulkhead unload --state "$state"
net_check "unload leaves nothing to restore" net_ends 0 "no load is kept" restore
net_check "unload leaves no file" net_is "$(ls "$state")" ""
net_end
