#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# From the last release to this tree and back, as COMPATIBILITY.md says, while pods send. The last release is the
# newest tag; before there is one, the commit before the file VERSION. FROM=REVISION: another one.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"
top=$NET_TOP build=$(dirname "$BULKHEAD")

git -C "$top" rev-parse -q --verify HEAD >/dev/null || net_skip "the tree has no history: git clone it"
last_release() {
	local first
	git -C "$top" describe --tags --abbrev=0 2>/dev/null && return
	first=$(git -C "$top" log --diff-filter=A --format=%H -- VERSION | tail -n 1)
	echo "${first:+$first~}"
}
from=${FROM:-$(last_release)}
from=$(git -C "$top" rev-parse -q --verify "${from:-HEAD}^{commit}") || net_skip "no such revision: $FROM"
old=$build/release/$from
build_old() {
	[ ! -x "$old/build/bulkhead" ] || return 0
	rm -rf "$old" && mkdir -p "$old" && git -C "$top" archive "$from" | tar -xf - -C "$old" &&
		nice make -s -j2 -C "$old" all
}
net_check "build the last release, $from" build_old

number() { # NAME FILE...
	sed -n "s/^#define $1 //p" "${@:2}"
}
old_abi=$(number BH_ABI "$old"/maps/*.h) abi=$(number BH_ABI "$top/maps/abi.h")
old_blob=$(number BLOB_VERSION "$old"/user/*/blob*.h) blob=$(number BLOB_VERSION "$top/user/policy/blob_file.h")
echo "# layout of the maps: $old_abi, now $abi; compiled policy: $old_blob, now $blob"
ln -s "$old/build/bulkhead" "$NET_TMP/old"
ln -s "$BULKHEAD" "$NET_TMP/new"
state=$NET_TMP/state
by() { # old|new COMMAND...
	BULKHEAD=$NET_TMP/$1 net_bulkhead "${@:2}"
}

# The inputs: what the last release reads, this one reads with the same answers.
answers() { # old|new INPUT FILE: the verdicts of all pods, at one port of each protocol; names of groups may change
	"$NET_TMP/$1" matrix --pods --port TCP/80,UDP/53 "$2" >"$3" 2>"$3.said"
	echo "status $?" >>"$3"
}
examples=0
same_answers() {
	local input form differ=0
	for input in "$old"/policies/*/; do
		for form in yaml ini; do
			[ -e "$input$form" ] || continue
			examples=$((examples + 1))
			answers old "$input$form" "$NET_TMP/before"
			answers new "$input$form" "$NET_TMP/after"
			cmp -s "$NET_TMP/before" "$NET_TMP/after" || { echo "$input$form" && differ=1; }
		done
	done
	[ $examples -ge 10 ] && [ $differ = 0 ]
}
net_check "YAML and INI of the last release give the same answers" same_answers
keys() { # old|new COMMAND...: the names of the members of its JSON
	"$NET_TMP/$1" "${@:2}" -j 2>/dev/null | grep -oE '"[A-Za-z_]+":' | sort -u
}
json_only_grows() {
	local demo=$old/policies/demo/yaml words missing=0
	for words in "trace --from shop/cart --to default/db --port TCP/6379" "matrix --port TCP/6379" lint \
		"show segments" "show endpoints" "show pairs" "show rules"; do
		# shellcheck disable=SC2086
		comm -23 <(keys old $words "$demo") <(keys new $words "$demo") | grep . && echo "$words" && missing=1
	done
	[ $missing = 0 ]
}
net_check "JSON has every member that the last release had" json_only_grows
properties() { # TREE: the names of the custom resources' kinds, versions and properties
	grep -oE '^ *(- )?[A-Za-z0-9{}]+:|name: [a-z0-9.]+' "$1/tools/deploy/base/crds.yaml" | tr -d ' -' | sort -u
}
net_check "custom resources have every field that the last release had" eval \
	'! comm -23 <(properties "$old") <(properties "$top") | grep .'
options() { # old|new: each command's options
	local command
	"$NET_TMP/$1" help | awk '/^commands:/ { on = 1; next } !NF { on = 0 } on && /^  [a-z]/ { print $1 }' |
		while read -r command; do
			"$NET_TMP/$1" help "$command" | grep -oE '^ .{0,6}--[a-z-]+' | sed "s/^ */$command /"
		done | sort -u
}
options_stay() {
	local option missing=0
	while read -r option; do
		grep -qE "^- .*\`$option\`.* (is|are) gone" "$top/CHANGELOG.md" || { echo "$option" && missing=1; }
	done < <(comm -23 <(options old) <(options new))
	return $missing
}
net_check "each command has every option that it had, or CHANGELOG.md says that it is gone" options_stay

# On a node.
NET_PORTS="80 443"
net_start db web
db4=$(net_ip db)
net_policy_of TCP/80,UDP/1001 TCP/80,TCP/443,UDP/1001-1002 >"$NET_TMP/policy.ini"
load() { # old|new
	by "$1" load --state "$state" "$NET_TMP/policy.ini"
}
traffic() { # WHEN
	local address
	for address in "$db4" "$(net_ip6 db)"; do
		net_allowed web tcp "$address" 80 "$1: web reaches $address"
		net_denied web tcp "$address" 443 "$1: web does not reach $address at 443"
	done
}
# Restores what the other version has kept, on a node that has just started.
boot() { # FROM TO
	by "$1" unload # of another folder, so that the kept load stays
	if [ "$old_abi $old_blob" = "$abi $blob" ]; then
		net_check "$2 restores the load that $1 has kept" by "$2" load --restore --state "$state"
		traffic "$2, restored"
		by "$2" unload
	else
		net_check "$2 refuses the load that $1 has kept, and names both formats" \
			net_ends 2 "version" by "$2" load --restore --state "$state"
	fi
}
move() { # FROM TO
	if [ "$old_abi" = "$abi" ]; then
		net_stream db recv 1001 1002
		net_stream web send "$db4" 1001 1002
		sleep 0.3
		net_check "$2 loads in place of $1" load "$2"
		net_stream_end
		net_check "datagrams were sent while $2 loaded" test "$(net_count web 1001)" -gt 10
		net_check "no allowed datagram was lost to $2" net_is "$(net_count db 1001)" "$(net_count web 1001)"
		net_check "no denied datagram arrived while $2 loaded" net_is "$(net_count db 1002)" 0
	else
		net_check "$2 refuses the maps of $1 and says what to do" net_ends 3 "unload" load "$2"
		traffic "$2 has refused, $1 still enforces"
		net_check "$1 unloads" by "$1" unload
		net_check "$2 loads" load "$2"
	fi
	net_check "$2 has no problem" by "$2" status --check --state "$state"
	traffic "$2"
}
net_check "the last release loads" load old
traffic old
move old new
boot new old
net_check "the last release loads again" load old
boot old new
net_check "this tree loads" load new
move new old
by old unload
net_end
