#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `bulkhead graph`: the drawing has matrix's edges, graphviz reads it, and the HTML page in a browser agrees
# with matrix for every pair of pods and prefixes.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

has() { # FILE TEXT
	grep -qF -- "$2" "$1" || { echo "no \"$2\" in:" && cat "$1" && false; }
}

lacks() { # FILE TEXT
	! grep -F -- "$2" "$1"
}

refused() { # STATUS ARGUMENT...
	local want=$1
	shift
	"$BULKHEAD" graph "$@" </dev/null
	[ $? -eq "$want" ]
}

demo=$top/policies/demo/yaml
"$BULKHEAD" graph -o "$tmp/demo.dot" "$demo"
db=$(sed -n 's/^\t\(k[0-9]*\) \[label="endpoints(role=db in default).*/\1/p' "$tmp/demo.dot")
world=$(sed -n 's/^\t\(k[0-9]*\) \[label="world.*/\1/p' "$tmp/demo.dot")
check "the DOT form has the group that a policy selects" test -n "$db"
check "the group's node has its isolation" has "$tmp/demo.dot" "default/db\\ningress and egress isolated"
check "the DOT form has a node for the world" test -n "$world"
check "a group that may reach it has an edge with the port" has "$tmp/demo.dot" "-> $db [label=\"TCP/6379\"]"
check "the world has no edge to it" lacks "$tmp/demo.dot" "$world -> $db"
"$BULKHEAD" graph --port UDP/53 -o "$tmp/port.dot" "$demo"
check "a port that nobody may use leaves no edge" lacks "$tmp/port.dot" " -> "
"$BULKHEAD" graph --namespace other -o "$tmp/other.dot" "$demo"
check "--namespace has the namespace's pods" has "$tmp/other.dot" "other/vault"
check "--namespace does not have unrelated pods" lacks "$tmp/other.dot" "default/db"

# Prints the edges of either form as lines "FROM TO PORTS".
for input in "$demo" "$top/policies/service-and-cidr/yaml"; do
	[ -d "$input" ] || continue
	"$BULKHEAD" graph -j "$input" | tr -d ' \n' | grep -o '{"from":[^}]*}' |
		sed -E 's/.*"from":([0-9]+),"to":([0-9]+),"ports":\[(.*)\]}/k\1 k\2 \3/; s/"//g; s/,/, /g' >"$tmp/edges.json"
	"$BULKHEAD" graph "$input" |
		sed -nE 's/^\t(k[0-9]+) -> (k[0-9]+) \[label="(.*)"\]$/\1 \2 \3/p' >"$tmp/edges.dot"
	check "the JSON form has the same edges: ${input#"$top"/}" cmp "$tmp/edges.json" "$tmp/edges.dot"
done
check "the two forms have edges" test -s "$tmp/edges.dot"
"$BULKHEAD" graph -j "$demo" | tr -d ' \n' >"$tmp/demo.json"
check "the JSON form has a group's members and isolation" has "$tmp/demo.json" \
	'"members":["default/db"],"addresses":false,"ingress_isolated":true,"egress_isolated":true'
check "-j takes no format" refused 2 -j -f html "$demo"

check "an unknown format is refused" refused 2 -f png "$demo"
check "a port out of range is refused" refused 2 --port TCP/65536 "$demo"
check "--compare without html is refused" refused 2 --compare "$demo" "$demo"
check "an output that cannot be written is an error" refused 3 -o "$tmp/none/x" "$demo"
printf '%s\n' '[endpoint a/web]' 'ip = 10.0.0.1' 'labels = app=web' '[endpoint a/cart]' \
	'ip = 10.0.0.2' '[network-policy a/web]' 'endpoints = app=web' \
	'ingress = from endpoints() ports TCP/8080' '[service a/shop]' 'address = 10.96.0.1' \
	'backends = endpoints(app=web)' 'port = TCP/80 to 8080' >"$tmp/service.ini"
"$BULKHEAD" graph -o "$tmp/service.dot" "$tmp/service.ini"
web=$(sed -n 's/^\t\(k[0-9]*\) \[label="[^"]*a.web.*/\1/p' "$tmp/service.dot")
check "a Service is a node" has "$tmp/service.dot" 's0 [shape=hexagon style=dashed label="svc:a/shop"]'
check "the Service has an edge to its backend" has "$tmp/service.dot" \
	"s0 -> $web [style=dashed arrowhead=empty label=\"TCP/80 to 8080\"]"
"$BULKHEAD" graph -j "$tmp/service.ini" | tr -d ' \n' >"$tmp/service.json"
check "the JSON form has the Service's backend" has "$tmp/service.json" "\"service\":\"a/shop\",\"port\":\"TCP/80\",\"to\":${web#k},\"to_port\":8080"
check "the Service has no other edge" is "$(grep -c 's0 ->' "$tmp/service.dot")" 1
if command -v dot >/dev/null; then
	check "graphviz draws the DOT form" eval '"$BULKHEAD" graph "$demo" | dot -Tsvg >"$tmp/dot.svg"'
	check "graphviz's drawing has the edges' ports" has "$tmp/dot.svg" "TCP/6379"
else
	check_skip "graphviz draws the DOT form" "graphviz is not installed"
fi

# Prints NAMESPACES of WORKLOADS with five pods each, of which every workload admits the next one. The last namespace
# has no policy.
cluster() { # NAMESPACES WORKLOADS
	local ns work i ip=0
	for ((ns = 0; ns < $1; ns++)); do
		printf '[namespace ns-%d]\n' "$ns"
		for ((work = 0; work < $2; work++)); do
			for i in bcd4x f7ghj k2lmn p8qrs t5vwx; do
				printf '[endpoint ns-%d/app%d-6d5f8b9c7d-%s]\nip = 10.0.%d.%d\nlabels = app=a%d\n' "$ns" \
					"$work" "$i" $((ip / 250)) $((++ip % 250 + 1)) "$work"
			done
			[ "$ns" -lt $(($1 - 1)) ] || continue
			printf '[network-policy ns-%d/app%d]\nendpoints = app=a%d\ningress = from endpoints(app=a%d) ports TCP/80\n' \
				"$ns" "$work" "$work" $(((work + 1) % $2))
		done
	done
}
rows() { # FILE: the names of an SVG's rows
	sed -n 's|^<text class="number".*<text x="36"[^>]*>\(.*\)</text>$|\1|p' "$1"
}
cluster 8 5 >"$tmp/200.ini"
cluster 40 10 >"$tmp/2000.ini"
check "the SVG of the demo is drawn" "$BULKHEAD" graph -f svg -o "$tmp/demo.svg" "$demo"
check "the SVG's cells have their ports" has "$tmp/demo.svg" ">TCP/6379</text>"
check "the SVG's cells say who reaches whom" has "$tmp/demo.svg" "<title>172.17.0.0/16 -&gt; default/db: TCP/6379"
check "the SVG is 800 px wide" has "$tmp/demo.svg" 'width="800"'
"$BULKHEAD" graph -f svg -o "$tmp/200.svg" "$tmp/200.ini"
check "the SVG of 200 pods is 800 px wide" has "$tmp/200.svg" 'width="800"'
check "the SVG of 200 pods has a row for each group" is "$(rows "$tmp/200.svg" | wc -l)" 37
check "the SVG names a group by its workload" is "$(rows "$tmp/200.svg" | sed -n 1p)" "ns-0/app0-* (5 pods)"
check "no pod's hash is in the SVG" lacks "$tmp/200.svg" 6d5f8b9c7d
"$BULKHEAD" graph -f svg -o "$tmp/2000.svg" "$tmp/2000.ini"
check "the SVG of 2,000 pods is 800 px wide" has "$tmp/2000.svg" 'width="800"'
check "the SVG of 2,000 pods has a row for each namespace" is "$(rows "$tmp/2000.svg" | grep -c '^ns-[0-9]*$')" 40
check "the SVG of 2,000 pods is below 500 kB" test "$(stat -c %s "$tmp/2000.svg")" -lt 500000
"$BULKHEAD" graph -f svg --namespace ns-3 -o "$tmp/ns.svg" "$tmp/2000.ini"
check "--namespace draws each group of the namespace" is "$(rows "$tmp/ns.svg" | grep -c '^ns-3/')" 10
cat >"$tmp/peers.ini" <<'EOF2'
[endpoint a/db]
ip = 10.0.0.1
[endpoint b/web]
ip = 10.0.0.2
labels = app=web
[endpoint c/cron]
ip = 10.0.0.3
[network-policy a/db]
endpoints =
ingress = from endpoints(app=web in namespaces()) ports TCP/5432
EOF2
"$BULKHEAD" graph -f svg --namespace a -o "$tmp/peers.svg" "$tmp/peers.ini"
check "--namespace keeps the namespace's peers, and leaves out others" is "$(rows "$tmp/peers.svg" | tr '\n' ' ')" "a/db b/web "
"$BULKHEAD" graph -f svg --port TCP/80 --namespace a -o "$tmp/peers.svg" "$tmp/peers.ini"
check "--port leaves out who reaches the namespace at another port" is "$(rows "$tmp/peers.svg" | tr '\n' ' ')" "a/db "
cluster 170 2 >"$tmp/wide.ini"
check "an SVG of too many namespaces is refused" refused 2 -f svg -o "$tmp/wide.svg" "$tmp/wide.ini"
check "the refused SVG is not there" test ! -e "$tmp/wide.svg"
check "--namespace draws one of many namespaces" "$BULKHEAD" graph -f svg --namespace ns-3 -o "$tmp/wide.svg" "$tmp/wide.ini"

# One start of the browser opens all pages, each in a frame of 800 by 600; it takes longer to start than to draw.
pages=()
page() { # NAME FILE[#FRAGMENT]
	pages+=("$1")
	printf '<iframe width="800" height="600" src="file://%s" data-name="%s"></iframe>\n' "$2" "$1" >>"$tmp/pages.html"
}
browse() { # writes the text of each page to $tmp/dom/NAME
	mkdir "$tmp/dom"
	cat >>"$tmp/pages.html" <<-'EOF2'
		<script>
		addEventListener("load", () => {
			const text = document.createElement("script");
			text.type = "text/plain";
			for (const frame of document.querySelectorAll("iframe"))
				text.textContent += `\n@page ${frame.dataset.name}\n${frame.contentDocument.documentElement.outerHTML}\n`;
			document.documentElement.replaceChildren(text);
		});
		</script>
	EOF2
	timeout 300 chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run \
		--disable-background-networking --disable-component-update --disable-sync --allow-file-access-from-files \
		--user-data-dir="$tmp/profile" --virtual-time-budget=60000 --dump-dom "file://$tmp/pages.html" 2>/dev/null |
		awk -v dom="$tmp/dom/" '/^@page / { file = dom $2; next } file { print >file }'
}

# A page that compares its own functions with matrix. Its text is then "same N, of which M about domain names", or the
# first difference.
compare_page() { # NAME INPUT
	"$BULKHEAD" graph -f html -o "$tmp/$1.html" "$2" || return
	page "$1" "$tmp/$1-compare.html"
	{
		cat "$tmp/$1.html"
		echo "<script>const expected ="
		"$BULKHEAD" matrix -j --pods --port TCP/80,TCP/6379,TCP/443,UDP/53,SCTP/9,47 "$2"
		cat <<-'EOF2'
			;
			const kindOf = new Map();
			kinds.forEach((kind, i) => kind.members.forEach(m => kindOf.set(m, i)));
			const pods = new Set(kinds.filter(k => !k.external).flatMap(k => k.members));
			let same = 0, names = 0, wrong = "";
			for (const table of expected) {
				const point = table.port === "47" ? OTHER : parsePort(table.port);
				for (const row of table.reach) {
					const reached = new Set(row.to);
					for (const [to, k] of kindOf) {
						const i = kindOf.get(row.from);
						/* A prefix that longer ones cover has no row, its pods no prefix. */
						/* Of several nodes in one group, one is a pod's own. */
						const mixed = [i, k].some(x => x !== undefined &&
							kinds[x].node && kinds[x].members.length > 1);
						if (i === undefined || kinds[i].domain || mixed || row.from === to ||
							!(pods.has(row.from) || pods.has(to)) ||
							(!pods.has(to) && !kinds[k].domain &&
								!table.reach.some(r => r.from === to)))
							continue;
						const stretches = reach(last, i, k);
						if ((stretches ? at(stretches, point).allow : false) === reached.has(to)) {
							same++;
							names += kinds[k].domain;
						} else wrong = wrong || table.port + " " + row.from + " " + to;
					}
				}
			}
			document.body.replaceChildren(wrong ? "wrong: " + wrong : `same ${same}, of which ${names} about domain names`);
			</script>
		EOF2
	} >"$tmp/$1-compare.html"
}
same_as_matrix() { # NAME [CELLS]: that many of the cells are about domain names
	grep -qE "same [1-9][0-9]+, of which ${2:-0} about" "$tmp/dom/$1" || { tail -c 600 "$tmp/dom/$1" && false; }
}

# A page with a script at its end. Its text is then the result.
script() { # NAME INPUT JAVASCRIPT
	"$BULKHEAD" graph -f html -o "$tmp/$1.html" "$2" || return
	page "$1" "$tmp/$1.html"
	printf '<script>%s\ndocument.body.replaceChildren("result " + result);</script>\n' "$3" >>"$tmp/$1.html"
}
result() { # NAME
	sed -n 's/.*<body>result \(.*\)/\1/p' "$tmp/dom/$1"
}

if command -v chromium >/dev/null; then
	policies="demo kep-2091-story-4 from-namespace-and-pod egress-namespaces"
	for policy in $policies; do
		compare_page "$policy" "$top/policies/$policy/yaml"
	done
	cat >"$tmp/names.ini" <<-'EOF2'
		[endpoint shop/web]
		ip = 10.0.0.5, fd00::5
		labels = role=web
		[endpoint shop/db]
		ip = 10.0.0.6
		labels = role=db
		[endpoint shop/free]
		ip = 10.0.0.7
		labels = role=free
		[cluster-network-policy early]
		tier = Admin
		priority = 5
		subject = endpoints(role=db in namespaces())
		egress = Deny to cidr(0.0.0.0/0), cidr(::/0) ports TCP/80
		[cluster-network-policy names]
		tier = Admin
		priority = 10
		subject = endpoints(role in (web, db) in namespaces())
		egress = Accept to names(api.example.com, www.example.com) ports TCP/443, TCP/80
		egress = Accept to names(*.svc.example.org) ports UDP/53
		egress = Deny to cidr(0.0.0.0/0), cidr(::/0)
		[network-policy shop/db]
		endpoints = role=db
		types = Egress
		egress = to endpoints(role=web) ports TCP/443
	EOF2
	compare_page names "$tmp/names.ini"
	page matrix "$tmp/names.html"
	"$BULKHEAD" graph -f html -o "$tmp/service.html" "$tmp/service.ini"
	page service-web "$tmp/service.html#a/web"
	page service-cart "$tmp/service.html#a/cart"
	# The Service's port changes.
	sed 's|TCP/80 to 8080|TCP/81 to 8080|' "$tmp/service.ini" >"$tmp/other.ini"
	"$BULKHEAD" graph -f html --compare "$tmp/service.ini" -o "$tmp/changed.html" "$tmp/other.ini"
	page changed "$tmp/changed.html#a/web"
	# The new side has fewer policies: edges that it opens are green.
	mkdir "$tmp/less" && cp "$demo"/cluster.yaml "$tmp/less/"
	"$BULKHEAD" graph -f html --compare "$demo" -o "$tmp/both.html" "$tmp/less"
	page both "$tmp/both.html#default/db"
	names='[...document.querySelectorAll("#rows button")].map(b => b.textContent)'
	filter='document.getElementById("namespace").value = "ns-3"; refresh();'
	script workload "$tmp/200.ini" "const result = ${names}[0];"
	script hash "$tmp/200.ini" "const result = $names.filter(n => /6d5f/.test(n)).length;"
	script namespaces "$tmp/2000.ini" "const result = $names.filter(n => /^\\d+ ns-\\d+$/.test(n)).length;"
	script groups "$tmp/2000.ini" "$filter const result = $names.filter(n => /ns-3\\/app/.test(n)).length;"
	script peers "$tmp/peers.ini" "
		document.getElementById('namespace').value = 'a'; refresh(); const result = $names.join(' ');"
	script scrolls "$tmp/2000.ini" "
		const main = document.getElementById('main');
		main.scrollTop = 1e4; main.scrollLeft = 1e4;
		const far = document.getElementById('matrix').getBoundingClientRect(), view = main.getBoundingClientRect();
		const head = document.getElementById('columns').getBoundingClientRect(), side = document.getElementById('rows').getBoundingClientRect();
		const result = [main.scrollTop > 0, far.top < head.bottom, Math.abs(head.top - view.top) < 18,
			Math.abs(side.left - view.left) < 18].join(' ');"
	script fits "$tmp/200.ini" "const result = [innerWidth, document.documentElement.scrollWidth <= 800,
		document.getElementById('main').clientWidth > 500].join(' ');"
	browse

	for policy in $policies; do
		check "the page says what matrix says: $policy" same_as_matrix "$policy"
	done
	# three pods, three names, six ports
	check "the page says of names what matrix says" same_as_matrix names 54
	check "the page names the Services that a group is behind" has "$tmp/dom/service-web" \
		"svc:a/shop TCP/80 to port 8080"
	check "the page shows the group without Services" has "$tmp/dom/service-cart" "<h2>a/cart"
	check "the page names no Service of another group" lacks "$tmp/dom/service-cart" "Behind the Services</h3>"
	check "--compare shows a Service's port that came" has "$tmp/dom/changed" \
		'<div class="gain">+ svc:a/shop TCP/81 to port 8080</div>'
	check "--compare shows a Service's port that went" has "$tmp/dom/changed" \
		'<div class="lose">− svc:a/shop TCP/80 to port 8080</div>'
	check "--compare shows flows that are gained" has "$tmp/dom/both" 'class="gain"'
	check "the page shows the chosen group" has "$tmp/dom/both" "<h2>default/db"
	check "the page opens with the matrix" has "$tmp/dom/matrix" 'id="matrix"'
	check "the page names groups by workload" is "$(result workload)" "1 ns-0/app0-* (5 pods)"
	check "no pod's hash is in the table's headings" is "$(result hash)" 0
	check "2,000 pods are a row for each namespace" is "$(result namespaces)" 40
	check "the namespace's filter has each of its groups" is "$(result groups)" 10
	check "the namespace's filter keeps its peers, and leaves out others" is "$(result peers)" "1 a/db 2 b/web"
	check "the table's headings stay while the table scrolls" is "$(result scrolls)" "true true true true"
	check "the page fits 800 px" is "$(result fits)" "800 true true"
else
	check_skip "the page in a browser" "chromium is not installed"
fi

# A rule's name that would keep the page's script from its end.
cat >"$tmp/script.yaml" <<'END'
apiVersion: policy.networking.k8s.io/v1alpha2
kind: ClusterNetworkPolicy
metadata: {name: q}
spec:
  tier: Admin
  priority: 3
  subject: {namespaces: {}}
  ingress: [{name: "a<!--<script>", action: Deny, from: [{namespaces: {}}]}]
END
"$BULKHEAD" graph -f html "$tmp/script.yaml" 2>/dev/null | grep -F 'q\/a' >"$tmp/script.data"
check "the page has the rule's name" grep -qF 'q\/a\u003c!--\u003cscript>' "$tmp/script.data"
check "no name in the page opens a comment or a script" is "$(grep -c '<' "$tmp/script.data")" 0

# A full disk.
if [ "$(id -u)" -eq 0 ] && mkdir "$tmp/full" && unshare --mount true 2>/dev/null; then
	full() { # FORMAT: draws over an old file where nothing more fits
		unshare --mount sh -c "mount -t tmpfs -o size=8k tmpfs '$tmp/full' && echo old >'$tmp/full/graph' &&
			head -c 4096 /dev/zero >'$tmp/full/filler' &&
			'$BULKHEAD' graph -f $1 -o '$tmp/full/graph' '$demo' 2>'$tmp/err'
			echo \$? && ls '$tmp/full' && cat '$tmp/full/graph'"
	}
	for format in svg html dot; do
		[ $format != svg ] || command -v dot >/dev/null || continue
		check "a full disk keeps the old file: $format" is "$(full $format)" "$(printf '%s\n' 3 filler graph old)"
	done
	check "a full disk is reported" grep -q 'No space left on device' "$tmp/err"
else
	check_skip "a full disk" "needs root"
fi
check "a file that is no regular one is written in place" "$BULKHEAD" graph -o /dev/null "$demo"
ln -s /proc/self/fd/1 "$tmp/stdout"
check "a link to standard output stays one" eval '"$BULKHEAD" graph -o "$tmp/stdout" "$demo" >"$tmp/redirected" && [ -L "$tmp/stdout" ]'
check "standard output has the picture" grep -q '^digraph' "$tmp/redirected"
check_end
