#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A packet that an endpoint's interface receives for, or sends from, an address that no policy lists is
# evaluated by that endpoint's own policy, also while the endpoint's addresses change, and afterwards.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

net_start job web
job4=$(net_ip job) job6=$(net_ip6 job) out4=$(net_ip out) out6=$(net_ip6 out)
new4=10.244.0.77 new6=fd44::77 other4=10.244.0.99 other6=fd44::99

# The pod has two more IPv4 and IPv6 addresses, and the node the routes to them.
for address in $new4 $other4; do
	ip -n "$NET-job" addr add $address/32 dev eth0
	net_neighbour node veth-job "$(net_mac job)" $address
	ip -n "$NET-node" route add $address dev veth-job
done
for address in $new6 $other6; do
	ip -n "$NET-job" addr add $address/128 dev eth0 nodad
	net_neighbour node veth-job "$(net_mac job)" $address
	ip -n "$NET-node" -6 route add $address dev veth-job
done

policy() { # ADDRESSES of job
	cat <<-EOF2
	$(net_head)
	$(net_endpoint_at job worker-1 "$1" "mac = $(net_mac job)")
	$(net_endpoint web)
	[network-policy shop/job]
	endpoints = role=job
	types = Ingress, Egress
	ingress = from cidr($out4/32), cidr($out6/128) ports TCP/80, UDP/1080-1089
	egress = to cidr($out4/32), cidr($out6/128) ports TCP/80, UDP/1080-1089
	EOF2
}
policy "$job4, $job6" >"$NET_TMP/old.ini"
policy "$new4, $new6" >"$NET_TMP/new.ini"
evaluated() { # WHEN ADDRESS...: to which address job's policy is asked, and by which nobody sends
	local when=$1 address to
	shift
	for address; do
		to=$out4
		[[ $address != *:* ]] || to=$out6
		net_allowed out tcp "$address" 80 "$when: job's policy lets outside in at $address"
		net_denied out tcp "$address" 443 "$when: outside reaches no other port of $address"
		net_denied web tcp "$address" 80 "$when: a pod that the policy does not name does not reach $address"
		net_denied job tcp $to 80 "$when: job sends nothing from $address that its policy denies" "$address"
	done
}

# Streams run at ports that job's policy denies, from outside, from a pod and to outside, at all of job's
# addresses, and at one port that it allows, while the command runs again and again.
changed() { # NAME COMMAND...: which has the number of the round behind it
	local name=$1 address port=1440 from=() by=()
	shift
	for address in $job4 $job6 $new4 $new6 $other4 $other6; do
		port=$((port + 1))
		from+=("$port@$address")
		[[ $address == *:* ]] && by+=("$port@$out6,$address") || by+=("$port@$out4,$address")
	done
	net_stream job recv 1080 1441 1442 1443 1444 1445 1446
	net_stream out send $out4 "${from[@]}" 1080@$other4
	net_stream web send $out4 "${from[@]}"
	for ((i = 0; i < 10; i++)); do
		"$@" $i || break
	done >"$NET_TMP/changes" 2>&1
	net_check "$name, ten times" net_is "$i" 10
	net_stream_end
	net_check "$name: allowed packets arrive at the unlisted address" \
		test "$(net_count job 1080)" -gt 10
	for port in 1441 1442 1443 1444 1445 1446; do
		net_check "$name: denied packets were sent ${from[$((port - 1441))]}" \
			test "$(net_count out "${from[$((port - 1441))]}")" -gt 10
		net_check "$name: no denied packet arrived ${from[$((port - 1441))]}" net_is "$(net_count job $port)" 0
	done

	net_stream out recv 1441 1442 1443 1444 1445 1446
	net_stream job send $out4 "${by[@]}"
	for ((i = 0; i < 10; i++)); do
		"$@" $i || break
	done >"$NET_TMP/changes" 2>&1
	net_stream_end
	for port in 1441 1442 1443 1444 1445 1446; do
		net_check "$name: job sent ${by[$((port - 1441))]}" \
			test "$(net_count job "${by[$((port - 1441))]}")" -gt 10
		net_check "$name: no denied packet left by ${by[$((port - 1441))]}" net_is "$(net_count out $port)" 0
	done
}
set_job() { # ROUND
	if [ $(($1 % 2)) -eq 0 ]; then
		net_bulkhead endpoint set shop/job --ip "$new4, $new6" --labels role=job
	else
		net_bulkhead endpoint set shop/job --ip "$job4, $job6" --labels role=job
	fi
}
set_one() { # ROUND: one version's address stays
	if [ $(($1 % 2)) -eq 0 ]; then
		net_bulkhead endpoint set shop/job --ip "$job4, $new6" --labels role=job
	else
		net_bulkhead endpoint set shop/job --ip "$job4, $job6" --labels role=job
	fi
}
load_job() { # ROUND
	if [ $(($1 % 2)) -eq 0 ]; then
		net_bulkhead load "$NET_TMP/new.ini"
	else
		net_bulkhead load "$NET_TMP/old.ini"
	fi
}

net_check "load" net_bulkhead load "$NET_TMP/old.ini"
net_allowed out tcp "$job4" 80 "job's policy lets outside in at a listed address"
net_allowed job tcp $out4 80 "job sends from a listed address" "$job4"
net_allowed job tcp $out6 80 "job sends from a listed IPv6 address" "$job6"
evaluated "after load" $new4 $new6 $other4 $other6
changed "endpoint set of all addresses" set_job
evaluated "then" $other4 $other6
changed "endpoint set of one version's" set_one
evaluated "then" $other4 $other6
changed "load of all addresses" load_job
evaluated "then" $other4 $other6
net_check "the same load again writes nothing" net_is "$(net_writes "$NET_TMP/old.ini")" 0

net_end
