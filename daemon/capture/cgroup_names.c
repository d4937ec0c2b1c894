/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/cgroup_names.h"

#include "base/array.h"
#include "base/hex.h"
#include "sampler.skel.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Each rule has a name for each runtime, or for each part of its path. */
enum { NAMES_MAX = CGROUP_RULES_MAX * PILOTLIGHT_CGROUP_DEPTH };

static size_t name_bytes(const struct cgroup_name *name)
{
	return name->key.bits / 8 - sizeof(name->key.state);
}

static bool is_same_key(const struct cgroup_name *a, const struct cgroup_name *b)
{
	return a->key.bits == b->key.bits && a->key.state == b->key.state &&
	       memcmp(a->key.name, b->key.name, name_bytes(a)) == 0;
}

/* Finds or adds the entry of `size` bytes; a prefix has no NUL. */
static int add_name(struct cgroup_names *names, uint32_t state, const char *text, size_t size,
	bool is_prefix, struct cgroup_name **ret_name)
{
	struct cgroup_name name = { .key.state = state };

	/* The rest is zero, so there is a NUL behind it. */
	memcpy(name.key.name, text, size);
	name.key.bits = (uint32_t)(sizeof(name.key.state) + size + !is_prefix) * 8;
	for (size_t i = 0; i < names->count; i++)
		if (is_same_key(&names->names[i], &name)) {
			*ret_name = &names->names[i];
			return 0;
		}
	if (ARRAY_RESERVE(names->names, &names->capacity, names->count + 1, NAMES_MAX) < 0)
		return -ENOMEM;
	names->names[names->count] = name;
	*ret_name = &names->names[names->count++];
	return 0;
}

/* `text` may end with '*'. */
static int add_pattern(struct cgroup_names *names, uint32_t state, const char *text, uint32_t flags)
{
	size_t size = strcspn(text, "*");
	struct cgroup_name *name;
	int r = add_name(names, state, text, size, text[size] == '*', &name);

	if (r == 0)
		name->value.flags |= flags;
	return r;
}

static int add_unit(struct cgroup_names *names, const char *unit, uint32_t flags)
{
	return add_pattern(names, PILOTLIGHT_CGROUP_UNIT, unit, flags);
}

/* The names that runtimes and their cgroup drivers give the cgroup of a container. */
static int add_container(struct cgroup_names *names, const char *id, uint32_t flags)
{
	static const char *const of_ids[] = { "%s*", "docker-%s*", "cri-containerd-%s*",
		"containerd-%s*", "nerdctl-%s*", "crio-%s*", "libpod-%s*", "buildkit-%s*" };
	static const char *const of_names[] = { "lxc.payload.%s", "machine-%s.scope",
		"systemd-nspawn@%s.service" };
	bool is_id = id[strspn(id, "0123456789abcdef")] == '\0';
	const char *const *forms = is_id ? of_ids : of_names;
	size_t count = is_id ? ARRAY_SIZE(of_ids) : ARRAY_SIZE(of_names);
	char name[CGROUP_RULE_BYTES + 32];
	int r = 0;

	for (size_t i = 0; r == 0 && i < count; i++) {
		const char *mark = strchr(forms[i], '%');

		if (snprintf(name, sizeof(name), "%.*s%s%s", (int)(mark - forms[i]), forms[i], id,
			    mark + 2) < PILOTLIGHT_CGROUP_NAME_BYTES)
			r = add_pattern(names, PILOTLIGHT_CGROUP_CONTAINER, name, flags);
	}
	return r;
}

/* `path` is checked: it has at least one part, and a '*' only at its end. */
static int add_path(struct cgroup_names *names, const char *path, uint32_t flags)
{
	uint32_t state = PILOTLIGHT_CGROUP_PATH;
	int r = 0;

	while (r == 0 && state) {
		const char *part = path + 1;
		size_t size = strcspn(part, "/*");
		struct cgroup_name *name;

		path = part + size;
		r = add_name(names, state, part, size, *path == '*', &name);
		if (r < 0)
			break;
		if (*path != '/') {
			name->value.flags |= flags;
			break;
		}
		if (!name->value.next_state)
			name->value.next_state = names->next_state++;
		state = name->value.next_state;
	}
	return r;
}

/* The sampler finds the longest entry alone. So each also says what its shorter ones do. */
static void inherit_flags(struct cgroup_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		for (size_t j = 0; j < names->count; j++) {
			struct cgroup_name *longer = &names->names[i], *prefix = &names->names[j];

			if (prefix->key.state == longer->key.state &&
				prefix->key.bits < longer->key.bits &&
				memcmp(prefix->key.name, longer->key.name, name_bytes(prefix)) == 0)
				longer->value.flags |= prefix->value.flags;
		}
}

int cgroup_names_compile(const struct cgroup_choice *choice, struct cgroup_names *ret_names)
{
	int r = 0;

	*ret_names = (struct cgroup_names){ .next_state = PILOTLIGHT_CGROUP_PATH + 1 };
	for (size_t i = 0; r == 0 && i < choice->count; i++) {
		const struct cgroup_rule *rule = &choice->rules[i];
		uint32_t flags = rule->is_excluding ? PILOTLIGHT_CGROUP_EXCLUDED
						    : PILOTLIGHT_CGROUP_INCLUDED;

		if (rule->kind == CGROUP_RULE_UNIT)
			r = add_unit(ret_names, rule->text, flags);
		else if (rule->kind == CGROUP_RULE_CONTAINER)
			r = add_container(ret_names, rule->text, flags);
		else
			r = add_path(ret_names, rule->text, flags);
	}
	if (r == 0 && choice->count > 0)
		r = add_unit(ret_names, "user@*", PILOTLIGHT_CGROUP_USER);
	inherit_flags(ret_names);
	return r;
}

void cgroup_names_done(struct cgroup_names *names)
{
	free(names->names);
	*names = (struct cgroup_names){ 0 };
}

const struct pilotlight_cgroup_value *cgroup_names_find(
	const struct cgroup_names *names, uint32_t state, const char *name)
{
	const struct cgroup_name *longest = NULL;
	size_t size = strlen(name) + 1;

	for (size_t i = 0; i < names->count; i++) {
		const struct cgroup_name *entry = &names->names[i];

		if (entry->key.state == state && name_bytes(entry) <= size &&
			memcmp(entry->key.name, name, name_bytes(entry)) == 0 &&
			(!longest || entry->key.bits > longest->key.bits))
			longest = entry;
	}
	return longest ? &longest->value : NULL;
}

/* A line "0::PATH" shows that the default hierarchy is in use. */
static bool has_default_hierarchy(void)
{
	_cleanup_fclose_ FILE *file = fopen("/proc/self/cgroup", "re");
	char line[4096];

	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "0::", 3) == 0)
			return true;
	return false;
}

static bool has_ancestors(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	int id = btf ? btf__find_by_name_kind(btf, "cgroup", BTF_KIND_STRUCT) : -1;
	const struct btf_type *type = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
	bool has = false;

	for (uint32_t i = 0; type && i < btf_vlen(type); i++)
		has |= strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off),
			       "ancestors") == 0;
	btf__free(btf);
	return has;
}

const char *cgroup_names_find_missing(void)
{
	if (!has_default_hierarchy())
		return "cgroup v2: mount it, or boot with systemd.unified_cgroup_hierarchy=1";
	if (!has_ancestors())
		return "a kernel that tells a cgroup's ancestors: boot Linux 6.1 or later";
	return NULL;
}

int cgroup_names_prepare(struct sampler *programs, const struct cgroup_choice *choice,
	const struct cgroup_names *names, struct fault *fault)
{
	const char *missing = choice->count > 0 ? cgroup_names_find_missing() : NULL;

	if (choice->count == 0)
		return 0;
	if (missing)
		return fault_set(fault, -EOPNOTSUPP,
			"cannot choose by cgroups what is recorded; this machine lacks %s",
			missing);
	programs->rodata->chooses_cgroups = 1;
	programs->rodata->includes_cgroups = cgroup_choice_has_inclusion(choice);
	(void)bpf_map__set_max_entries(programs->maps.cgroup_names, (uint32_t)names->count);
	(void)bpf_map__set_max_entries(programs->maps.cgroup_verdicts, PILOTLIGHT_CGROUP_VERDICTS);
	(void)bpf_map__set_max_entries(programs->maps.cgroup_descents, 3);
	return 0;
}

int cgroup_names_load(
	struct sampler *programs, const struct cgroup_names *names, struct fault *fault)
{
	int map_fd = bpf_map__fd(programs->maps.cgroup_names);

	for (size_t i = 0; i < names->count; i++)
		if (bpf_map_update_elem(
			    map_fd, &names->names[i].key, &names->names[i].value, BPF_ANY))
			return fault_set(fault, -errno,
				"cannot tell the sampler which cgroups to record: %s",
				strerror(errno));
	return 0;
}
