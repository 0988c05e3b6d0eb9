#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# `bulkhead version`: the version is that of the file VERSION in each place, and the formats are those of the headers.
# shellcheck source=selftests/lib/cmd.sh
. "$(dirname "$0")/lib/cmd.sh"

version=$(cat "$top/VERSION")
abi=$(sed -n 's/^#define BH_ABI //p' "$top/maps/abi.h")
blob=$(sed -n 's/^#define BLOB_VERSION //p' "$top/user/policy/blob_file.h")
programs=$(sed -n 's/^#define BUILD_ID 0x\([0-9a-f]*\)ull/\1/p' "$(dirname "$BULKHEAD")/gen/build_id.h")
said() { # LINE
	"$BULKHEAD" version | tr -s ' ' | grep -qxF -- "$1" || { "$BULKHEAD" version && false; }
}
check "the command has VERSION" said "bulkhead $version"
check "version prints the layout of the maps" said "layout of the maps: $abi"
check "version prints the format of compiled policies" said "compiled policy: $blob"
check "version prints whose programs a node has" said "programs for the kernel: $programs"
check "version -j has the same" is "$("$BULKHEAD" version -j)" \
	"{\"version\":\"$version\",\"maps\":$abi,\"compiled\":$blob,\"programs\":\"$programs\"}"
check "--version prints the first line" is "$("$BULKHEAD" --version)" "bulkhead $version"
check "version with an operand is a usage error" eval '"$BULKHEAD" version now 2>/dev/null; [ $? = 2 ]'
"$top/tools/man/make" "$BULKHEAD" "$tmp"
check "each manual page has the version" is "$(grep -l "^\.TH .*\"bulkhead $version\"" "$tmp"/*.[1578] | wc -l)" 4
check "CHANGELOG.md has a section of the version" grep -qE "^## $version(,|$)" "$top/CHANGELOG.md"
check_end
