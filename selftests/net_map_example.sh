#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Runs the example of maps/README.md as written and compares its maps with the text.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

# The example's network is called t and its command build/bulkhead: this test substitutes its own.
sed -n '/^## One question by hand/,$p' "$NET_TOP/maps/README.md" |
	awk '/^```sh/ { inside = 1; next } /^```/ { inside = 0 } inside' |
	sed "s,/t-node,/t$$-node,; s,bhtest-t\$,bhtest-t$$,; s,testbed up t,testbed up t$$,
		s,testbed down t,testbed down t$$,; s,build/bulkhead,$BULKHEAD,g
		s,^tools,$NET_TOP/tools,; s,two-pods.ini,$NET_TMP/two-pods.ini,g" >"$NET_TMP/example"

example() {
	bash -e "$NET_TMP/example" >"$NET_TMP/out" 2>&1 || { cat "$NET_TMP/out" && false; }
}

has() { # KEY VALUE
	grep -qE "\"$1\": \[?$2,?\$" "$NET_TMP/out"
}

net_check "the example's lines run" example
net_check "db is in slot 1" grep -q '"assignment": \[4294967297,0' "$NET_TMP/out"
net_check "web is in slot 2" grep -q '"assignment": \[4294967298,0' "$NET_TMP/out"
net_check "db's ingress policy is subject 1" grep -q '"own": \[1,0' "$NET_TMP/out"
net_check "web is peer 2" has peer_own 2
net_check "the pair's list has three intervals" has count 3
net_check "the second interval begins at port 6379" has start 6379
net_check "rule 1 allows it" grep -qE '^ *1 .*allow .*shop/db/ingress\[0\]' "$NET_TMP/out"
[ ! -e "/run/netns/t$$-node" ] || "$NET_TOP/tools/testbed" down "t$$"
net_end
