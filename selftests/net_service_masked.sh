#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Services whose callers the node masquerades, where the programs cannot ask the kernel's conntrack: a pod
# may open no connection with the node's address that it may not open with its own.
# shellcheck source=selftests/lib/service.sh
. "$(dirname "$0")/lib/service.sh"

NET_PORTS=6379
service_start db bad web shut
net_names db 7000
net_names out 7000
declare -A SOURCE
SERVICES="1:db 2:far 3:worse 5:shut 8:bad"
for number in $SERVICES; do
	service_leads "${number%:*}" "${number#*:}" 6379 || exit 1
done
service_leads 6 db 7000
service_leads 7 far 7000

policy() { # ROLES that web may call, SETTING or nothing: then what Services there are
	service_endpoints ${2:+"$2"}
	cat <<-EOF2
	[network-policy shop/web]
	endpoints = role=web
	types = Egress
	egress = to endpoints(role in ($1)) ports TCP/6379, UDP/6379, TCP/7000
	[network-policy shop/shut]
	endpoints = role=shut
	types = Egress
	[network-policy shop/servers]
	endpoints = role in (db, bad)
	ingress = from endpoints(role in (web, shut)), cidr(192.168.7.0/24), cidr(fd07::/64)
	EOF2
	[ -n "${2:-}" ] || for number in $SERVICES; do
		service_object "${number%:*}" "${number#*:}" 6379
	done
	[ -n "${2:-}" ] || { service_object 6 db 7000 && service_object 7 far 7000; }
}
policy "db, far" >"$NET_TMP/told.ini"
policy "db, far, nobody" >"$NET_TMP/same.ini"
policy "bad, worse" >"$NET_TMP/other.ini"
policy "db, far" "service-cidr = 10.96.0.0/16, fd96::/64" >"$NET_TMP/range.ini"

ports() { # net_allowed|net_denied HOW FROM PORT...
	local family protocol port
	for family in 4 6; do
		for protocol in tcp udp; do
			for port in "${@:4}"; do
				"$1" "$3" $protocol "$(service_node $family)" "$port" \
					"$2: $3, $protocol NodePort $port over IPv$family" ${SOURCE[$family]:+"${SOURCE[$family]}"}
			done
		done
	done
}

notes() { # OPTION...: what load says
	net_bulkhead load "$@" "$NET_TMP/told.ini" >"$NET_TMP/notes" 2>&1 &&
		grep -q "conntrack: not asked" "$NET_TMP/notes"
}

# Opens TCP connections of web that stay open: by Service 6 to db, and by Service 7 to far.
hold() {
	local number family
	for number in 6 7; do
		for family in 4 6; do
			service_hold_one $number-$family-tcp hold "$(service_node $family)" $((30000 + number)) || return
		done
	done
}

held() { # WAIT: who answers over them
	echo "$(service_held 6 "$1") $(service_held 7 "$1")"
}

ports net_allowed "no policy" web 30001 30002 30003 30008 31001 31003
net_check "load reports that programs do not ask the conntrack" notes --set ask-conntrack=0
service_allows told web 1 2
service_denies told web 3 8
service_denies told shut 1 2
ports net_allowed told web 30001 30002 31001 31002
ports net_denied told web 30003 30008 31003 31008
ports net_denied told shut 30001 30002 31001 31002
ports net_allowed told out 30001 31001 30005 31005
SOURCE=([4]=172.17.1.9 [6]=fd17:1::9)
ports net_denied "told, not admitted" out 31001
ports net_allowed "told, not admitted, by the node's address," out 30001
SOURCE=()

net_check "open connections by NodePorts" hold
net_check "the allowed backends answer" net_is "$(held "$NET_WAIT_ALLOWED")" "db out"
net_check "load another policy that allows the same backends" net_bulkhead load "$NET_TMP/same.ini"
net_check "the connections go on" net_is "$(held "$NET_WAIT_ALLOWED")" "db out"
net_check "load a policy that allows the other backends" net_bulkhead load "$NET_TMP/other.ini"
net_check "the connections stop" net_is "$(held "$NET_WAIT_DENIED")" "silent silent"
ports net_allowed other web 30003 30008
ports net_denied other web 30001 30002
net_check "load a policy that has only the range of Services" \
	net_bulkhead load --force "$NET_TMP/range.ini"
ports net_allowed range web 30001 30002
ports net_denied range web 30003 30008
ports net_denied range shut 30001 30002
ports net_allowed range out 30001 31001
ports net_denied "range: an answer by a port that nobody told of is a call," out 30005 31005
net_check "unload" net_bulkhead unload

net_check "load with programs that ask the conntrack" net_bulkhead load "$NET_TMP/told.ini"
ports net_allowed asked web 30001 30002
ports net_denied asked web 30003 30008
SOURCE=([4]=172.17.1.9 [6]=fd17:1::9)
ports net_denied "asked, not admitted," out 30001 31001
net_end
