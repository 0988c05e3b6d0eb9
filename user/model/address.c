// SPDX-License-Identifier: GPL-2.0-only
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/arrays.h"

#define MAPPED_BITS 96

static const uint8_t mapped_prefix[12] = {[10] = 0xff, [11] = 0xff};

bool address_is_ipv4(const struct address *address)
{
	return !memcmp(address->bytes, mapped_prefix, sizeof(mapped_prefix));
}

int address_parse(const char *text, struct address *address)
{
	struct address parsed;

	if (inet_pton(AF_INET, text, parsed.bytes + sizeof(mapped_prefix)) == 1) {
		memcpy(parsed.bytes, mapped_prefix, sizeof(mapped_prefix));
	} else if (inet_pton(AF_INET6, text, parsed.bytes) != 1 || address_is_ipv4(&parsed)) {
		/* ::ffff:a.b.c.d would be a second name of an IPv4 address. */
		return -EINVAL;
	}
	*address = parsed;
	return 0;
}

/* Copies an address without the zeros that the bytes of an IPv4 address begin with. Returns false
 * if it does not fit. */
static bool copy_without_zeros(const char *from, char *to, size_t size)
{
	const char *colon = strrchr(from, ':');
	size_t n = colon ? colon + 1 - from : 0;
	const bool dotted = strchr(from + n, '.');
	bool begins = dotted;

	if (strlen(from) >= size)
		return false;
	memcpy(to, from, n);
	for (const char *at = from + n; *at; at++) {
		if (begins && *at == '0' && at[1] >= '0' && at[1] <= '9')
			continue;
		begins = dotted && *at == '.';
		to[n++] = *at;
	}
	to[n] = '\0';
	return true;
}

int address_parse_loose(const char *text, struct address *address)
{
	char strict[64];
	struct address parsed;

	if (!copy_without_zeros(text, strict, sizeof(strict)))
		return -EINVAL;
	if (!address_parse(strict, address))
		return 0;
	if (inet_pton(AF_INET6, strict, parsed.bytes) != 1)
		return -EINVAL;
	*address = parsed;
	return 0;
}

bool address_is_special(const struct address *address)
{
	static const struct cidr special[] = {
		{{{[10] = 0xff, [11] = 0xff, [12] = 127}}, 104}, /* 127.0.0.0/8 */
		{{{[10] = 0xff, [11] = 0xff, [12] = 169, [13] = 254}}, 112}, /* 169.254.0.0/16 */
		{{{[10] = 0xff, [11] = 0xff, [12] = 224}}, 120}, /* 224.0.0.0/24 */
		{{{[10] = 0xff, [11] = 0xff}}, 128}, /* 0.0.0.0 */
		{{{0}}, 127}, /* :: and ::1 */
		{{{0xfe, 0x80}}, 10}, /* fe80::/10 */
		{{{0xff, 0x02}}, 16}, /* ff02::/16 */
	};

	for (size_t i = 0; i < sizeof(special) / sizeof(*special); i++)
		if (cidr_contains(&special[i], address))
			return true;
	return false;
}

static void clear_host_bits(struct cidr *cidr)
{
	for (unsigned int bit = cidr->length; bit < 128; bit++)
		cidr->address.bytes[bit / 8] &= ~(0x80 >> bit % 8);
}

/* Parses a prefix length as the Kubernetes APIs do: digits only, no leading zero. */
static int length_parse(const char *text, unsigned int max, unsigned int *length)
{
	unsigned int value = 0;
	size_t digits = strspn(text, "0123456789");

	if (!digits || digits > 3 || text[digits] || (digits > 1 && *text == '0'))
		return -EINVAL;
	for (; *text; text++)
		value = value * 10 + (*text - '0');
	if (value > max)
		return -EINVAL;
	*length = value;
	return 0;
}

int cidr_parse(const char *text, struct cidr *cidr)
{
	const char *slash = strchr(text, '/');
	char address[INET6_ADDRSTRLEN];
	struct cidr parsed;
	unsigned int length;
	bool ipv4;

	if (!slash || (size_t)(slash - text) >= sizeof(address))
		return -EINVAL;
	memcpy(address, text, slash - text);
	address[slash - text] = '\0';
	if (address_parse(address, &parsed.address))
		return -EINVAL;
	ipv4 = address_is_ipv4(&parsed.address);
	if (length_parse(slash + 1, ipv4 ? 32 : 128, &length))
		return -EINVAL;
	parsed.length = ipv4 ? MAPPED_BITS + length : length;
	clear_host_bits(&parsed);
	*cidr = parsed;
	return 0;
}

bool cidr_contains(const struct cidr *cidr, const struct address *address)
{
	unsigned int whole = cidr->length / 8, rest = cidr->length % 8;

	if (address_is_ipv4(address) && cidr->length < MAPPED_BITS)
		return false;
	if (memcmp(cidr->address.bytes, address->bytes, whole))
		return false;
	return !rest ||
	       !((cidr->address.bytes[whole] ^ address->bytes[whole]) & (0xff00 >> rest & 0xff));
}

bool cidr_covers(const struct cidr *cidr, const struct cidr *inner)
{
	return cidr->length <= inner->length && cidr_contains(cidr, &inner->address);
}

const char *address_print(const struct address *address, char text[ADDRESS_TEXT])
{
	if (address_is_ipv4(address))
		inet_ntop(AF_INET, address->bytes + sizeof(mapped_prefix), text, ADDRESS_TEXT);
	else
		inet_ntop(AF_INET6, address->bytes, text, ADDRESS_TEXT);
	return text;
}

const char *cidr_print(const struct cidr *cidr, char text[ADDRESS_TEXT])
{
	/* A prefix of less than 96 bits is IPv6, also if its address begins like a mapped
	 * IPv4 address. */
	bool ipv4 = cidr->length >= MAPPED_BITS && address_is_ipv4(&cidr->address);
	size_t end;

	address_print(&cidr->address, text);
	end = strlen(text);
	snprintf(text + end, ADDRESS_TEXT - end, "/%d", cidr->length - (ipv4 ? MAPPED_BITS : 0));
	return text;
}

static int ipv4_first(const void *a, const void *b)
{
	bool left = address_is_ipv4(a), right = address_is_ipv4(b);

	return left != right ? right - left : memcmp(a, b, sizeof(struct address));
}

static int ipv6_first(const void *a, const void *b)
{
	bool left = address_is_ipv4(a), right = address_is_ipv4(b);

	return left != right ? left - right : memcmp(a, b, sizeof(struct address));
}

size_t addresses_sort(struct address *addresses, size_t n)
{
	int (*order)(const void *a, const void *b) = ipv4_first;
	size_t kept = 0;

	if (n && !address_is_ipv4(addresses))
		order = ipv6_first;
	array_order(addresses, n, sizeof(*addresses), order);
	for (size_t i = 0; i < n; i++)
		if (!kept || order(&addresses[kept - 1], &addresses[i]))
			addresses[kept++] = addresses[i];
	return kept;
}
