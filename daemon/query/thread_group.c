/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/thread_group.h"

#include "labels/cgroup_path.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { NAME_BYTES = 1280 };

static const char *const names[THREAD_GROUPS] = {
	[THREAD_GROUP_COMM] = "comm",
	[THREAD_GROUP_UNIT] = "unit",
	[THREAD_GROUP_CONTAINER] = "container",
	[THREAD_GROUP_POD] = "pod",
	[THREAD_GROUP_EXE] = "exe",
	[THREAD_GROUP_PROCESS] = "process",
	[THREAD_GROUP_THREAD] = "thread",
};

bool thread_group_find(const char *name, enum thread_group *ret_group)
{
	for (enum thread_group i = 0; i < THREAD_GROUPS; i++)
		if (strcmp(name, names[i]) == 0) {
			*ret_group = i;
			return true;
		}
	return false;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static void copy_part(const struct path_part *part, char name[NAME_BYTES])
{
	(void)snprintf(name, NAME_BYTES, "%.*s", (int)part->size, part->size > 0 ? part->text : "");
}

/* Those that the same parameters of a selection match (selection_match.c). */
static void name_of_cgroup(const char *path, enum thread_group group, char name[NAME_BYTES])
{
	struct cgroup_labels labels;

	cgroup_path_parse(path, &labels);
	if (group == THREAD_GROUP_UNIT)
		copy_part(labels.user_unit.size > 0 ? &labels.user_unit : &labels.unit, name);
	else if (group == THREAD_GROUP_CONTAINER)
		copy_part(&labels.container, name);
	else
		(void)snprintf(name, NAME_BYTES, "%s", labels.pod_uid);
	if (!*name)
		(void)snprintf(name, NAME_BYTES, "[no %s]", names[group]);
}

static void format_name(const struct profile *profile, const struct profile_thread *thread,
	enum thread_group group, char name[NAME_BYTES])
{
	const char *exe = string_pool_get(&profile->strings, thread->exe);
	const char *comm = string_pool_get(&profile->strings, thread->comm);

	if (group == THREAD_GROUP_PROCESS)
		(void)snprintf(name, NAME_BYTES, "%s [%" PRIu32 "]", *exe ? base_name(exe) : comm,
			thread->tgid);
	else if (group == THREAD_GROUP_THREAD)
		(void)snprintf(name, NAME_BYTES, "%s [%" PRIu32 "]", comm, thread->tid);
	else if (group == THREAD_GROUP_EXE)
		/* Threads of the kernel have none. */
		(void)snprintf(name, NAME_BYTES, "%s", *exe ? exe : "[no exe]");
	else
		name_of_cgroup(string_pool_get(&profile->strings, thread->cgroup), group, name);
}

int thread_group_name(struct profile *profile, enum thread_group group)
{
	char name[NAME_BYTES];
	int r = 0;

	if (group == THREAD_GROUP_COMM)
		return 0;
	for (size_t i = 0; r == 0 && i < profile->threads.count; i++) {
		struct profile_thread *thread = &profile->threads.items[i];

		format_name(profile, thread, group, name);
		r = profile_add_string(profile, name, &thread->comm);
	}
	return r;
}
