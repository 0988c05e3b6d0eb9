#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `show segments` lists the endpoints that `show endpoints` puts there, and the peers that the policies let in.
# The time of `show segments` and `show pairs` does not grow with the square of the cluster.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

# 15,000 namespaces of two pods, each a segment that lets in itself
seq 0 14999 | awk '{
	printf "[namespace n%d]\n", $1
	for (i = 1; i <= 2; i++)
		printf "[endpoint n%d/p%d]\nip = 10.%d.%d.%d\n", $1, i, $1 / 256, $1 % 256, i
	printf "[network-policy n%d/own]\nendpoints =\ntypes = Ingress\ningress = from endpoints()\n", $1
}' >"$tmp/many.ini"
check "a policy of 15,000 segments compiles" "$BULKHEAD" compile -o "$tmp/many.bhp" "$tmp/many.ini"

# Ten times what either takes. A look at each segment for each other takes as much twice or more.
shows() { # WHAT
	(ulimit -t 1 && "$BULKHEAD" show "$1" "$tmp/many.bhp" >"$tmp/$1")
}
check "show segments of 15,000 segments takes less than a second of a processor" shows segments
check "show pairs of 15,000 segments takes less than a second of a processor" shows pairs

# Prints "NAMESPACE/POD SEGMENT" of every pod.
by_segment() { # FILE
	awk '/^segment/ { segment = $2 + 0; members = 0 }
		/^  [a-z]/ { members = $1 == "members" }
		members && $NF ~ /\// && $NF !~ /^[0-9:]/ { print $NF, segment }' "$1" | sort
}
by_endpoint() { # FILE
	"$BULKHEAD" show endpoints "$1" | awk '/segment/ {
		if ($1 ~ /\//) name = $1
		for (i = 1; $i != "segment"; i++);
		print name, $(i + 1)
	}' | sort -u
}
same_members() { # SHOWN-SEGMENTS FILE
	by_segment "$1" >"$tmp/a" && by_endpoint "$2" >"$tmp/b" && [ -s "$tmp/a" ] && diff "$tmp/a" "$tmp/b"
}
check "show segments lists the pods that show endpoints puts there" same_members "$tmp/segments" "$tmp/many.bhp"
only_itself() {
	awk '/^segment/ { segment = $2 + 0 }
		/ segment [0-9]+: / && $0 !~ " segment " segment ": all$" { print; other = 1 }
		/ segment [0-9]+: / { n++ }
		END { exit other || n != 15000 }' "$tmp/segments"
}
check "show segments lists each segment as the only one that its policy lets in" only_itself
pairs_of_one() {
	is "$(grep -cE ': ingress of segments \[ ([0-9]+) \], peers \[ \1 \]: all$' "$tmp/pairs") $(wc -l <"$tmp/pairs")" \
		"15000 15000"
}
check "show pairs lists the pair of each segment with itself" pairs_of_one

# Pods with addresses in two segments, and a policy that lets in all
cat >"$tmp/two.ini" <<'EOF'
[namespace a]
[endpoint a/one]
ip = 10.0.0.1, fd00::1
labels = app=x
[endpoint a/two]
ip = 10.0.0.2, fd00::2
labels = app=y
[network-policy a/four]
endpoints = app=x
ingress = from cidr(10.0.0.0/8) ports TCP/80
[network-policy a/all]
endpoints = app=y
ingress = ports TCP/443
EOF
"$BULKHEAD" show segments "$tmp/two.ini" >"$tmp/two"
check "show segments lists a pod with addresses in two segments in both" same_members "$tmp/two" "$tmp/two.ini"
lets_in() { # SEGMENTS...: of which a policy lets in so many
	is "$(awk '/^segment/ { n[++k] = 0 } / segment [0-9]+: / { n[k]++ } END { for (i = 1; i <= k; i++) print n[i] }' \
		"$tmp/two" | paste -sd' ')" "$*"
}
check "show segments lists every segment where a policy lets in all" lets_in 3 3 6 6 0 0
check_end
