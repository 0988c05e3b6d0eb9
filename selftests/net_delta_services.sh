#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# A delta that leaves the Services as they are does not read their addresses, which may be many; one that only renames a
# Service to the cluster's DNS makes its address a resolver.
# shellcheck source=selftests/lib/net.sh
. "$(dirname "$0")/lib/net.sh"

NET_PORTS="1001 1002"
net_start db web
db4=$(net_ip db) db6=$(net_ip6 db)

service() { # NAMESPACE NAME ADDRESSES PORT...
	local port ports=
	for port in "${@:4}"; do
		ports+=",{\"name\":\"p$port\",\"protocol\":\"UDP\",\"port\":$port}"
	done
	printf '{"apiVersion":"v1","kind":"Service","metadata":{"namespace":"%s","name":"%s"},"spec":{"clusterIP":"%s",' \
		"$1" "$2" "${3%%,*}"
	printf '"clusterIPs":["%s"],"externalIPs":[%s],"ports":[%s]}}\n' "${3%%,*}" \
		"$(cut -s -d , -f 2- <<<"$3" | sed 's/[^,][^,]*/"&"/g')" "${ports#,}"
}
pods() { # PORT
	printf '[endpoint shop/db]\nip = %s,%s\nlabels = role=db\nnode = here\n' "$db4" "$db6"
	printf '[endpoint shop/web]\nip = %s,%s\nlabels = role=web\nnode = here\n' "$(net_ip web)" "$(net_ip6 web)"
	printf '[network-policy shop/db]\nendpoints = role=db\ningress = from endpoints(role=web) ports TCP/%d\n' "$1"
}
pods 1001 >"$NET_TMP/0.ini"
pods 1002 >"$NET_TMP/1.ini"
# 30,000 addresses with a port, of some 40 blocks that are read at a time.
# shellcheck disable=SC2046 # numbers
service shop many "10.96.0.1,$(seq -f 198.51.100.%g -s , 1 199)" $(seq 2001 2150) >"$NET_TMP/services.json"
service kube-system kube-dnz 10.96.0.10 53 >"$NET_TMP/other.json"
service kube-system kube-dns 10.96.0.10 53 >"$NET_TMP/dns.json"

# Counts the blocks of the pinned policy that are read.
cat >"$NET_TMP/count.c" <<'EOF2'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned blocks;

size_t ZSTD_decompressDCtx(void *context, void *to, size_t room, const void *from, size_t size)
{
	size_t (*next)(void *, void *, size_t, const void *, size_t) = dlsym(RTLD_NEXT, "ZSTD_decompressDCtx");

	__atomic_fetch_add(&blocks, 1, __ATOMIC_RELAXED);
	return next(context, to, room, from, size);
}

static void __attribute__((destructor)) print(void)
{
	FILE *to = getenv("BLOCKS") ? fopen(getenv("BLOCKS"), "w") : NULL;

	if (to)
		fprintf(to, "%u\n", blocks);
}
EOF2
gcc -shared -fPIC -o "$NET_TMP/count.so" "$NET_TMP/count.c" || exit 1
reads_few() { # LOAD-ARGUMENT...
	LD_PRELOAD=$NET_TMP/count.so BLOCKS=$NET_TMP/blocks net_bulkhead load "$@" || return
	echo "$(cat "$NET_TMP/blocks") blocks"
	[ "$(cat "$NET_TMP/blocks")" -gt 0 ] && [ "$(cat "$NET_TMP/blocks")" -lt 20 ]
}
made() {
	"$BULKHEAD" compile -o "$NET_TMP/0.bhp" "$NET_TMP"/{0.ini,services.json,other.json} &&
		"$BULKHEAD" compile --base "$NET_TMP/0.bhp" -o "$NET_TMP/1.bhp" "$NET_TMP"/{1.ini,services.json,other.json} &&
		"$BULKHEAD" compile --base "$NET_TMP/0.bhp" --delta -o "$NET_TMP/1.bhd" \
			"$NET_TMP"/{1.ini,services.json,other.json} &&
		"$BULKHEAD" compile --base "$NET_TMP/1.bhp" --delta -o "$NET_TMP/2.bhd" "$NET_TMP"/{1.ini,services.json,dns.json}
}
resolves() { # ADDRESS, in bytes
	bpftool -j map dump pinned "$NET_PIN/resolvers" | grep -q "$1"
}
dns='"0xff","0xff","0x0a","0x60","0x00","0x0a"'

net_check "compile a policy with 30,000 addresses of Services, and two deltas" made
net_check "load the policy before" net_bulkhead load -n here "$NET_TMP/0.bhp"
net_allowed web tcp "$db4" 1001 "the port of the policy before passes"
net_denied web tcp "$db4" 1002 "another port is denied"
net_check "a delta that changes no Service reads few blocks" reads_few "$NET_TMP/1.bhd"
for address in "$db4" "$db6"; do
	net_allowed web tcp "$address" 1002 "the port of the delta passes to $address"
	net_denied web tcp "$address" 1001 "the port before is denied to $address"
done
net_check "the Service kube-dnz is no resolver" eval '! resolves "$dns"'
net_check "load a delta that names it kube-dns" net_bulkhead load "$NET_TMP/2.bhd"
net_check "the Service kube-dns is a resolver" resolves "$dns"
net_end
