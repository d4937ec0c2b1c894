/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/cgroup_choice.h"

#include "base/array.h"
#include "base/hex.h"
#include "pilotlight/cgroup_choice.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

enum {
	CONTAINER_DIGITS_MIN = 12, /* as `docker ps` shows */
	CONTAINER_DIGITS = 64,
};

static const char *const kind_names[] = {
	[CGROUP_RULE_UNIT] = "unit",
	[CGROUP_RULE_CONTAINER] = "container",
	[CGROUP_RULE_PATH] = "cgroup",
};

const char *cgroup_rule_kind_name(enum cgroup_rule_kind kind)
{
	return kind_names[kind];
}

static const char *take_kind(const char *rule, enum cgroup_rule_kind *ret_kind)
{
	for (size_t i = 0; i < ARRAY_SIZE(kind_names); i++) {
		size_t size = strlen(kind_names[i]);

		if (strncmp(rule, kind_names[i], size) == 0 && rule[size] == ':') {
			*ret_kind = (enum cgroup_rule_kind)i;
			return rule + size + 1;
		}
	}
	return NULL;
}

/* Is it one name, with a '*' at its end at most? */
static bool is_name(const char *text)
{
	size_t size = strlen(text), plain = strcspn(text, "*/");

	return size > 0 && size < CGROUP_RULE_BYTES - strlen(".service") &&
	       size < PILOTLIGHT_CGROUP_NAME_BYTES && strcmp(text, "*") != 0 &&
	       (!text[plain] || strcmp(text + plain, "*") == 0);
}

static bool has_type(const char *unit)
{
	static const char *const types[] = { ".service", ".scope", ".slice", ".mount", ".socket",
		".swap" };
	const char *ending = strrchr(unit, '.');

	for (size_t i = 0; ending && i < ARRAY_SIZE(types); i++)
		if (strcmp(ending, types[i]) == 0)
			return true;
	return false;
}

static int set_unit(struct cgroup_rule *rule, const char *text, struct fault *fault)
{
	if (!is_name(text))
		return fault_set(fault, -EINVAL,
			"'%.100s' is not the name of a unit: write one such as nginx.service or "
			"postgresql@*",
			text);
	(void)snprintf(rule->text, sizeof(rule->text), "%s%s", text,
		has_type(text) || strchr(text, '*') ? "" : ".service");
	return 0;
}

static int set_container(struct cgroup_rule *rule, const char *text, struct fault *fault)
{
	size_t digits = 0;

	while (hex_digit(text[digits]) >= 0)
		digits++;
	if (!is_name(text) || strchr(text, '*') || digits > CONTAINER_DIGITS ||
		(!text[digits] && digits < CONTAINER_DIGITS_MIN))
		return fault_set(fault, -EINVAL,
			"'%.100s' is not a container: write %d to %d hexadecimal digits of its id, "
			"or the name of an LXC container or a machine",
			text, CONTAINER_DIGITS_MIN, CONTAINER_DIGITS);
	(void)snprintf(rule->text, sizeof(rule->text), "%s", text);
	return 0;
}

/* Are these the parts of a path, without a slash at its begin or end? */
static bool are_parts(const char *text)
{
	for (unsigned depth = 1; depth <= PILOTLIGHT_CGROUP_DEPTH; depth++) {
		size_t size = strcspn(text, "/*");

		if (size >= PILOTLIGHT_CGROUP_NAME_BYTES || (size == 0 && text[0] != '*') ||
			strncmp(text, "./", 2) == 0 || strncmp(text, "../", 3) == 0)
			return false;
		if (!text[size] || strcmp(text + size, "*") == 0)
			return true;
		if (text[size] == '*')
			return false;
		text += size + 1;
	}
	return false;
}

static int set_path(struct cgroup_rule *rule, const char *text, struct fault *fault)
{
	size_t size = strlen(text);

	while (size > 1 && text[size - 1] == '/')
		size--;
	if (size >= sizeof(rule->text))
		return fault_set(
			fault, -EINVAL, "'%.40s...' is too long for the path of a cgroup", text);
	(void)snprintf(rule->text, sizeof(rule->text), "%.*s", (int)size, text);
	if (rule->text[0] != '/' || !are_parts(rule->text + 1))
		return fault_set(fault, -EINVAL,
			"'%.100s' is not the path of a cgroup: write one below the mount of "
			"cgroup v2, such as /system.slice or /kubepods.slice/*",
			text);
	return 0;
}

int cgroup_choice_add(
	struct cgroup_choice *choice, const char *rule, bool is_excluding, struct fault *fault)
{
	struct cgroup_rule added = { .is_excluding = is_excluding };
	const char *text = take_kind(rule, &added.kind);
	int r;

	if (!text)
		return fault_set(fault, -EINVAL,
			"'%.100s' chooses no cgroup: write unit:NAME, container:ID or cgroup:PATH",
			rule);
	if (choice->count == CGROUP_RULES_MAX)
		return fault_set(fault, -E2BIG, "'%.100s' is one too many: there may be %d", rule,
			CGROUP_RULES_MAX);
	r = added.kind == CGROUP_RULE_UNIT	  ? set_unit(&added, text, fault)
	    : added.kind == CGROUP_RULE_CONTAINER ? set_container(&added, text, fault)
						  : set_path(&added, text, fault);
	if (r == 0)
		choice->rules[choice->count++] = added;
	return r;
}

bool cgroup_choice_has_inclusion(const struct cgroup_choice *choice)
{
	for (size_t i = 0; i < choice->count; i++)
		if (!choice->rules[i].is_excluding)
			return true;
	return false;
}

bool cgroup_choice_equals(const struct cgroup_choice *a, const struct cgroup_choice *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (a->rules[i].kind != b->rules[i].kind ||
			a->rules[i].is_excluding != b->rules[i].is_excluding ||
			strcmp(a->rules[i].text, b->rules[i].text) != 0)
			return false;
	return true;
}
