/* SPDX-License-Identifier: GPL-2.0-only */
/* What sparse needs for kern/: clang's builtins, and conversions of byte order that keep types. */
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>

#define __builtin_preserve_access_index(x) (x)
#define __builtin_preserve_field_info(x, kind) 0
#define __builtin_preserve_type_info(x, kind) 0
#define __builtin_preserve_enum_value(x, kind) 0
#define __builtin_btf_type_id(x, kind) 0

#undef bpf_htons
#undef bpf_ntohs
#undef bpf_htonl
#undef bpf_ntohl
#undef bpf_cpu_to_be64
#undef bpf_be64_to_cpu
#define FORCE __attribute__((force))
#define bpf_htons(x) ((FORCE __be16)__builtin_bswap16(x))
#define bpf_htonl(x) ((FORCE __be32)__builtin_bswap32(x))
#define bpf_cpu_to_be64(x) ((FORCE __be64)__builtin_bswap64(x))
#define bpf_ntohs(x) __builtin_bswap16((FORCE __u16)(__be16)(x))
#define bpf_ntohl(x) __builtin_bswap32((FORCE __u32)(__be32)(x))
#define bpf_be64_to_cpu(x) __builtin_bswap64((FORCE __u64)(__be64)(x))
