#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# krew's archive and manifest: installed as krew does, in a root that has no library, the plugin runs; equal trees give
# equal bytes.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"
command -v patchelf >/dev/null && [ -x /bin/busybox ] || {
	echo "1..0 # SKIP needs patchelf and busybox-static"
	exit 4
}
[ "$(id -u)" -eq 0 ] || { echo "1..0 # SKIP needs root" && exit 4; }
export SOURCE_DATE_EPOCH=1700000000
url=https://downloads.example.com/v1
krew() { # DIR [URL]
	"$top/tools/package/krew" "$BULKHEAD" "$tmp/$1" "${2:-$url}"
}
check "make the archive and the manifest" krew out
check "make both again" krew again
check "the second archive and manifest have the same bytes" diff -r "$tmp/out" "$tmp/again"
check "a URL that krew does not take is refused" eval '! krew refused http://downloads.example.com'
manifest=$tmp/out/bulkhead.yaml arch=$(dpkg --print-architecture)
value() { # KEY
	sed -n "s/^ *$1: //p" "$manifest"
}
check "the manifest has the version" is "$(value version)" "v$(cat "$top/VERSION")"
check "the manifest has the platform" grep -qxF "  - selector: {matchLabels: {os: linux, arch: $arch}}" "$manifest"
archive=$tmp/out/$(basename "$(value uri)")
check "the archive is at the URL" is "$(value uri)" "$url/$(basename "$archive")"
check "the checksum is the archive's" is "$(value sha256)" "$(sha256sum <"$archive" | cut -d' ' -f1)"

# krew unpacks into a folder of the version and makes a link by the plugin's name. Only a shell is there.
root=$tmp/root store=/home/a\ user/.krew/store/bulkhead/v1
mkdir -p "$root/bin" "$root/dev" "$root/krew" "$root$store" && cp /bin/busybox "$root/bin/"
ln -s busybox "$root/bin/sh"
check "unpack" tar -xzf "$archive" -C "$root$store"
ln -s "$store/$(value bin)" "$root/krew/kubectl-bulkhead"
ln -s busybox "$root/bin/readlink"
ln -s busybox "$root/bin/dirname"
plugin() { # ARGUMENT...
	chroot "$root" /bin/busybox env -i PATH=/krew:/bin HOME=/ sh -c 'kubectl-bulkhead "$@"' sh "$@" >"$tmp/plugin" 2>&1
	echo "status $?" >>"$tmp/plugin"
	cat "$tmp/plugin"
}
says() { # STATUS TEXT ARGUMENT...
	plugin "${@:3}"
	is "$(tail -n 1 "$tmp/plugin")" "status $1" && grep -qF -- "$2" "$tmp/plugin"
}
check "the plugin prints its usage by kubectl's name" says 0 "usage: kubectl bulkhead" help
check "the plugin has the command's version" says 0 "$("$BULKHEAD" --version)" version
cat >"$root/config" <<'END'
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: c, context: {cluster: c, user: u}}]
current-context: c
END
# The library that calls the API server is loaded when the plugin runs.
check "the plugin calls the API server with the archive's own library" says 3 "127.0.0.1:9" \
	--kubeconfig /config matrix --port TCP/80
check_end
