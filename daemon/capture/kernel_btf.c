/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/kernel_btf.h"

#include <bpf/btf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

int kernel_btf_tracepoint_arguments(const struct btf *btf, const char *type_name)
{
	int id = btf__find_by_name_kind(btf, type_name, BTF_KIND_TYPEDEF);
	const struct btf_type *type;

	if (id < 0)
		return 0;
	type = btf__type_by_id(btf, btf__type_by_id(btf, (uint32_t)id)->type);
	if (!type || !btf_is_ptr(type))
		return 0;
	type = btf__type_by_id(btf, type->type);
	return type && btf_is_func_proto(type) ? btf_vlen(type) : 0;
}

static const struct btf_member *find_member(
	const struct btf *btf, const char *structure, const char *name)
{
	int id = btf__find_by_name_kind(btf, structure, BTF_KIND_STRUCT);
	const struct btf_type *type;

	if (id < 0)
		return NULL;
	type = btf__type_by_id(btf, (uint32_t)id);
	for (uint32_t i = 0; i < btf_vlen(type); i++)
		if (strcmp(btf__name_by_offset(btf, btf_members(type)[i].name_off), name) == 0)
			return &btf_members(type)[i];
	return NULL;
}

bool kernel_btf_has_member(const struct btf *btf, const char *structure, const char *name)
{
	return find_member(btf, structure, name) != NULL;
}

bool kernel_btf_has_member_of(
	const struct btf *btf, const char *structure, const char *name, const char *type_name)
{
	const struct btf_member *member = find_member(btf, structure, name);
	const struct btf_type *type = member ? btf__type_by_id(btf, member->type) : NULL;

	return type && strcmp(btf__name_by_offset(btf, type->name_off), type_name) == 0;
}

bool kernel_btf_has_function(const struct btf *btf, const char *name)
{
	return btf__find_by_name_kind(btf, name, BTF_KIND_FUNC) >= 0;
}

bool kernel_btf_traces_functions(const struct btf *btf)
{
	return kernel_btf_has_function(btf, "register_ftrace_direct");
}
