// SPDX-License-Identifier: GPL-2.0-only
/* Names kinds by the workloads of their pods: a pod's own name ends in a hash, which says nothing.
 */
#include <stdio.h>
#include <string.h>

#include "policy/flow_classes.h"

/* The characters of Kubernetes' generated suffixes (rand.SafeEncodeString,
 * names.SimpleNameGenerator). */
#define SUFFIX_CHARACTERS "bcdfghjklmnpqrstvwxz2456789"
#define DIGITS "0123456789"
#define POD_SUFFIX 5
#define TEMPLATE_MIN 6 /* characters of a ReplicaSet's hash, and digits of a Job's time */
#define TEMPLATE_MAX 10

static bool has_only(const char *text, size_t n, const char *characters)
{
	return strspn(text, characters) >= n;
}

/* Returns the part of @name up to the last hyphen of its first @n characters; 0: there is none. */
static size_t cut(const char *name, size_t n)
{
	while (n > 0 && name[n - 1] != '-')
		n--;
	return n > 1 && name[n - 2] != '/' ? n - 1 : 0;
}

/* Returns true if @n characters are the hash of a pod template, or the time of a CronJob's Job. */
static bool is_template(const char *text, size_t n)
{
	return n >= TEMPLATE_MIN && n <= TEMPLATE_MAX &&
	       (has_only(text, n, SUFFIX_CHARACTERS) || has_only(text, n, DIGITS));
}

/* Returns true if the text is the generated end of a pod's name. */
static bool is_pod_suffix(const char *text)
{
	return strlen(text) == POD_SUFFIX && has_only(text, POD_SUFFIX, SUFFIX_CHARACTERS);
}

/* @generated: the pod's name ends in a hash, and not in a StatefulSet's number. */
static size_t workload_part(const char *pod, bool *generated)
{
	const size_t n = strlen(pod), first = cut(pod, n), second = cut(pod, first);
	const char *suffix = pod + first + 1;

	*generated = false;
	if (!first)
		return n;
	if (is_pod_suffix(suffix)) {
		const bool template = second && is_template(pod + second + 1, first - second - 1);

		/* A word such as `httpd` has no digit: alone, it is part of the name. */
		*generated = template || strpbrk(suffix, DIGITS);
		return !*generated ? n : template ? second : first;
	}
	return has_only(suffix, strlen(suffix), DIGITS) ? first : n;
}

/* Returns the length of the part of a pod's name that its workload gives: without the suffixes that
 * controllers generate, and without a StatefulSet's number. */
static size_t workload_length(const char *pod)
{
	bool generated;

	return workload_part(pod, &generated);
}

/* Returns true if the pod is of the workload whose name is the first @n characters of @other. */
static bool is_of(const char *pod, const char *other, size_t n)
{
	if (strncmp(pod, other, n))
		return false;
	return workload_length(pod) == n || (pod[n] == '-' && is_pod_suffix(pod + n + 1));
}

/* Members are sorted by name, so those of a workload are neighbours. */
static size_t count_workloads(const struct flow_class *kind)
{
	const char *first = kind->members->end.name;
	size_t length = workload_length(first), n = 1;

	for (size_t i = 1; i < kind->n; i++) {
		const char *name = kind->members[i].end.name;

		if (is_of(name, first, length))
			continue;
		first = name;
		length = workload_length(name);
		n++;
	}
	return n;
}

char *flow_class_print(const struct flow_class *kind, char *text, size_t size)
{
	const char *first = kind->members->end.name;
	bool generated = false;
	const size_t length =
		kind->members->external ? strlen(first) : workload_part(first, &generated);
	const size_t workloads = kind->members->external ? kind->n : count_workloads(kind);

	if (kind->exact || (kind->n == 1 && !generated))
		snprintf(text, size, "%s", first);
	else if (kind->n == 1)
		snprintf(text, size, "%.*s-*", (int)length, first);
	else if (workloads == kind->n && !generated)
		snprintf(text, size, "%s and %zu more", first, kind->n - 1);
	else if (workloads == 1)
		snprintf(text, size, "%.*s-* (%zu pods)", (int)length, first, kind->n);
	else
		snprintf(text, size, "%.*s%s and %zu more (%zu pods)", (int)length, first,
			 first[length] ? "-*" : "", workloads - 1, kind->n);
	return text;
}
