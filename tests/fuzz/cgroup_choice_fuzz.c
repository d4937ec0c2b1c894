/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lines of rules, those with '-' excluding. Each taken rule compiles, and means something. */
#include "capture/cgroup_choice.h"
#include "capture/cgroup_names.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The name of a cgroup that the entry stands for is found, with its flags. */
static void check(const struct cgroup_names *names)
{
	for (size_t i = 0; i < names->count; i++) {
		const struct cgroup_name *name = &names->names[i];
		const struct pilotlight_cgroup_value *found;

		assert(name->key.bits % 8 == 0 && name->key.bits / 8 >= sizeof(name->key.state));
		assert(name->key.bits / 8 <= sizeof(name->key) - sizeof(name->key.bits));
		assert(strlen(name->key.name) < PILOTLIGHT_CGROUP_NAME_BYTES);
		assert(name->key.state >= PILOTLIGHT_CGROUP_UNIT);
		assert(name->key.state < names->next_state);
		assert(name->value.next_state < names->next_state);
		found = cgroup_names_find(names, name->key.state, name->key.name);
		assert(found && (found->flags & name->value.flags) == name->value.flags);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct cgroup_choice choice = { .count = 0 };
	struct cgroup_names names;
	char *text = calloc(size + 1, 1), *rest = text, *line;
	size_t taken = 0;

	assert(text);
	if (size > 0)
		memcpy(text, bytes, size);
	while ((line = strsep(&rest, "\n"))) {
		struct fault fault = { 0 };
		int r = cgroup_choice_add(&choice, line + (*line == '-'), *line == '-', &fault);

		assert((r == 0) == (fault.text[0] == '\0'));
		taken += r == 0;
	}
	assert(taken == choice.count && choice.count <= CGROUP_RULES_MAX);
	assert(cgroup_choice_equals(&choice, &choice));
	assert(cgroup_names_compile(&choice, &names) == 0);
	check(&names);
	cgroup_names_done(&names);
	free(text);
	return 0;
}
