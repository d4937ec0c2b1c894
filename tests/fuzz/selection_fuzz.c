/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parameters, one "NAME VALUE" a line, up to an empty line. Thread lines follow: a "CGROUP", which
 * also supplies comm, exe and claims. An accepted selection is described in clean text, and its
 * memory is bounded.
 */
#include "query/selection.h"

#include "base/utf8.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define NOW UINT64_C(1795260896000000000)

static char *next_line(char **at)
{
	char *line = *at, *end;

	if (!line || !*line)
		return NULL;
	end = strchr(line, '\n');
	if (end)
		*end = '\0';
	*at = end ? end + 1 : NULL;
	return line;
}

static void add(struct selection *selection, char *line)
{
	struct fault fault = { 0 };
	char *space = strchr(line, ' ');
	int r;

	if (!space)
		return;
	*space = '\0';
	r = selection_add(selection, line, space + 1, &fault);
	assert(r == 0 || fault.text[0]);
}

static void ask(const struct store_selection *asked, const char *line)
{
	char clean[UTF8_CLEAN_BYTES];
	const struct store_thread thread = {
		.cgroup = clean, .comm = line, .exe = clean, .claims = clean, .tgid = 1, .tid = 2
	};
	struct profile_binary binary = { .build_id = { .size = BUILD_ID_BYTES } };

	(void)utf8_clean(clean, line, strlen(line));
	if (asked->wants_thread)
		(void)asked->wants_thread(asked->context, &thread);
	memcpy(binary.build_id.bytes, clean,
		strlen(clean) < BUILD_ID_BYTES ? strlen(clean) : BUILD_ID_BYTES);
	if (asked->wants_binary)
		(void)asked->wants_binary(asked->context, &binary, clean);
}

static void check(struct selection *selection)
{
	const char *parameter, *const *names, *text = selection_text(selection);
	size_t count = selection_seen(selection, &parameter, &names);

	assert(count <= SELECTION_SEEN_MAX && (parameter || count == 0));
	for (size_t i = 0; i < count; i++)
		assert(names[i][0]);
	for (size_t step; *text; text += step) {
		step = utf8_sequence(text, strlen(text));
		assert(step > 0 && (unsigned char)*text >= ' ');
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct store_selection asked;
	struct selection *selection;
	char *copy = malloc(size + 1), *at = copy, *line;

	if (!copy || selection_new(&selection) < 0)
		abort();
	memcpy(copy, bytes, size);
	copy[size] = '\0';
	while ((line = next_line(&at)) && *line)
		add(selection, line);
	if (selection_finish(selection, NOW, NULL) == 0) {
		selection_store(selection, &asked);
		assert(asked.start_ns < asked.end_ns);
		for (unsigned i = 0; i < 64 && (line = next_line(&at)); i++)
			ask(&asked, line);
		check(selection);
	}
	selection_free(selection);
	free(copy);
	return 0;
}
