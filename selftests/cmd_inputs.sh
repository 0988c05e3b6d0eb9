#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The command line without root: usage, exit statuses, inputs, and the output of trace, matrix, show, lint
# and diff. A refusal is exit status 2 exactly, so that a crash is not taken for one.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"
cd "$top" || exit 1

# Runs the command with $tmp/in as its standard input. Fails if the exit status differs, or if the output
# (with exit status 2 or more: the messages) does not match the pattern.
says() { # NAME STATUS PATTERN ARGUMENT...
	local name=$1 status=$2 pattern=$3 got where=out
	shift 3
	run_bulkhead "$@" <"$tmp/in"
	got=$?
	[ "$status" -lt 2 ] || where=err
	[ "$got" -eq "$status" ] && { [ -z "$pattern" ] || grep -qE -- "$pattern" "$tmp/$where"; }
	check_run $? "$name (exit $got)"
}

# As says(), with status 0 and a warning.
warns() { # NAME PATTERN ARGUMENT...
	run_bulkhead "${@:3}" <"$tmp/in" && grep -qE -- "$2" "$tmp/err"
	check_run $? "$1"
}

same() { # NAME FILE FILE
	diff "$2" "$3" >"$tmp/err" 2>&1
	check_run $? "$1"
}

: >"$tmp/in"
demo=policies/demo/yaml

says "help goes to stdout" 0 '^commands:' --help
says "help of a subcommand" 0 '^usage: bulkhead trace' trace --help
says "help COMMAND" 0 '^usage: bulkhead trace' help trace
says "version" 0 '^bulkhead [0-9]' -V
says "version in JSON" 0 '^\{"version":' -j -V
says "no command" 2 'no command' -j
says "unknown command" 2 'no command .frobnicate' frobnicate
says "unknown option" 2 'unknown option --frob' trace --frob
says "unknown letter" 2 'unknown option -x' trace -x
says "option before the subcommand" 2 'option --frob: unknown here; a command.s options follow its name' --frob trace
says "option without its value" 2 'needs a value' matrix --port
while read -r words; do
	# shellcheck disable=SC2086 # the words of a command
	says "the refusal of a value names the option: $words" 2 "^bulkhead ${words%% *}: --${words##* --}: [a-z]" $words
done <<'END'
cni install --unknown pass
cni install --trust labels
diff --port TCP
engine --node-limit 19
graph --format png
graph --port TCP
matrix --port TCP
metrics --namespaces x
metrics --policies x
monitor --address x
monitor --count 0
monitor --endpoint x
monitor --from x
monitor --last 0
monitor --namespace a/b
monitor --port TCP
monitor --reason x
monitor --seconds x
monitor --since 5x
monitor --verdict x
recommend --seconds x
END
says "missing options" 2 'needs --from' trace --from 10.0.0.1 $demo
says "-j before the subcommand" 0 '^\[\{"port"' -j matrix --port TCP/80 $demo
says "-j after the operands" 0 '^\[\{"port"' matrix --port TCP/80 $demo -j
says "-p is pretty" 0 '^  \{$' -p matrix --port TCP/80 $demo

says "compile" 0 '5 endpoints' compile -o "$tmp/yaml.bhp" $demo
says "compile from INI" 0 '5 endpoints' compile -o "$tmp/ini.bhp" policies/demo/ini
same "YAML and INI give the same bytes" "$tmp/yaml.bhp" "$tmp/ini.bhp"
says "compile to standard output" 0 '' compile $demo/policy.yaml $demo/cluster.yaml
same "the order of the files changes no byte" "$tmp/yaml.bhp" "$tmp/out"
sed -s '$a ---' $demo/*.yaml >"$tmp/in"
says "compile from standard input" 0 '' compile -
: >"$tmp/in"
same "gives the same too" "$tmp/yaml.bhp" "$tmp/out"
says "trace does not read flows where it reads INPUT" 2 'batch -: standard input has the INPUT; give a file' trace -b- -
says "compile on an unchanged base" 0 'generation 1,' compile -o "$tmp/again.bhp" \
	--base "$tmp/yaml.bhp" $demo
same "changes nothing" "$tmp/yaml.bhp" "$tmp/again.bhp"
says "compile on a base" 0 'generation 2,' compile -o "$tmp/next.bhp" --base "$tmp/yaml.bhp" \
	policies/test-network-policy/yaml
printf '[endpoint a/x]\nip = 10.0.0.1\nlabel = role=db\n' >"$tmp/typo.ini"
says "an endpoint's key that is none" 2 'typo.ini:3: label: unknown key in this section' compile "$tmp/typo.ini"
printf '[endpoint a/x]\nip = 10.0.0.1, 127.0.0.1\n' >"$tmp/loopback.ini"
says "an endpoint of an address that no pod can have" 2 'loopback.ini:2: ip: must not be an unspecified, loopback,' \
	compile "$tmp/loopback.ini"
pod() { # NAME ADDRESS [UID]
	printf '{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "%s", "namespace": "shop"%s}, "status": {"podIP": "%s"}}' \
		"$1" "${3:+, \"uid\": \"$3\"}" "$2"
}
printf '{"apiVersion": "v1", "kind": "List", "items": [%s, %s]}\n' "$(pod odd 127.0.0.1 u1)" "$(pod good 10.0.0.1 u2)" >"$tmp/pods.json"
told() { # PATTERN COMMAND...: it succeeds with that message
	run_bulkhead "${@:2}" && grep -q -- "$1" "$tmp/err"
}
check "a dump with a Pod of such an address warns of it" told 'Pod shop/odd is left without it' compile -o "$tmp/pods.bhp" "$tmp/pods.json"
check "the dump has one endpoint" is "$("$BULKHEAD" show endpoints "$tmp/pods.bhp" | grep -c shop/)" 1
says "a dump with a Pod of such an address is refused with --strict" 2 'podIP: must not be' --strict compile "$tmp/pods.json"
for object in "$(pod odd 127.0.0.1 u1)" "$(pod good 10.0.0.1 u2)"; do
	echo "{\"type\": \"ADDED\", \"object\": $object}"
done >"$tmp/pods.events"
check "the engine's way refuses the Pod" told 'refused: Pod shop/odd.*podIP: must not be' compile --events -o "$tmp/pods.bhp" "$tmp/pods.events"
check "the engine's way has the other Pod" is "$("$BULKHEAD" show endpoints "$tmp/pods.bhp" | grep -c shop/good)" 1
says "a folder in place of events" 2 "^$tmp: Is a directory" compile --events "$tmp"
says "a folder in place of flows" 2 "^bulkhead: $tmp: Is a directory" trace --batch "$tmp" $demo
says "a file that is not there" 2 'nowhere.yaml: No such file' compile "$tmp/nowhere.yaml"
echo 'kind: [' >"$tmp/bad.yaml"
says "YAML that does not parse" 2 'bad.yaml:[0-9]+: ' compile "$tmp/bad.yaml"
echo "kind: List" >"$tmp/text.bhp"
: >"$tmp/empty.bhp"
for name in text empty; do
	says "a file that is named .bhp and is $name" 2 "$name.bhp: not a compiled policy as its name says" \
		show segments "$tmp/$name.bhp"
	says "lint does not read what is named .bhp and is $name" 2 "$name.bhp: not a compiled policy as its name says" \
		lint "$tmp/$name.bhp"
done
gzip <"$tmp/yaml.bhp" >"$tmp/gzip.bhp"
says "a compressed file that is named .bhp" 2 'gzip.bhp: not a compiled policy as its name says; it is compressed; gunzip it$' \
	show segments "$tmp/gzip.bhp"
mkdir "$tmp/folder.bhp"
says "a folder that is named .bhp" 2 'folder.bhp: not a compiled policy as its name says; it is a folder$' lint "$tmp/folder.bhp"
says "nothing is written then" 2 'bad.yaml' compile -o "$tmp/none.bhp" "$tmp/bad.yaml"
[ ! -e "$tmp/none.bhp" ]
check_run $? "no file is left"
says "output that cannot be written" 3 'cannot write' compile -o "$tmp/no/where.bhp" $demo
ln -s /proc/self/fd/1 "$tmp/stdout"
echo first >"$tmp/out"
"$BULKHEAD" compile -o "$tmp/stdout" $demo >>"$tmp/out" 2>"$tmp/err"
{ echo first && cat "$tmp/yaml.bhp"; } >"$tmp/want"
same "-o of a link to standard output writes there, behind what is there" "$tmp/want" "$tmp/out"
check "the link to standard output stays" test -L "$tmp/stdout"
: >"$tmp/target.bhp" && ln -s target.bhp "$tmp/link.bhp"
says "compile to a link" 0 '5 endpoints' compile -o "$tmp/link.bhp" $demo
same "the file that the link leads to has the policy" "$tmp/yaml.bhp" "$tmp/target.bhp"
check "the link to a file stays" test -L "$tmp/link.bhp"
# In a container every command has the same process ID.
check "a file that a killed command has left is in nobody's way" sh -c \
	': >"$2/again.bhp.$$" && exec "$0" compile -o "$2/again.bhp" "$1"' "$BULKHEAD" $demo "$tmp"
check "no part of a file is left" test -z "$(find "$tmp" -name '*.bhp.*' ! -empty)"
says "a compiled file is the only input" 2 "must be the only input" compile "$tmp/yaml.bhp" $demo
cp "$tmp/yaml.bhp" "$tmp/in"
says "a compiled file from standard input" 0 '' compile -
same "is taken as it is" "$tmp/yaml.bhp" "$tmp/out"
: >"$tmp/in"
"$BULKHEAD" compile "$tmp/yaml.bhp" | "$BULKHEAD" compile - >"$tmp/out" 2>"$tmp/err"
same "a compiled file out of a pipe is taken as it is" "$tmp/yaml.bhp" "$tmp/out"
head -c 1000 "$tmp/yaml.bhp" >"$tmp/cut.bhp"
says "a compiled file cut short" 2 'cut.bhp' trace --batch - "$tmp/cut.bhp"
"$BULKHEAD" compile -o "$tmp/delta.bhp" --base "$tmp/yaml.bhp" --delta $demo >/dev/null
cp "$tmp/yaml.bhp" "$tmp/kept.bhp" && cp $demo/cluster.yaml "$tmp/kept.yaml"
says "a base that is a delta" 2 'delta.bhp: has only changes, .*compile --base PREV -o WHOLE' compile -o "$tmp/x.bhp" --base "$tmp/delta.bhp" $demo
says "a delta in the place of its base" 2 'is the base' compile -o "$tmp/kept.bhp" --base "$tmp/kept.bhp" --delta $demo
same "the base is as it was" "$tmp/yaml.bhp" "$tmp/kept.bhp"
says "an output in the place of an input" 2 'is an INPUT' compile -o "$tmp/kept.yaml" "$tmp/kept.yaml"
same "the input is as it was" $demo/cluster.yaml "$tmp/kept.yaml"
says "a policy in the place of its base" 0 'kept.bhp: generation' compile -o "$tmp/kept.bhp" --base "$tmp/kept.bhp" $demo
says "a base that is no compiled file" 2 'cluster.yaml' compile --base $demo/cluster.yaml $demo

trace="trace --from shop/cart --to default/db --port"
# shellcheck disable=SC2086
{
	says "trace allows" 0 '^allow shop/cart' $trace TCP/6379 $demo
	says "trace denies" 1 'ingress +deny network-policy: isolated by default/test-network-policy$' $trace UDP/6379 $demo
	says "trace on a compiled file" 0 'ingress +allow network-policy default/test-network-policy/ingress\[0\]$' \
		$trace TCP/6379 "$tmp/yaml.bhp"
	says "trace in JSON" 0 '"ingress":\{"verdict":"allow","tier":"network-policy","policy":"default/test-network-policy","rule":"ingress\[0\]"\}' \
		-j $trace TCP/6379 $demo
	says "trace wants a port that is one" 2 'TCP/70000: not' $trace TCP/70000 $demo
	says "trace wants a port of TCP" 2 'TCP: not' $trace TCP $demo
}
says "trace wants an endpoint" 2 'shop/none: no such endpoint' trace --from shop/none \
	--to default/db --port TCP/1 $demo
says "trace names the endpoint that was probably meant" 2 'shop/crat: no such endpoint; did you mean `cart`\?' trace \
	--from shop/crat --to default/db --port TCP/1 $demo
says "trace names the namespace that was probably meant" 2 'shpo/cart: no such endpoint; did you mean `shop`\?' trace \
	--from shpo/cart --to default/db --port TCP/1 $demo
cat >"$tmp/families.ini" <<EOF
[endpoint a/six]
ip = fd00::1, 10.1.0.1

[endpoint a/four]
ip = 10.1.0.2, fd00::2

[endpoint a/only]
ip = 10.1.0.3
EOF
says "trace takes the first family of the source" 0 '\(fd00::1\) -> a/four \(fd00::2\)' trace \
	--from a/six --to a/four --port TCP/1 "$tmp/families.ini"
says "trace takes IPv4 where it is the first family of the source" 0 '\(10.1.0.2\) -> a/six \(10.1.0.1\)' trace \
	--from a/four --to a/six --port TCP/1 "$tmp/families.ini"
says "trace takes the family that both ends have" 0 '\(10.1.0.1\) -> a/only \(10.1.0.3\)' trace \
	--from a/six --to a/only --port TCP/1 "$tmp/families.ini"
# trace's reason where no rule decides.
cat >"$tmp/why.ini" <<EOF
[namespace old]
isolation = DefaultDeny
[node n1]
ip = 192.168.7.1
[endpoint shop/db]
ip = 10.1.0.1
node = n1
labels = role=db
[endpoint shop/web]
ip = 10.1.0.2
node = n1
labels = role=web
[endpoint old/app]
ip = 10.1.0.3
[network-policy shop/db]
endpoints = role=db
types = Ingress, Egress
ingress = from any ports TCP/80
[network-policy shop/all-but-web]
endpoints = role notin (web)
[network-policy shop/web]
endpoints = role=web
types = Egress
egress = to endpoints()
EOF
why() { # NAME STATUS PATTERN FROM TO [-j]
	says "$1" "$2" "$3" trace --from "$4" --to "$5" --port TCP/443 "${@:6}" "$tmp/why.ini"
}
why "trace names the policies that isolate" 1 \
	'ingress  deny network-policy: isolated by shop/all-but-web, shop/db$' shop/web shop/db
why "where it allows, none" 1 'egress   allow network-policy shop/web/egress\[0\]$' shop/web shop/db
why "in its direction only" 1 'egress   deny network-policy: isolated by shop/db$' shop/db 10.9.9.9
why "a namespace may isolate" 1 'deny network-policy: isolated by namespace old$' shop/web old/app
why "trace -j names the policies that isolate" 1 '"ingress":\{[^}]*"policy":null,"rule":null,"isolated_by":\["shop/all-but-web","shop/db"\]' \
	shop/web shop/db -j
why "trace says that a pod's own node reaches it" 0 'ingress  allow default: its own node is never isolated$' \
	192.168.7.1 shop/db
why "trace says that a pod reaches its own node" 0 'egress   allow default: its own node is never isolated$' shop/db 192.168.7.1
why "another node is not exempt" 1 'isolated by shop/all-but-web, shop/db$' 192.168.7.2 shop/db
cat >"$tmp/host.yaml" <<EOF
apiVersion: v1
kind: Pod
metadata: {namespace: kube-system, name: proxy}
spec: {nodeName: n1, hostNetwork: true, containers: [{name: c, image: i}]}
status: {phase: Running, podIP: 192.168.7.1, podIPs: [{ip: 192.168.7.1}]}
EOF
says "a hostNetwork pod is its node" 0 '^allow kube-system/proxy \(192.168.7.1\)' \
	trace --from kube-system/proxy --to shop/db --port TCP/443 "$tmp/why.ini" "$tmp/host.yaml"
grep -q "kube-system/proxy has its node's network: it is answered as the node n1" "$tmp/err"
check_run $? "trace tells that a hostNetwork pod is its node"
says "trace -j names the node of a hostNetwork pod" 0 '"name":"kube-system/proxy","address":"192.168.7.1","node":"n1"' trace -j \
	--from shop/db --to kube-system/proxy --port TCP/443 "$tmp/why.ini" "$tmp/host.yaml"
says "a policy with a hostNetwork pod compiles" 0 '' compile -o "$tmp/host.bhp" "$tmp/why.ini" "$tmp/host.yaml"
says "trace by the compiled file takes the hostNetwork pod for its node" 0 'ingress  allow default: its own node' trace --from kube-system/proxy \
	--to shop/db --port TCP/443 "$tmp/host.bhp"
says "show rules has who isolates" 0 'both +- +isolated by shop/db$' show rules "$tmp/why.ini"
says "in which direction" 0 'ingress +- +isolated by namespace old$' show rules "$tmp/why.ini"
says "show rules has a word in each column of a row without a direction" 0 '^ *0 +network-policy +- +deny +isolation: ' show rules "$tmp/why.ini"
HOME=$tmp/none KUBECONFIG="" says "an engine without a kubeconfig says how to give one" 2 \
	'/none/.kube/config: No such file or directory; give a kubeconfig by --kubeconfig or \$KUBECONFIG$' engine
says "a port of no protocol is none" 2 '443: lacks its protocol, TCP, UDP or SCTP; write it as TCP/443' trace --from 10.0.0.1 \
	--to 10.0.0.2 --port 443 $demo
for name in "trace --from 10.0.0.1 --to 10.0.0.2" matrix "graph -f svg" "show rules"; do
	# shellcheck disable=SC2086
	run_bulkhead $name --port 80 $demo
	grep -q '^note: 80 is read as the number of an IP protocol; .*, as TCP/80$' "$tmp/err"
	check_run $? "${name%% *} notes that a number alone is a protocol's"
done
says "trace wants one address family" 2 'no address family in common' trace --from 10.0.0.1 \
	--to fd00::1 --port TCP/1 $demo

says "trace -v of a batch" 2 'needs --from' trace -v --batch - $demo

cut -f1 policies/demo/expected.tsv >"$tmp/in"
says "trace --batch" 0 '' trace --batch - $demo
cut -f2- policies/demo/expected.tsv >"$tmp/want"
same "prints a line a flow" "$tmp/want" "$tmp/out"
printf 'default/db shop/cart\n10.0.0.1 default/db 47\nfd00::1 default/db icmpv6\na b TCP/1\0x\n' \
	>"$tmp/in"
says "a line that cannot be answered" 2 '' trace --batch - $demo
{
	printf 'error\tnot SRC DST PROTO/PORT\ndeny\t-\tdeny network-policy\ndeny\t-\tdeny network-policy\n'
	printf 'error\tthe line holds a NUL byte\n'
} >"$tmp/want"
same "is told among the others" "$tmp/want" "$tmp/out"
printf '\xef\xbb\xbf10.0.0.1 default/db 47\r\n10.0.0.1 default/db 47\r\n' >"$tmp/in"
says "a batch of an editor that writes a byte order mark and CRLF" 0 '' trace --batch - $demo
printf 'deny\t-\tdeny network-policy\n%.0s' 1 2 >"$tmp/want"
same "is answered line by line" "$tmp/want" "$tmp/out"
: >"$tmp/in"

says "matrix" 0 '^ *2 default/db +- +\+ +-' matrix --port TCP/6379 $demo
says "show segments" 0 'in +endpoints\(role=db in default\)' show segments $demo
says "show segments: an isolated one" 0 'ingress +isolated' show segments $demo
says "show segments: whom it reaches" 0 'egress +to segment [0-9]+: TCP/5978$' show segments $demo
says "show endpoints" 0 '^shop/cart +worker-1 +10\.244\.0\.4 +segment' show endpoints $demo
says "show pairs" 0 'ingress of segments .*: TCP/6379' show pairs $demo
says "show rules" 0 'network-policy +egress +allow +default/test-network-policy/egress\[0\]' show rules \
	"$tmp/yaml.bhp"
says "show generation" 0 'policy generation 2' show generation "$tmp/next.bhp"
says "show counters of inputs" 2 'in the kernel only' show counters $demo
says "show nothing" 2 'one of: segments' show

{
	printf '[network-policy a/n]\nendpoints =\ningress = from any ports web\n'
	for i in {1..2050}; do
		printf '[endpoint a/p%d]\nip = 10.0.%d.%d\nport = web TCP/%d\n' "$i" $((i / 256)) $((i % 256)) "$i"
	done
} >"$tmp/many.ini"
warns "more variations than fit: the policy that uses the name is set aside" \
	'many.ini:1: a/n: warning: is set aside.* 2049 variations of port names in one segment or more.* is 2048$' \
	compile -o "$tmp/x.bhp" "$tmp/many.ini"
head -n -6 "$tmp/many.ini" >"$tmp/most.ini"
says "two less fit" 0 '2048 endpoints in 2 segments' compile -o "$tmp/most.bhp" "$tmp/most.ini"
check "two less are set aside by no warning" is "$(cat "$tmp/err")" ""
awk 'BEGIN { print "[endpoint a/x]\nip = 10.0.0.1"
	for (i = 0; i < 70000; i++) {
		if (i % 10000 == 0)
			print "[admin-network-policy p" i "]\npriority = 1\nsubject = namespaces()"
		if (i % 100 == 0)
			print "ingress = Deny from namespaces() ports"
		protocol = i < 32768 ? "TCP" : i < 65536 ? "UDP" : "SCTP"
		print "\t" protocol "/" i % 32768 * 2 + 1 (i % 100 == 99 ? "" : ",")
	} }' >"$tmp/many.ini"
warns "more port intervals than fit: a policy is set aside" \
	'many.ini:3: p0: warning: is set aside.* needs 140001 port intervals in one list, the limit is 131071' \
	compile -o "$tmp/x.bhp" "$tmp/many.ini"
sed '/^\[admin-network-policy p60000/,$d' "$tmp/many.ini" >"$tmp/most.ini"
says "fewer fit" 0 '1 endpoints' compile -o "$tmp/most.bhp" "$tmp/most.ini"
# 725 policies select by the label x and 725 by y. Each endpoint is selected by one of each, and no two
# endpoints by the same pair, so that each has a segment of its own.
segments() { # COUNT: includes the segment of all other addresses
	awk -v n="$(($1 - 1))" 'BEGIN {
		for (i = 0; i < 725; i++)
			print "[network-policy a/x" i "]\nendpoints = x=" i "\n[network-policy a/y" i "]\nendpoints = y=" i
		for (i = 0; i < n; i++)
			print "[endpoint a/" i "]\nip = 10." int(i / 65536) "." int(i / 256) % 256 "." i % 256 \
				"\nlabels = x=" int(i / 725) ", y=" i % 725
	}'
}
segments 525000 >"$tmp/many.ini"
says "more segments than fit: an endpoint is named" 2 \
	'many.ini:[0-9]+: segments: a/[0-9]+ needs one beyond the limit of 524287, of 525000 in all$' \
	compile "$tmp/many.ini"
segments 524288 >"$tmp/many.ini"
says "one segment more than fits" 2 'beyond the limit of 524287, of 524288 in all$' compile "$tmp/many.ini"
segments 524287 >"$tmp/most.ini"
says "as many as fit" 0 '524286 endpoints in 524287 segments' compile -o "$tmp/most.bhp" "$tmp/most.ini"

mkdir "$tmp/new"
sed 's|TCP/5978|TCP/5978-5980|; s|role=frontend) ports|role=batch) ports|; s|172.17.1.0/24|172.17.0.0/23|' \
	policies/demo/ini/policy.ini >"$tmp/new/policy.ini"
cp policies/demo/ini/cluster.ini "$tmp/new"
says "diff of the same" 0 '' diff policies/demo/ini "$tmp/yaml.bhp"
[ ! -s "$tmp/out" ]
check_run $? "prints nothing"
pods=(diff --pods "$demo" "$tmp/new")
says "diff: a pair gains a port" 1 '^default/batch -> default/db gains TCP/6379$' "${pods[@]}"
says "diff: a pair loses a port" 1 '^default/frontend -> default/db loses TCP/6379$' "${pods[@]}"
says "diff: a range that is new" 1 '^default/db -> 10.0.0.0/24 over IPv4 gains TCP/5979-5980$' \
	"${pods[@]}"
says "diff: addresses that only one policy tells apart" 1 '^172.17.0.0/23 -> default/db .*loses TCP/6379$' \
	"${pods[@]}"
says "diff: by which rule" 1 'new: egress allow default; ingress allow network-policy default/test' \
	"${pods[@]}"
says "diff: who isolates" 1 'old: .* ingress deny network-policy, isolated by default/test-network-policy$' \
	"${pods[@]}"
printf '[endpoint shop/late]\nip = 10.244.0.9\n' >"$tmp/new/late.ini"
says "diff: an endpoint that is new" 1 '^added shop/late$' diff $demo "$tmp/new"
says "diff wants two" 2 'two inputs' diff

cat >"$tmp/lint.ini" <<EOF
[endpoint a/x]
ip = 10.1.0.1
labels = app=x

[endpoint b/y]
ip = 10.1.0.2
labels = app=y

[network-policy a/x]
endpoints = app=x
ingress = from endpoints(app=none) ports nosuch
ingress = from cidr(10.1.0.2/32) ports TCP/80
ingress = from namespaces() ports TCP/80

[network-policy a/nobody]
endpoints = app=nobody
ingress = from namespaces()

[network-policy b/y]
endpoints = app=y
types = Egress

[admin-network-policy first]
priority = 5
subject = namespaces(kubernetes.io/metadata.name=b)
egress = Deny to cidr(0.0.0.0/0), cidr(::/0)
egress = late: Allow to namespaces(kubernetes.io/metadata.name=a)

[admin-network-policy second]
priority = 5
subject = namespaces()
ingress = Pass from namespaces()
EOF
says "lint of policies that are fine" 0 '' lint $demo
for kind in NetworkPolcy Ingress; do
	printf "apiVersion: networking.k8s.io/v1\nkind: %s\nmetadata: {name: n, namespace: shop}\n" $kind >"$tmp/$kind.yaml"
done
says "lint of a policy of a misspelt kind" 1 '' lint $demo "$tmp/NetworkPolcy.yaml"
says "lint of a kind that is no policy of connections" 0 '' lint $demo "$tmp/Ingress.yaml"
says "load --activate with --stage" 2 'takes neither INPUT nor --stage' load --stage --activate 3
[ ! -s "$tmp/out" ]
check_run $? "prints nothing"
lints() { # CHECK LINE OBJECT
	says "lint: $1" 1 "^$tmp/lint.ini:$2: $3: .* \\[$1\\]\$" lint "$tmp/lint.ini"
}
lints no-subject 15 a/nobody
lints no-peer 11 'a/x/ingress\[0\]'
lints no-port 11 'a/x/ingress\[0\]'
lints block-covers-pods 12 'a/x/ingress\[1\]'
lints overridden 19 b/y
lints never-decides 27 first/late
lints equal-priority 29 second
cat >"$tmp/lint.yaml" <<'EOF'
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: all, namespace: a}
spec:
  podSelector: {}
  ingress:
  - from: []
    ports: [{port: 80}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: left-out, namespace: a}
spec:
  podSelector: {}
  policyTypes: [Ingress]
  egress:
  - to: [{podSelector: {}}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: calls, namespace: b}
spec:
  podSelector: {}
  policyTypes: [Egress]
  egress:
  - to: [{namespaceSelector: {}}]
    ports: [{port: 80}]
EOF
printf '[endpoint a/x]\nip = 10.1.0.1\n[endpoint b/y]\nip = 10.1.0.2\n' >"$tmp/lint-pods.ini"
finds() { # CHECK LINE OBJECT
	says "lint: $1" 1 "^$tmp/lint.yaml:$2: $3: .* \\[$1\\]\$" lint "$tmp/lint.yaml" "$tmp/lint-pods.ini"
}
finds empty-list 7 'a/all/ingress\[0\]'
finds unused-rules 17 'a/left-out/egress\[0\]'
finds no-dns 19 b/calls
says "lint: three findings" 1 '\[no-dns\]$' lint "$tmp/lint.yaml" "$tmp/lint-pods.ini"
[ "$(grep -c '\[empty-list\]\|\[unused-rules\]\|\[no-dns\]' "$tmp/out")" -eq 3 ]
check_run $? "lint: no other rule is found so"
sed -i 's/ports: \[{port: 80}\]$/ports: [{port: 80}, {port: 53, protocol: UDP}]/' "$tmp/lint.yaml"
run_bulkhead lint "$tmp/lint.yaml" "$tmp/lint-pods.ini"
! grep -q no-dns "$tmp/out"
check_run $? "lint: a policy that allows DNS is fine"
says "lint of nothing that is there" 2 'No such file' lint "$tmp/nowhere"

"$BULKHEAD" completion >"$tmp/completion"
bash -c ". $tmp/completion; COMP_WORDS=(bulkhead show --p); COMP_CWORD=2; _bulkhead
	echo \"\${COMPREPLY[@]}\"; COMP_WORDS=(bulkhead show pa); _bulkhead; echo \"\${COMPREPLY[@]}\"" \
	>"$tmp/out" 2>"$tmp/err"
printf -- '--port --pin --pretty\npairs\n' >"$tmp/want"
same "completion" "$tmp/want" "$tmp/out"

for i in $(seq 30); do
	printf '%s\n' --- "apiVersion: policy.networking.k8s.io/v1alpha1" "kind: AdminNetworkPolicy" \
		"metadata: {name: p$i}" "spec: {priority: 5, subject: {namespaces: {}}}"
done >"$tmp/ties.yaml"
run_bulkhead lint "$tmp/ties.yaml"
[ "$(grep -c 'both have 5' "$tmp/err")" = 20 ] && grep -qx 'warning: 9 more warnings are not printed' "$tmp/err" &&
	! grep -q 'end here' "$tmp/err"
check_run $? "a command says how many warnings it did not print"

"$BULKHEAD" --help >/dev/full 2>"$tmp/err"
[ $? -eq 3 ] && grep -q 'cannot write standard output' "$tmp/err"
check_run $? "a full disk is no success"

# Each system call counts, and those of a longer name are as many.
for name in a "$(printf %0200d 0)"; do
	"$(dirname "$BULKHEAD")/selftests/helpers/fault" "$tmp/${#name}.calls" all 0 kill "$BULKHEAD" compile "/none/$name" 2>"$tmp/err"
	grep -q "/none/$name" "$tmp/err"
	check_run $? "a name of ${#name} characters is in the message"
done
same "a message is one system call, whatever its length" "$tmp/1.calls" "$tmp/200.calls"

# diff of policies that were compiled apart, whose IDs mean other things
world() { # NUMBER FIRST LAST [PORTS-OF-2]: pods of four apps, whose ports web are swapped by NUMBER, and a policy for some of them
	local i
	for i in 1 2 3 4; do
		printf '[endpoint shop/app-%s]\nip = 10.0.0.%s\nlabels = app=%s\nport = web TCP/%s\n' "$i" "$i" "$i" $((80 + (i + $1) % 2))
		printf '[endpoint shop/peer-%s]\nip = 10.0.1.%s\nlabels = app=%s, peer=yes\nport = web TCP/%s\n' "$i" "$i" "$i" $((80 + (i + 1 + $1) % 2))
	done
	for i in $(seq "$2" "$3"); do
		printf '[network-policy shop/app-%s]\nendpoints = app=%s\ningress = from endpoints(app=%s)%s\n' "$i" "$i" "$i" \
			"$([ "$i" -ne 2 ] || echo "${4+${4/ports=/ ports }}")"
	done
}
differs() { # NAME WANTED OLD NEW: what changes between two worlds, without the rules; each is WORLD's arguments
	# shellcheck disable=SC2086
	world $3 >"$tmp/old.ini" && world $4 >"$tmp/new.ini"
	for i in old new; do
		"$BULKHEAD" compile -o "$tmp/$i.bhp" "$tmp/$i.ini" >/dev/null || return
	done
	"$BULKHEAD" diff "$tmp/old.bhp" "$tmp/new.bhp" | grep -vE '^ +(old|new):' >"$tmp/out"
	printf '%s' "$2${2:+$'\n'}" >"$tmp/want"
	same "$1" "$tmp/want" "$tmp/out"
}
differs "diff finds a rule that has a port now, in a policy that has the same ID" \
	"shop/app-2 and 1 more -> shop/app-2 and 1 more
  loses TCP/0-98
  loses TCP/100-65535, UDP, SCTP, other" "0 1 4" "0 1 4 ports=TCP/99"
differs "diff finds a rule that has a port now, in a policy that has the ID of another" \
	"shop/app-2 and 1 more, shop/app-3 and 1 more, shop/app-4 and 1 more -> shop/app-1 and 1 more
  gains all
shop/app-2 and 1 more -> shop/app-2 and 1 more
  loses TCP/0-98
  loses TCP/100-65535, UDP, SCTP, other
world -> shop/app-1 and 1 more
  gains all" "0 1 4" "0 2 4 ports=TCP/99"
differs "diff finds pods that swap the numbers of a port name" "shop/app-2, shop/peer-2 -> shop/app-2
  loses TCP/80
  gains TCP/81
shop/app-2, shop/peer-2 -> shop/peer-2
  gains TCP/80
  loses TCP/81" "0 1 4 ports=web" "1 1 4 ports=web"
# Only administrators can deny a pod its own node. The rule names no peer, as the isolation does not.
cat >"$tmp/old.yaml" <<'END'
{apiVersion: v1, kind: Node, metadata: {name: w1}, status: {addresses: [{type: InternalIP, address: 192.168.7.1}]}}
---
{apiVersion: v1, kind: Pod, metadata: {name: db, namespace: shop}, spec: {nodeName: w1}, status: {podIP: 10.0.0.1}}
---
{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, metadata: {name: db, namespace: shop}, spec: {podSelector: {}, policyTypes: [Egress]}}
END
cat - "$tmp/old.yaml" >"$tmp/new.yaml" <<'END'
{apiVersion: policy.networking.k8s.io/v1alpha1, kind: AdminNetworkPolicy, metadata: {name: guard},
 spec: {priority: 1, subject: {namespaces: {}}, egress: [{action: Deny, to: [{}]}]}}
---
END
says "diff of an administrator's rule" 1 '' diff "$tmp/old.yaml" "$tmp/new.yaml"
cat >"$tmp/want" <<'END'
shop/db -> node w1, each with its own node only
  loses all
    old: egress allow default, its own node is never isolated; ingress -
    new: egress deny admin guard/egress[0]; ingress -
END
same "diff finds that a pod loses its own node, which no NetworkPolicy denies it" "$tmp/want" "$tmp/out"
differs "diff finds nothing between policies that are alike" "" "0 1 4" "0 1 4"

# Runs the README's kubectl commands against a cluster that serves more kinds than they name.
mkdir "$tmp/bin"
cat >"$tmp/bin/kubectl" <<'EOF'
#!/bin/sh
case $1 in
api-resources)
	printf '%s\n' namespaces nodes pods secrets services podtemplates \
		pods.metrics.k8s.io endpointslices.discovery.k8s.io networkpolicies.networking.k8s.io \
		ingresses.networking.k8s.io networkpolicies.crd.projectcalico.org \
		adminnetworkpolicies.policy.networking.k8s.io \
		baselineadminnetworkpolicies.policy.networking.k8s.io \
		clusternetworkpolicies.policy.networking.k8s.io ;;
get) echo "$2" | tr , '\n' ;;
esac
EOF
chmod +x "$tmp/bin/kubectl"
sed -n "/^kinds=/p; /^kubectl get/s/ > cluster.yaml.*//p" README.md >"$tmp/fetch"
PATH=$tmp/bin:$PATH bash "$tmp/fetch" >"$tmp/out" 2>"$tmp/err"
printf '%s\n' namespaces nodes pods services endpointslices.discovery.k8s.io \
	networkpolicies.networking.k8s.io adminnetworkpolicies.policy.networking.k8s.io \
	baselineadminnetworkpolicies.policy.networking.k8s.io \
	clusternetworkpolicies.policy.networking.k8s.io >"$tmp/want"
same "the README fetches all that is read, and no more" "$tmp/want" "$tmp/out"

check_end
