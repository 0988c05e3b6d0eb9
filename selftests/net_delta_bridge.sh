#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Deltas that bring and take endpoints on a bridge. A load of the whole policy afterwards finds nothing to
# change. The first endpoint of a bridge needs a whole load, which guards the bridge's other ports.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 443"
net_start far
NET_BRIDGE=(type bridge)
net_bridge db web late stray
net_bridge_routes
net_serve db web late stray
# shellcheck source=selftests/lib/delta.sh
. "$(dirname "$0")/lib/delta.sh"

policy() { # LINE...
	net_head
	net_endpoint far
	printf '[endpoint shop/other-%s]\nnode = far\nip = 10.9.1.%s,fd09:1::%s\nlabels = role=%s\n' \
		db 1 1 db web 2 2 web
	cat <<-END
		[network-policy shop/db]
		endpoints = role=db
		ingress = from endpoints(role=web) ports TCP/80
	END
	printf '%s\n' "$@"
}
late() {
	net_bridged late 3 "labels = role=web"
}
policy >"$here/0.ini"
policy "$(net_bridged db 1)" "$(net_bridged web 2)" >"$here/1.ini"
policy "$(net_bridged db 1)" "$(net_bridged web 2)" "$(late)" >"$here/2.ini"
cp "$here/1.ini" "$here/3.ini"
cp "$here/2.ini" "$here/4.ini"
cp "$here/1.ini" "$here/5.ini"
late | sed '/^node = /d' >"$here/late.ini"
net_check "compile policies and deltas" chain 0 1 2 3 4 5

load_whole() { # NUMBER
	load "$here/$1.bhd" && test ! -e "$NET_PIN/blob_base"
}
is_web() { # WHEN
	local address
	for address in 10.50.0.1 fd50::1; do
		net_allowed late tcp "$address" 80 "$1: late reaches $address at its port"
		net_denied late tcp "$address" 443 "$1: late does not reach another port"
	done
}
net_check "load a policy without endpoints on the bridge" load "$here/0.bhp"
net_check "a delta with the first endpoints of the bridge is loaded whole" load_whole 1
net_denied late tcp 10.50.0.1 80 "late is nobody"
net_denied late tcp fd50::1 80 "late is nobody over IPv6"
net_check "a delta that brings one more" load_delta 2
is_web "by a delta"
net_check "a load of the whole policy has nothing to change" whole_changes_nothing 2
net_check "endpoint del" net_bulkhead endpoint del shop/late
net_check "a delta that takes it" load_delta 3
net_denied late tcp 10.50.0.1 80 "late is nobody again"
net_denied late tcp fd50::1 80 "late is nobody again over IPv6"
net_check "endpoint add" net_bulkhead endpoint add -f "$here/late.ini"
is_web "added"
net_check "a delta that takes the added endpoint over" load_delta 4
is_web "taken over"
net_check "a load of the whole policy has nothing to change" whole_changes_nothing 4
net_check "the interface goes" ip -n "$NET-node" link del veth-late
net_check "a delta that takes the endpoint whose interface is gone" load_delta 5
net_check "a load of the whole policy has nothing to change" whole_changes_nothing 5
net_allowed web tcp 10.50.0.1 80 "the others are as before"
net_denied web tcp 10.50.0.1 443 "the others reach no more than before"
net_allowed web tcp fd50::1 80 "the others are as before over IPv6"
net_denied web tcp fd50::1 443 "the others reach no more than before over IPv6"
net_end
