/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config.h"

#include "config/config_private.h"
#include "supervise/service_folders.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { DROP_INS_MAX = 1000 };

static const char DROP_IN_ENDING[] = ".conf";

void config_default_path(char path[PATH_MAX])
{
	char folder[PATH_MAX];

	service_folder_path(SERVICE_FOLDER_CONFIGURATION, folder);
	if (snprintf(path, PATH_MAX, "%s/pilotlight.conf", folder) >= PATH_MAX)
		(void)snprintf(path, PATH_MAX, "%s", CONFIG_FILE);
}

static int set_defaults(struct config *config)
{
	char reason[CONFIG_REASON_BYTES];

	for (size_t i = 0; i < config_knob_count; i++) {
		int r = config_knob_is_list(&config_knobs[i])
				? 0
				: config_knob_set(&config_knobs[i], config_knobs[i].default_text,
					  config, reason);

		assert(r != -EINVAL);
		if (r < 0)
			return r;
	}
	return 0;
}

static int is_drop_in(const struct dirent *entry)
{
	size_t size = strlen(entry->d_name), ending = sizeof(DROP_IN_ENDING) - 1;

	return entry->d_name[0] != '.' && size > ending &&
	       strcmp(entry->d_name + size - ending, DROP_IN_ENDING) == 0;
}

/* Replaces alphasort(), whose order depends on the locale. */
static int compare_names(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int read_drop_in(const char *folder, const char *name, struct config *config,
	struct config_problems *problems)
{
	char path[PATH_MAX];
	int r;

	if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int)sizeof(path))
		return config_problem_add(
			problems, folder, 0, "the path of '%.200s' is too long", name);
	r = config_file_read(path, config, problems);
	if (r == -ENOENT)
		return config_problem_add(problems, path, 0,
			"broken symbolic link: remove it, or point it to a file");
	return r;
}

static int read_drop_ins(const char *path, struct config *config, struct config_problems *problems)
{
	struct dirent **entries = NULL;
	char folder[PATH_MAX];
	int count, r = 0;

	if (snprintf(folder, sizeof(folder), "%s.d", path) >= (int)sizeof(folder))
		return 0;
	count = scandir(folder, &entries, is_drop_in, compare_names);
	if (count < 0 && errno == ENOMEM)
		return -ENOMEM;
	if (count < 0)
		return errno == ENOENT ? 0
				       : config_problem_add(problems, folder, 0,
						 "cannot read this directory: %s", strerror(errno));
	for (int i = 0; i < count; i++) {
		if (r == 0 && i < DROP_INS_MAX)
			r = read_drop_in(folder, entries[i]->d_name, config, problems);
		free(entries[i]);
	}
	free(entries);
	if (r == 0 && count > DROP_INS_MAX)
		r = config_problem_add(problems, folder, 0,
			"more than %d files: the rest are ignored; merge some", DROP_INS_MAX);
	return r;
}

static int load(
	const char *path, unsigned flags, struct config *config, struct config_problems *problems)
{
	int r = set_defaults(config);

	if (r < 0)
		return r;
	r = config_file_read(path, config, problems);
	if (r == -ENOENT)
		r = flags & CONFIG_MUST_EXIST ? config_problem_add(problems, path, 0,
							"no such file: create it, or run without "
							"it to use the defaults")
					      : 0;
	if (r == 0)
		r = read_drop_ins(path, config, problems);
	if (r == 0)
		r = config_check_together(config, problems);
	return r < 0 || flags & CONFIG_WITHOUT_GROUPS ? r : config_check_group(config, problems);
}

int config_load(const char *path, unsigned flags, struct config *ret_config,
	struct config_problems *ret_problems)
{
	struct config config = { 0 };
	struct config_problems problems = { 0 };
	int r = load(path, flags, &config, &problems);

	if (r < 0) {
		config_done(&config);
		config_problems_done(&problems);
		return r;
	}
	*ret_config = config;
	*ret_problems = problems;
	return 0;
}

void config_done(struct config *config)
{
	for (size_t i = 0; i < config_knob_count; i++) {
		config_knob_clear(&config_knobs[i], config);
		config_origin_done(&config->origins[i]);
	}
	for (size_t kind = 0; kind < config_named_count; kind++)
		for (size_t i = 0; i < config_named_items(&config_nameds[kind], config); i++)
			config_named_done(&config_nameds[kind],
				config_named_item(&config_nameds[kind], config, i));
	*config = (struct config){ 0 };
}

bool config_is_set(const struct config *config, const char *section, const char *key)
{
	size_t knob = config_knob_find(section, key);

	assert(knob < config_knob_count);
	return config->origins[knob].file;
}

bool config_sink_is_set(const struct config_sink *sink, const char *key)
{
	const struct config_named *named = config_named_find("sink");
	size_t knob = config_named_knob_find(named, key);

	assert(knob < *named->knob_count);
	return sink->origins[knob].file;
}

int config_check(
	const char *path, unsigned flags, config_check_function check, struct output *output)
{
	struct config_problems problems;
	struct config config;
	struct fault fault = { 0 };
	uint64_t all;
	int r = config_load(path, flags, &config, &problems);

	if (r < 0)
		return r;
	if (problems.all == 0 && check(&config, &fault) < 0)
		r = config_problem_add(&problems, path, 0, "%s", fault.text);
	if (r < 0) {
		config_done(&config);
		config_problems_done(&problems);
		return r;
	}
	for (size_t i = 0; i < problems.count; i++)
		output_printf(output, "%s\n", problems.texts[i]);
	all = problems.all;
	if (all > problems.count)
		output_printf(output, "… and %" PRIu64 " more\n", all - problems.count);
	if (all == 0)
		output_printf(output, "%s: no problems\n", path);
	else
		output_printf(output, "%s: %" PRIu64 " %s\n", path, all,
			all == 1 ? "problem" : "problems");
	config_done(&config);
	config_problems_done(&problems);
	return all == 0 ? 0 : -EINVAL;
}
