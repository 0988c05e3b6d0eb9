#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Domain names as peers: trace of files evaluates a name, and diff, matrix and graph have names as ends of flows.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

cat >"$tmp/policy.ini" <<'END'
[endpoint shop/web]
ip = 10.0.0.5, fd00::5
labels = role=web
[endpoint shop/db]
ip = 10.0.0.6
labels = role=db
[cluster-network-policy names]
tier = Admin
priority = 10
subject = namespaces()
egress = Accept to cidr(10.96.0.10/32) ports UDP/53, TCP/53
egress = Deny to cidr(10.66.0.0/16)
egress = Accept to names(api.example.com, *.svc.example.org) ports TCP/443
egress = Deny to cidr(0.0.0.0/0), cidr(::/0)
END
sed 's/api.example.com, //' "$tmp/policy.ini" >"$tmp/less.ini"
sed '/10.66/d' "$tmp/policy.ini" >"$tmp/plain.ini"
"$BULKHEAD" compile -o "$tmp/plain.bh" "$tmp/plain.ini" >/dev/null

says() { # STATUS PATTERN COMMAND...
	local status=$1 pattern=$2
	shift 2
	"$BULKHEAD" "$@" >"$tmp/out" 2>&1
	is $? "$status" && { grep -qE -e "$pattern" "$tmp/out" || { cat "$tmp/out" && false; }; }
}
trace() { # STATUS PATTERN NAME PORT [FILE]
	says "$1" "$2" trace --from shop/web --to "$3" --port "$4" "$tmp/${5:-plain.ini}"
}
check "trace allows a name" trace 0 "^allow shop/web -> name api.example.com TCP/443" name:api.example.com TCP/443
check "trace folds a name's case and takes its dot" trace 0 "name api.example.com" name:API.Example.COM. TCP/443
check "trace names the rule and the name" trace 0 "egress\[1\]: by the name \*.svc.example.org" \
	name:a.b.svc.example.org TCP/443
check "trace denies a name at another port" trace 1 "^deny " name:api.example.com TCP/80
check "trace denies what is behind a wildcard" trace 1 "no rule has a name for it" name:svc.example.org TCP/443
check "trace denies a name that ends alike" trace 1 "no rule has a name for it" name:xsvc.example.org TCP/443
check "trace tells prefixes apart" trace 1 "deny to an address of 10.66.0.0/16" name:api.example.com TCP/443 policy.ini
check "trace says that the prefix decides" trace 1 "^depends " name:api.example.com TCP/443 policy.ini
check "trace of a compiled file allows the name" trace 0 "^allow " name:api.example.com TCP/443 plain.bh
check "trace explains a name by the compiled file" says 0 "egress\[1\] +allows" \
	trace -v -f shop/web -t name:api.example.com -P TCP/443 "$tmp/plain.bh"
check "trace -vj of a name has the rules of both directions" says 0 \
	"\"egress_chain\":\[\{.*\"ingress_chain\":\[" \
	trace -vj -f shop/web -t name:api.example.com -P TCP/443 "$tmp/plain.ini"
check "trace refuses no name" trace 2 "name:com: no domain name" name:com TCP/443
check "trace refuses a name as the source" says 2 "a domain name is no source" \
	trace -f name:api.example.com -t shop/web -P TCP/443 "$tmp/plain.ini"
batch() {
	printf 'shop/web name:api.example.com TCP/443\nshop/web name:api.example.com TCP/80\n' |
		"$BULKHEAD" trace --batch - "$tmp/plain.ini" | cut -f1,2 | tr '\t\n' ' ;'
}
check "trace --batch has a line for each name" \
	is "$(batch)" "allow name api.example.com;deny name api.example.com;"

check "diff has the name that is gone" says 1 "all 2 pods -> name:api.example.com$" diff "$tmp/policy.ini" "$tmp/less.ini"
check "diff says which rule allowed the name" says 1 "old: egress allow admin names/egress\[2\]" \
	diff "$tmp/policy.ini" "$tmp/less.ini"
check "diff of a policy with itself finds no name" "$BULKHEAD" diff "$tmp/policy.ini" "$tmp/policy.ini"
check "diff --to selects a name" says 1 "name:api.example.com" diff --to 'name:api*' "$tmp/policy.ini" "$tmp/less.ini"
check "matrix has a column for each name" says 0 "name:api.example.com" matrix --pods -P TCP/443 "$tmp/policy.ini"
check "matrix selects a name" says 0 "[+]$" matrix -P TCP/443 --to name:api.example.com "$tmp/policy.ini"
check "matrix denies a name at another port" says 0 "[-]$" matrix -P TCP/80 --to name:api.example.com "$tmp/policy.ini"
check "graph draws an edge to the names" says 0 'k0 -> k[0-9]+ \[label="TCP/443"' graph "$tmp/plain.ini"
check "graph names the node" says 0 'label="name:\*.svc.example.org and 1 more"' graph "$tmp/plain.ini"
check "graph in JSON has the names as a group" says 0 '"name:api.example.com"' graph -j "$tmp/plain.ini"
check "the page has the names" says 0 '"domain":true' graph -f html "$tmp/plain.ini"
check_end
