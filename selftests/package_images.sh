#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The images of both architectures as one list: built twice with one digest, each with its own SBOM; the list has both, and
# the arm64 image's command runs by an emulated processor, with the image's own libraries.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"
build=$(cd "$(dirname "$BULKHEAD")" && pwd)
skip() {
	echo "1..0 # SKIP $1"
	exit 4
}
[ "$(dpkg --print-architecture)" = amd64 ] || skip "cross-compiles on amd64"
command -v podman patchelf aarch64-linux-gnu-gcc qemu-aarch64-static mmdebstrap >/dev/null ||
	skip "needs podman, patchelf, gcc-aarch64-linux-gnu, qemu-user-static and mmdebstrap"
printf '[storage]\ndriver = "vfs"\ngraphroot = "%s"\nrunroot = "%s"\n' "$tmp/images" "$tmp/run" >"$tmp/storage.conf"
export CONTAINERS_STORAGE_CONF=$tmp/storage.conf SOURCE_DATE_EPOCH=1700000000

check "the command is cross-compiled" "$top/tools/cross" "$build" all
images() { # DIR
	ARM64_COMMAND=$build/arm64/bulkhead ARM64_ROOT=$build/root/arm64 "$top/tools/package/image" "$BULKHEAD" "$tmp/$1"
}
check "make the images" images out
check "make the images again" images again
unpack() { # DIR
	mkdir "$tmp/$1.list" && tar -xf "$tmp/$1/bulkhead-all.tar" -C "$tmp/$1.list"
}
check "the archive of the list" eval 'unpack out && unpack again'
digests() { # FILE: of the manifests that it lists
	grep -oE '"digest": ?"sha256:[0-9a-f]{64}"' "$1" | grep -oE '[0-9a-f]{64}'
}
blob() { # DIGEST: its file
	echo "$tmp/out.list/blobs/sha256/$1"
}
list=$(digests "$tmp/out.list/index.json")
check "the second list has the same digest" is "$(digests "$tmp/again.list/index.json")" "$list"
mapfile -t manifests < <(digests "$(blob "$list")")
check "the list has two images" is ${#manifests[@]} 2
architectures=
for manifest in "${manifests[@]}"; do
	config=$(digests "$(blob "$manifest")" | head -n 1)
	architectures+=" $(grep -oE '"architecture": ?"[a-z0-9]+"' "$(blob "$config")" | head -n 1 | grep -oE '[a-z0-9]+"$' | tr -d '"')"
	grep -q '"arm64"' "$(blob "$config")" && arm64=$manifest
done
check "one is amd64's and the other arm64's" is "$architectures" " amd64 arm64"
check "the list names the architectures" is "$(grep -oE '"architecture": ?"[a-z0-9]+"' "$(blob "$list")" | grep -cE 'amd64|arm64')" 2

mkdir "$tmp/root"
layers() { # MANIFEST: unpacks its layers
	local digest
	for digest in $(digests "$(blob "$1")" | tail -n +2); do
		tar -xf "$(blob "$digest")" -C "$tmp/root"
	done
}
check "unpack the image of arm64" layers "${arm64:-none}"
emulated() { # ARGUMENT...
	qemu-aarch64-static -L "$tmp/root" "$tmp/root/opt/bulkhead/bulkhead" "$@"
}
check "each program and library of that image is arm64's" eval '[ "$(find "$tmp/root/opt" -type f | wc -l)" -gt 10 ] &&
	! find "$tmp/root/opt" -type f -exec readelf -h {} + | grep Machine: | grep -v AArch64'
check "the image of arm64 has libxdp's dispatcher" eval 'find "$tmp/root" -name xdp-dispatcher.o | grep .'
check "the command in the arm64 image prints its version" is "$(emulated --version)" "$("$BULKHEAD" --version)"
demo=(trace --from shop/cart --to default/db --port TCP/6379 "$top/policies/demo/yaml")
check "the command in the arm64 image answers as this one does" is "$(emulated "${demo[@]}")" "$("$BULKHEAD" "${demo[@]}")"
for arch in amd64 arm64; do
	file=$tmp/out/bulkhead-$arch.spdx.json
	check "the SBOM of $arch has the same bytes again" cmp "$file" "$tmp/again/bulkhead-$arch.spdx.json"
	check "the SBOM of $arch names a package and a version of each library" eval \
		'[ "$(grep -c packageFileName "$file")" -gt 10 ] && ! grep -E "\"(name|versionInfo)\": \"(unknown)?\"" "$file"'
done
listed() { # each file of the image that is a library is in the SBOM with its checksum
	local file missing=0
	for file in "$tmp"/root/opt/bulkhead/lib/*; do
		grep -A1 -F "\"packageFileName\": \"${file##*/}\"" "$tmp/out/bulkhead-arm64.spdx.json" |
			grep -qF "$(sha256sum <"$file" | cut -d' ' -f1)" || { echo "${file##*/}" && missing=1; }
	done
	return $missing
}
check "the SBOM of arm64 has each library of its image, with its checksum" listed
check "the provenance has the list's archive" grep -qF "$(sha256sum <"$tmp/out/bulkhead-all.tar" | cut -d' ' -f1)" \
	"$tmp/out/provenance.json"
check_end
