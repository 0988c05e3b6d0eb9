/* SPDX-License-Identifier: GPL-2.0-only */
/* Checks names as the Kubernetes APIs do. */
#ifndef BULKHEAD_INPUT_NAME_SYNTAX_H
#define BULKHEAD_INPUT_NAME_SYNTAX_H

#include <stdbool.h>

bool name_syntax_is_dns_label(const char *text); /* namespace: RFC 1123, up to 63 characters */
/* any other object: labels and dots, up to 253 characters */
bool name_syntax_is_dns_subdomain(const char *text);
bool name_syntax_is_label_key(const char *text); /* name, or DNS subdomain "/" name */
bool name_syntax_is_label_value(const char *text); /* empty, or like a name; up to 63 characters */
/* Returns true for a domain name of two labels or more, or "*." and a domain name of one label or
 * more; a label has up to 63 characters, all have up to 253. */
bool name_syntax_is_domain_name(const char *text);
/* Writes a domain name as DNS compares it: in lower case, without the dot at its end. */
#define NAME_SYNTAX_DOMAIN_TEXT 256
void name_syntax_fold_domain_name(const char *name, char folded[NAME_SYNTAX_DOMAIN_TEXT]);
/* RFC 6335 in lower case: up to 15 characters, one of them a letter */
bool name_syntax_is_port_name(const char *text);

/* The messages if a check fails. */
#define NAME_SYNTAX_DNS_LABEL \
	"no name of a namespace: up to 63 of a-z, 0-9 and -, a letter or digit at both ends"
#define NAME_SYNTAX_DNS_SUBDOMAIN                                                                  \
	"no object's name: up to 253 of a-z, 0-9, - and ., a letter or digit at the ends of each " \
	"part"
#define NAME_SYNTAX_LABEL_KEY                                                                   \
	"no label key: up to 63 of A-Z, a-z, 0-9, -, _ and ., a letter or digit at both ends, " \
	"after an optional DNS name and /"
#define NAME_SYNTAX_LABEL_VALUE \
	"no label value: up to 63 of A-Z, a-z, 0-9, -, _ and ., a letter or digit at both ends"
#define NAME_SYNTAX_PORT_NAME                                             \
	"no port name: up to 15 of a-z, 0-9 and -, one letter at least, " \
	"no - at an end or after another"
#define NAME_SYNTAX_DOMAIN_NAME                                                              \
	"no domain name: two labels or more, or *. and labels; each label up to 63 of A-Z, " \
	"a-z, 0-9, - and _, a letter or digit at the end, up to 253 in all"
#define NAME_SYNTAX_SERVICE_PORT \
	"no port's name: up to 63 of a-z, 0-9 and -, a letter or digit at both ends"

#endif
