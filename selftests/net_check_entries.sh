#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# status --check names each entry of the maps that is not as the active policy says, a load of that policy
# puts it right, and the check is quiet after every kind of change that is none.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start db web late
bpftool=$(command -v bpftool || echo /usr/sbin/bpftool)

policy() { # PORTS
	net_head "uplink = eth0"
	cat <<-EOF
	$(net_node_object)
	$(net_endpoint db "mac = $(net_mac db)" "port = data TCP/6379")
	$(net_endpoint web "port = data TCP/7000" "allow-source = 192.0.2.0/24")
	[network-policy shop/db]
	endpoints = role=db
	ingress = from endpoints(role=web) ports $1
	ingress = from cidr(203.0.113.0/24) ports TCP/443
	[network-policy shop/any]
	ingress = from endpoints(role=web) ports TCP/data
	[service shop/s]
	address = 10.96.0.1
	port = TCP/80 to 6379
	backends = endpoints(role=db)
	EOF
}
policy "TCP/80, UDP/53" >"$NET_TMP/policy.ini"
policy "TCP/80, UDP/53, UDP/54" >"$NET_TMP/next.ini"

load() {
	net_bulkhead load "${1:-$NET_TMP/policy.ini}"
}
fine() {
	net_is "$(net_bulkhead status --check)" "" && net_bulkhead status --check &&
		net_is "$(net_bulkhead status --check -j)" "[]"
}

# Prints each entry of a map, or the one of a key, as "KEY | VALUE", in bytes. An array has hundreds of thousands.
entries() { # MAP [key BYTE...]
	local what=dump
	[ $# -eq 1 ] || what=lookup
	"$bpftool" -j map $what pinned "$NET_PIN/$1" "${@:2}" | grep -oE '"key":\["0x[^]]*\],"value":\["0x[^]]*\]' |
		sed 's/"key":\[//; s/\],"value":\[/ | /; s/[]"]//g; s/,/ /g'
}
# Sets a byte of the value of the first entry that has the pattern; in both of its halves, if it has two of
# which only one counts. A pattern that begins with "key" is the entry's key.
alter() { # MAP PATTERN OFFSET[,OFFSET] BYTE
	local key value line at pattern=$2 one=()
	[[ $2 != key* ]] || { read -ra one <<<"$2" && pattern=.; }
	line=$(entries "$1" "${one[@]}" | grep -m 1 -- "$pattern") || return
	read -ra key <<<"${line% |*}"
	read -ra value <<<"${line#*| }"
	for at in ${3//,/ }; do
		[ "${value[$at]}" != "$4" ] || return
		value[at]=$4
	done
	"$bpftool" map update pinned "$NET_PIN/$1" key "${key[@]}" value "${value[@]}"
}
named() { # PATTERN: the check names this and nothing else
	net_bulkhead status --check >"$NET_TMP/out"
	net_is $? 1 && cat "$NET_TMP/out" && ! grep -vE "$1" "$NET_TMP/out" &&
		net_bulkhead status --check -j | grep -F "$(head -n 1 "$NET_TMP/out")"
}
repaired() { # MAP PATTERN COMMAND...: the command changes an entry of the map
	net_check "an entry of $1 is altered" "${@:3}"
	net_check "status --check names the entry of $1" named "$2"
	net_check "load puts the entry of $1 right" load
	net_check "status --check is quiet after the load of $1" fine
}
generation() {
	net_bulkhead status -j | sed -E 's/.*"generation": *([0-9]+),.*/\1/; q'
}
# A part of a policy that was missing or is surplus may have decided connections: they are evaluated again.
commits() { # COMMAND...: a load after the command
	local before
	before=$(generation)
	"$@" && load && net_is "$(generation)" $((before + 1))
}
bytes() { # ADDRESS: of the map's keys
	printf '0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0x00 0xff 0xff'
	printf ' 0x%02x' ${1//./ }
}

net_check "load" load
net_check "status --check is quiet after a first load" fine
net_allowed web tcp "$(net_ip db)" 80 "web reaches db"
net_denied web tcp "$(net_ip db)" 443 "web does not reach another port of db"

repaired pairs "^pairs subject [0-9]+, peer [0-9]+: is not as the policy says; load again$" \
	alter pairs . 4 0x55
repaired pairs "^pairs subject [0-9]+, peer [0-9]+: is missing; load again$" eval \
	'"$bpftool" map delete pinned "$NET_PIN/pairs" key $(entries pairs | sed "s/ |.*//; q")'
repaired pairs "^pairs subject 119, peer 0: nothing of the policy needs it; load again$" \
	"$bpftool" map update pinned "$NET_PIN/pairs" key 119 0 0 0 0 0 0 0 value 0 0 0 0 0 0 0 0
net_check "a load that puts a missing pair commits" commits eval \
	'"$bpftool" map delete pinned "$NET_PIN/pairs" key $(entries pairs | sed "s/ |.*//; q")'
net_check "a load that deletes a surplus pair commits" commits \
	"$bpftool" map update pinned "$NET_PIN/pairs" key 119 0 0 0 0 0 0 0 value 0 0 0 0 0 0 0 0
net_check "a load that finds nothing to do does not" \
	net_is "$(generation)" "$(load >/dev/null 2>&1; generation)"
repaired ports "^(pairs subject|segments slot|named list) .*: is not as the policy says; load again$" \
	alter ports "key 0x01 0x00 0x00 0x00" 0 0x33
repaired named "^named list [0-9]+, resolution [0-9]+: is not as the policy says; load again$" \
	alter named . 4 0x55
repaired variations "^variations segment [0-9]+, variation [0-9]+: is not as the policy says; load again$" \
	alter variations . 0 0x77
repaired segments "^segments slot 1: is not as the policy says; load again$" \
	alter segments "key 0x01 0x00 0x00 0x00" 8 0x77
repaired prefixes "^prefixes 203.0.113.0/24: is not as the policy says; load again$" \
	alter prefixes "0xcb 0x00 0x71" 0,8 0x77
repaired services "^services 10.96.0.1 protocol 6 port 80: is not as the policy says; load again$" \
	alter services "$(bytes 10.96.0.1)" 4,44 0x05
repaired endpoints "^endpoints $(net_ip db): is not as the policy says; load again$" \
	alter endpoints "$(bytes "$(net_ip db)")" 0,8 0x77
repaired ifaces "^ifaces veth-db: is not as the policy says; load again$" alter ifaces \
	"$(printf '^0x%02x' "$(ip -n "$NET-node" -o link show veth-db | sed 's/:.*//')")" 0 0x19
repaired macs "^macs $(net_mac db): nothing of the policy needs it|^macs $(net_mac db): is missing" eval \
	'"$bpftool" map delete pinned "$NET_PIN/macs" key hex $(net_mac db | tr : " ") 00 00'
repaired allow_source "^allow_source 192.0.2.0/24 of veth-web: is missing; load again$" eval \
	'"$bpftool" map delete pinned "$NET_PIN/allow_source" key $(entries allow_source | sed "s/ |.*//; q")'

net_allowed web tcp "$(net_ip db)" 80 "web reaches db after the repairs"
net_denied web tcp "$(net_ip db)" 443 "web does not reach another port of db after the repairs"

all() {
	for key in $(seq 100 130); do
		"$bpftool" map update pinned "$NET_PIN/pairs" key "$key" 0 0 0 0 0 0 0 \
			value 0 0 0 0 0 0 0 0 || return
	done
}
net_check "31 entries are added" all
net_check "status --check names some entries and counts the others" \
	net_is "$(net_bulkhead status --check | sed '20!d; q'; net_bulkhead status --check | tail -n 1)" \
	"pairs subject 119, peer 0: nothing of the policy needs it; load again
and 11 more entries of maps; load again"
net_check "load deletes them" load
net_check "status --check is quiet without them" fine

# What is no fault.
net_check "load with options" net_bulkhead load --uplink eth0 --uplink veth-late --resolver 192.0.2.53 \
	"$NET_TMP/policy.ini"
net_check "status --check is quiet about the options' uplinks and resolvers" fine
net_check "load without options" load
net_check "status --check is quiet without the options" fine
net_check "endpoint add" net_bulkhead endpoint add shop/late --ip "$(net_ip late)" --labels role=web
net_check "status --check is quiet after endpoint add" fine
net_check "an added endpoint's word is altered" alter endpoints \
	"$(bytes "$(net_ip late)")" 0,8 0x77
net_check "status --check names the added endpoint" named \
	"^endpoints $(net_ip late): is not as the policy says; load again$"
net_check "load puts the added endpoint right" load
net_check "status --check is quiet with the added endpoint right" fine
net_check "endpoint del" net_bulkhead endpoint del shop/late
net_check "status --check is quiet after endpoint del" fine
net_check "endpoint add of labels that no segment has" \
	net_bulkhead endpoint add shop/late --ip "$(net_ip late)" --labels role=new
net_check "status --check is quiet after an extension" fine
net_check "load beside the extension" load
net_check "status --check is quiet after a load beside the extension" fine
net_check "an extension's endpoint goes" net_bulkhead endpoint del shop/late
net_check "status --check is quiet without the extension" fine
quarantine() { # as a follower does
	sed '/^\[endpoint shop\/web\]/,/^labels/d' "$NET_TMP/policy.ini" >"$NET_TMP/less.ini" &&
		"$BULKHEAD" compile "$NET_TMP/less.ini" -o "$NET_TMP/less.bhp" &&
		net_on node "$NET_HELPERS/quarantine" "$NET_PIN" "$NET_TMP/less.bhp"
}
net_check "web's interface is quarantined" quarantine
net_check "status --check is quiet with a quarantined interface" fine
net_check "status does not count the quarantined interface as an endpoint" grep -q ", 1 endpoints guarded" \
	<(net_bulkhead status)
net_check "status says that the interface is quarantined" grep -q "^  veth-web .*quarantined" <(net_bulkhead status)
less_delta() {
	sed 's!UDP/53!UDP/54!' "$NET_TMP/less.ini" >"$NET_TMP/least.ini" &&
		"$BULKHEAD" compile "$NET_TMP/least.ini" --base "$NET_TMP/less.bhp" --delta -o "$NET_TMP/least.bhd" &&
		net_ends 0 ", 1 endpoints guarded, " load "$NET_TMP/least.bhd"
}
net_check "a delta does not count the quarantined interface, either" less_delta
net_check "load guards web again, and counts one endpoint more" net_ends 0 ", 2 endpoints guarded (+1)" load
net_check "endpoint del of a Service's backend" net_bulkhead endpoint del shop/db
net_check "status --check is quiet without the backend" fine
net_check "load brings the backend again" load
net_check "status --check is quiet with the backend" fine
net_check "load --stage" net_bulkhead load --stage "$NET_TMP/next.ini"
net_check "status --check is quiet after load --stage" fine
repaired pairs "^pairs subject [0-9]+, peer [0-9]+: is not as the policy says; load again$" \
	alter pairs . 4 0x55
net_check "load --stage again" net_bulkhead load --stage "$NET_TMP/next.ini"
net_check "the staged policy is activated" load "$NET_TMP/next.ini"
net_check "status --check is quiet with the staged policy active" fine

delta() {
	"$BULKHEAD" compile "$NET_TMP/policy.ini" -o "$NET_TMP/base.bhp" &&
		"$BULKHEAD" compile "$NET_TMP/next.ini" --base "$NET_TMP/base.bhp" \
			--delta -o "$NET_TMP/next.bhd" &&
		net_bulkhead load --rollback "$NET_TMP/base.bhp" && load "$NET_TMP/next.bhd"
}
net_check "load a delta" delta
net_check "status --check is quiet after a delta" fine

killed() {
	net_fault state 0 kill load "$NET_TMP/policy.ini" && load "$NET_TMP/next.bhp" || return
	net_fault state "$(grep -n '^bpf' "$NET_TMP/calls" | sed -n 's/:.*//; 8p')" kill \
		load "$NET_TMP/policy.ini"
	[ $? -eq 99 ]
}
"$BULKHEAD" compile "$NET_TMP/next.ini" -o "$NET_TMP/next.bhp"
net_check "a load is killed" killed
net_check "load repairs" load
net_check "status --check is quiet after the repair" fine

net_end
