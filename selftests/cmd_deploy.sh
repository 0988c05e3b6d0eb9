#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The manifests of tools/deploy: what a cluster needs of them beside what an API server checks.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

deploy=$top/tools/deploy
version=$("$BULKHEAD" --version | cut -d ' ' -f 2)

# Prints the line behind each line with this text.
behind() { # TEXT FILE...
	awk -v text="$1" 'seen { print; seen = 0 } index($0, text) { seen = 1 }' "${@:2}"
}
same() { # a line, on standard input, for each time; true if there are some and all are equal
	[ "$(sed 's/^ *//' | sort -u | tee "$tmp/lines" | wc -l)" = 1 ] && grep -qxF -- "$1" "$tmp/lines"
}
check "the manifests have this version of the image" grep -qxF -- "- {name: bulkhead, newTag: \"$version\"}" \
	"$deploy/base/kustomization.yaml"
check "remove.yaml has this version of the image, and no other image" eval \
	'grep "image:" "$deploy/remove.yaml" | same "image: bulkhead:$version"'
check "no other image is named" eval 'grep -h "image:" "$deploy"/base/*.yaml | same "image: bulkhead"'
check "a node with the image starts without a registry" eval \
	'behind " image: " "$deploy"/base/*.yaml "$deploy/remove.yaml" | same "imagePullPolicy: IfNotPresent"'
check "engines keep no port of the node for themselves" eval '! grep -E "^ *(ports:|hostPort)" "$deploy/base/engine.yaml"'
check "engines may share a node" eval '! grep requiredDuring "$deploy/base/engine.yaml"'
check "an update leaves one engine, and starts no third" grep -qxF "    rollingUpdate: {maxSurge: 0, maxUnavailable: 1}" \
	"$deploy/base/engine.yaml"
check "engines prefer control planes" grep -q node-role.kubernetes.io/control-plane "$deploy/base/engine.yaml"
for pod in engine follower; do
	check "the kubelet asks the $pod itself whether it is live and ready" eval \
		'grep -A1 -E "(liveness|readiness)Probe:" "$deploy/base/$pod.yaml" | grep -c "exec: .*probe, \(live\|ready\)" | grep -qx 2'
	check "no probe of the $pod goes over the network" eval '! grep -E "httpGet|tcpSocket" "$deploy/base/$pod.yaml"'
	socket=$(sed -n 's/.*--health, \([^]]*\)\].*/\1/p' "$deploy/base/$pod.yaml")
	check "both probes of the $pod ask where it listens" is "$(grep -cF "$socket]}" "$deploy/base/$pod.yaml")" 2
done
for file in base/rbac.yaml remove.yaml; do
	check "pods with rights may run in the namespace of $file" grep -q "pod-security.kubernetes.io/enforce: privileged" \
		"$deploy/$file"
done
# `make image` with a registry, and a podman that builds nothing, and has pushed an image of this digest.
pushed=sha256:$(printf 'ab%.0s' {1..32})
mkdir "$tmp/bin"
cat >"$tmp/bin/podman" <<-'END'
	#!/bin/bash
	[ "$1" != push ] || echo "${@: -1}" >>"$PUSHES"
	while [ $# -gt 0 ]; do
		case $1 in
		--output) : >"$2" ;;
		--digestfile) echo "$PUSHED" >"$2" ;;
		esac
		shift
	done
END
printf '#!/bin/sh\necho libc.so.6\n' >"$tmp/bin/patchelf" # nobody runs what it was to change
chmod +x "$tmp/bin/podman" "$tmp/bin/patchelf"
check "make image with a registry" env PATH="$tmp/bin:$PATH" PUSHED="$pushed" PUSHES="$tmp/pushes" REGISTRY=registry.example.com/x \
	"$top/tools/package/image" "$BULKHEAD" "$tmp/image"
check "the pushed image has the tag that the chart asks for" is "$(cat "$tmp/pushes")" "registry.example.com/x/bulkhead:$version"
check "the manifests name the pushed image by its digest" is "$(grep 'name: bulkhead,' "$tmp/image/deploy/base/kustomization.yaml")" \
	"- {name: bulkhead, newName: registry.example.com/x/bulkhead, digest: \"$pushed\"}"
check "remove.yaml names the pushed image by its digest, and no other" eval \
	'grep "image:" "$tmp/image/deploy/remove.yaml" | same "image: registry.example.com/x/bulkhead@$pushed"'

reads() { # FOLDER
	kubectl kustomize "$1" 2>"$tmp/said" | grep "image:" | same "image: bulkhead:$version"
}
if command -v kubectl >/dev/null; then
	check "kubectl reads tools/deploy/older" reads "$deploy/older"
	check "kubectl reads tools/deploy, or is too old and prints which folder to take" eval \
		'reads "$deploy" || grep -q before-1.30-apply-tools-deploy-older "$tmp/said"'
	mkdir "$tmp/patch"
	sed -n '/^resources: \[/,/^```/ { /^```/d; s,build/image/deploy,../older,; p }' "$deploy/README.md" \
		>"$tmp/patch/kustomization.yaml"
	cp -r "$deploy/older" "$deploy/base" "$tmp"
	check "the README's patch gives the follower a setting" eval \
		'kubectl kustomize "$tmp/patch" | grep -B10 -xF "        - --set=connections=500000" | grep -qxF "        - follow"'
else
	check_skip "kubectl reads the folders" "kubectl is not installed"
fi
# The words of the code about conditions and Events, and those of the README's tables.
of_code() {
	cat "$top"/user/cluster/*.[ch] | tr -s '\n\t ' ' ' | grep -oE '\.(type|reason) = [^,;]*' | grep -oE '"[A-Z][A-Za-z]+"'
	grep -hoE '^#define [A-Z_]+ "[A-Z][A-Za-z]+"$' "$top"/user/cluster/*.[ch] | grep -o '".*"'
}
of_readme() {
	sed -n '/^| of | condition/,/^$/p; /^| reason | on/,/^$/p' "$deploy/README.md" | grep -oE '`[A-Za-z]+`'
}
check "tools/deploy/README.md has each condition and each reason" diff <(of_code | tr -d '"' | sort -u) <(of_readme | tr -d '\`' | sort -u)
check_end
