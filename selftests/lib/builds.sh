#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Makes two other builds of the command for net_upgrade: DIR/second, with one more instruction in each
# program (its TC programs are DIR/second.bpf.o), and DIR/foreign, with another BH_ABI as well.
# Usage: selftests/lib/builds.sh DIR
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
tree=$1/tree
rm -rf "$1"
mkdir -p "$tree"
cp -a "$top"/{Makefile,VERSION,kern,maps,user} "$tree"
# make compiles only what the edits below change: the copy has the objects of the tree, with their times.
if [ -e "$top/build/bulkhead" ]; then
	mkdir "$tree/build"
	cp -a "$top"/build/{kern,gen,user} "$tree/build"
fi

build() { # NAME
	make -s -C "$tree" -j2 all
	cp "$tree/build/bulkhead" "$1"
}
more='bpf_get_smp_processor_id();'
sed -i "s/^\treturn tc_hook(skb, /\t$more\n&/" "$tree/kern/tc.bpf.c"
sed -i "s/^\tif (!p.generation)$/\t$more\n&/" "$tree"/kern/{tc,xdp}.bpf.c
build "$1/second"
cp "$tree/build/kern/tc.bpf.o" "$1/second.bpf.o"
sed -i 's/^#define BH_ABI .*/#define BH_ABI 99/' "$tree/maps/abi.h"
build "$1/foreign"
rm -rf "$tree"
