#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Deltas on a node that is audited as a whole: one that begins the audit and one that ends it compare everything; one
# between them is planned from what it names, and a load of the whole policy afterwards finds nothing to change.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="80 443"
net_start db web
# shellcheck source=selftests/lib/delta.sh
. "$(dirname "$0")/lib/delta.sh"

policy() { # LINE...: of web
	net_head
	net_endpoint db
	net_endpoint web "$@"
	cat <<-END
		[network-policy shop/db]
		endpoints = role=db
		ingress = from endpoints(role=web) ports TCP/80
	END
}
policy >"$here/0.ini"
policy >"$here/audited.ini"
policy "mac = $(net_mac web)" >"$here/mac.ini"
policy >"$here/enforced.ini"
net_check "compile policies and deltas" chain 0 audited mac enforced
audited_delta() { # NAME
	load --audit "$here/$1.bhd" && test -e "$NET_PIN/blob_base"
}
audited_changes_nothing() { # NAME
	state "$NET_TMP/by-delta" && load --audit "$here/$1.bhp" && state "$NET_TMP/by-whole" &&
		diff "$NET_TMP/by-delta" "$NET_TMP/by-whole"
}
denies() { # WHEN
	reaches_by 80 web db "$1"
}
only_audits() { # WHEN
	local address
	for address in "$(net_ip db)" "$(net_ip6 db)"; do
		net_allowed web tcp "$address" 443 "$1: what db's policy denies passes at $address"
	done
}
net_check "load the policy, enforced" load "$here/0.bhp"
denies "before the audit"
net_check "a delta that begins the audit" load --audit "$here/audited.bhd"
only_audits "audited"
net_check "a delta of an audited node" audited_delta mac
only_audits "audited, after a delta"
net_check "a load of the whole policy, audited, has nothing to change" audited_changes_nothing mac
net_check "a delta that ends the audit" load "$here/enforced.bhd"
denies "enforced again"
net_check "a load of the whole policy has nothing to change" whole_changes_nothing enforced
net_end
