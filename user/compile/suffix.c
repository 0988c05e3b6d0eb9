/* SPDX-License-Identifier: GPL-2.0-only */
#include <stdbool.h>
#include <string.h>

#include "compile/suffix.h"

/* The most used names that providers share among customers. */
static const char *const shared[] = {
	"amazonaws.com",
	"amazonaws.com.cn",
	"awsglobalaccelerator.com",
	"cloudfront.net",
	"elasticbeanstalk.com",
	"on.aws",
	"azure-api.net",
	"azureedge.net",
	"azurefd.net",
	"azurewebsites.net",
	"cloudapp.azure.com",
	"cloudapp.net",
	"trafficmanager.net",
	"windows.net",
	"appspot.com",
	"cloudfunctions.net",
	"firebaseapp.com",
	"googleapis.com",
	"googleusercontent.com",
	"run.app",
	"web.app",
	"akamaized.net",
	"akamaihd.net",
	"edgekey.net",
	"edgesuite.net",
	"fastly.net",
	"pages.dev",
	"r2.dev",
	"workers.dev",
	"digitaloceanspaces.com",
	"ondigitalocean.app",
	"github.io",
	"githubusercontent.com",
	"gitlab.io",
	"herokuapp.com",
	"netlify.app",
	"ngrok.io",
	"onrender.com",
	"vercel.app",
};

/* Labels below which most countries' registries sell names. */
static const char *const second_levels[] = {"ac",  "co",  "com", "edu", "gob", "gov",
					    "gub", "mil", "net", "ne",	"or",  "org"};

/* Returns true if @name is "co.uk" or the like. */
static bool is_second_level(const char *name)
{
	const char *dot = strchr(name, '.');

	if (!dot || strlen(dot + 1) != 2)
		return false;
	for (size_t i = 0; i < sizeof(second_levels) / sizeof(*second_levels); i++)
		if (strlen(second_levels[i]) == (size_t)(dot - name) &&
		    !memcmp(name, second_levels[i], dot - name))
			return true;
	return false;
}

/* Returns true if @name is @suffix, or lies above it: a suffix that is shared below "s3.x.org" is
 * shared below "x.org", too. */
static bool is_or_above(const char *name, const char *suffix, size_t length)
{
	size_t n = strlen(name);

	if (n > length || memcmp(suffix + length - n, name, n))
		return false;
	return n == length || suffix[length - n - 1] == '.';
}

/* Returns true if a line of the list, "co.uk" or "*.ck", is about @name or about a name below. An
 * exception, "!www.ck", is no suffix. */
static bool line_is_about(const char *line, size_t length, const char *name)
{
	const char *dot;

	if (line[0] == '!')
		return false;
	if (is_or_above(name, line, length))
		return true;
	if (length < 2 || memcmp(line, "*.", 2))
		return false;
	dot = strchr(name, '.');
	return dot && strlen(dot + 1) == length - 2 && !memcmp(dot + 1, line + 2, length - 2);
}

/* Returns true if the list has the exception "!@name". */
static bool is_exception(const char *line, size_t length, const char *name)
{
	return line[0] == '!' && strlen(name) == length - 1 && !memcmp(line + 1, name, length - 1);
}

/* The list's first part has suffixes of registries, its last one those of providers. */
static enum suffix_kind kind_in_list(const char *list, const char *name)
{
	const char *providers = strstr(list, "===BEGIN PRIVATE DOMAINS===");
	enum suffix_kind kind = SUFFIX_OWN;

	for (const char *line = list; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		size_t length = strcspn(line, " \t\r\n");

		if (!length || line[0] == '/')
			continue;
		if (is_exception(line, length, name))
			return SUFFIX_OWN;
		if (kind == SUFFIX_OWN && line_is_about(line, length, name))
			kind = providers && line > providers ? SUFFIX_SHARED : SUFFIX_PUBLIC;
	}
	return kind;
}

enum suffix_kind suffix_kind(const char *list, const char *name)
{
	if (!strchr(name, '.') || is_second_level(name))
		return SUFFIX_PUBLIC;
	for (size_t i = 0; i < sizeof(shared) / sizeof(*shared); i++)
		if (is_or_above(name, shared[i], strlen(shared[i])))
			return SUFFIX_SHARED;
	return list ? kind_in_list(list, name) : SUFFIX_OWN;
}
