#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Makes other builds of the command for net_upgrade: DIR/second, with another instruction in each program (its TC
# programs are DIR/second.bpf.o); DIR/foreign, with another BH_ABI; and DIR/direct, whose programs look maps up directly,
# as those of builds before maps/active_map.bpf.h did.
# DIR/made_of has a checksum of all that the builds are made of: while that is the same, they stay as they are.
# Usage: selftests/lib/builds.sh DIR
set -euo pipefail
top=$(cd "$(dirname "$0")/../.." && pwd)
tree=$1/tree
PATH=$PATH:/usr/sbin # has bpftool

# The sources, this script, the tools that build, and the headers and libraries of other packages.
made_of() {
	local clang=${CLANG:-clang} libraries
	libraries=$(dpkg-query -W 'lib*-dev' 'linux-libc-dev*')
	{
		printf '%s\n' "$clang" "${BPFTOOL:-}" "$libraries"
		gcc --version
		"${BPFTOOL:-bpftool}" version
		"$clang" --version
		(cd "$top" && find Makefile VERSION kern maps user selftests/lib/builds.sh -type f -print0 | sort -z | xargs -0 sha256sum)
	} | sha256sum
}

# One at a time: two tests may ask for them.
mkdir -p "$1"
exec {lock}>"$1/lock"
flock "$lock"
made=$(made_of)
[ "$made" != "$(cat "$1/made_of" 2>/dev/null)" ] || exit 0
rm -rf "$1"/{made_of,tree}

# A copy of the tree with its objects, and their times: make compiles only what is edited.
begin() {
	rm -rf "$tree"
	mkdir -p "$tree/build"
	cp -a "$top"/{Makefile,VERSION,kern,maps,user} "$tree"
	[ ! -e "$top/build/bulkhead" ] || cp -a "$top"/build/{kern,gen,user} "$tree/build"
}
build() { # NAME [ARGUMENT...]: of make
	make -s -C "$tree" -j2 CFLAGS=-O0 "${@:2}" all
	cp "$tree/build/bulkhead" "$top_of/$1"
}
top_of=$1

# Where each program of an object begins: an instruction of 8 bytes each follows.
programs() { # OBJECT
	local section offset value
	while read -r section value; do
		offset=$(readelf -SW "$1" | sed -nE "s/^ *\[ *$section\] [^ ]+ +PROGBITS +[^ ]+ ([^ ]+) .*/\1/p")
		echo $((16#$offset + 16#$value))
	done < <(readelf -sW "$1" | awk -v text="$(readelf -SW "$1" | sed -nE 's/^ *\[ *([0-9]+)\] \.text .*/\1/p')" \
		'$4 == "FUNC" && $7 != text { print $7, $2 }')
}
# In each program, the first 32-bit move of a constant that is not negative becomes a 64-bit one: another program, which
# does the same. The compiler takes ten seconds for another line of code.
change_programs() { # OBJECT
	local at n
	for at in $(programs "$1"); do
		n=$(od -An -v -tx1 -w8 -j "$at" -N 800 "$1" | awk '$1 == "b4" && $8 ~ /^[0-7]/ && !n++ { print NR - 1 }')
		printf '\xb7' | dd of="$1" bs=1 seek=$((at + 8 * n)) conv=notrunc status=none
	done
}
begin
objects=("$tree"/build/kern/{tc,xdp}.bpf.o)
make -s -C "$tree" -j2 "${objects[@]#"$tree/"}"
for object in "${objects[@]}"; do
	change_programs "$object"
done
build second
cp "$tree/build/kern/tc.bpf.o" "$1/second.bpf.o"

# Only files that name the number are compiled.
begin
sed -i 's/^#define BH_ABI .*/#define BH_ABI 99/' "$tree/maps/abi.h"
grep -rlZ --include='*.c' '\bBH_ABI\b' "$tree/user" | while IFS= read -rd '' file; do
	file=build/${file#"$tree/"}
	rm -f "$tree/${file%.c}.o"
done
build foreign -o maps/abi.h

# at_<name> is the map itself, whose size is fixed.
begin
sed -i 's/^#define ACTIVE_MAPS(name, places).*/#define ACTIVE_MAPS(name, places) _Static_assert(1, #name)/
	/^\t.*\\$/d; /^\t} at_/d' "$tree/maps/active_map.bpf.h"
sed -nE 's/^ACTIVE_MAPS?\(([a-z_]+).*/#define at_\1 bh_\1/p' "$tree"/maps/*.bpf.h >"$tree/direct.h"
cat "$tree/direct.h" >>"$tree/maps/active_map.bpf.h"
sed -i 's/ | BPF_F_INNER_MAP//' "$tree"/maps/*.bpf.h
sed -i 's/return bpf_map_lookup_elem(at, &active_place);/return at;/' "$tree/kern/active_map.h"
sed -i 's/, place = rule >> BH_RULE_HITS_SHIFT//; s/__u32 place = rule >> BH_RULE_HITS_SHIFT, index/__u32 index/
	s/likely(!place)/true/; s/hits = bpf_map_lookup_elem(&at_rule_hits, &place);/hits = NULL;/' "$tree/kern/event_records.h"
# the command asks for no place either
sed -i '/^int rule_hits_have_room/,/^}/s/^\t\*room = .*/\t*room = true;\n\treturn 0;/
	/^int rule_hits_add/,/^{/s/^{/{\n\treturn 0;/' "$tree/user/node/kernel/rule_hits.c"
build direct
rm -rf "$tree"
echo "$made" >"$1/made_of"
