/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_private.h"

#include <string.h>

static const char head[] =
	"# SPDX-License-Identifier: GPL-2.0-or-later\n"
	"#\n"
	"# Configuration of pilotlightd; see pilotlight.conf(5). Lines that begin with '#' show "
	"the\n"
	"# defaults. Put changes into drop-in files, which package updates leave alone:\n"
	"# " CONFIG_FILE ".d/*.conf. They are read after this file, in the\n"
	"# order of their names. Check them with `pilotlightd --check`, then apply them with\n"
	"# `systemctl reload pilotlightd`.\n";

static void print_list(const struct config_knob *knob, const void *owner, struct output *output)
{
	const struct config_list *list =
		(const struct config_list *)((const char *)owner + knob->offset);

	if (list->count == 0)
		output_printf(output, "#%s=\n", knob->key);
	for (size_t i = 0; i < list->count; i++)
		output_printf(output, "%s=%s\n", knob->key, list->items[i]);
}

static void print_value(
	const struct config_knob *knob, const struct config_origin *origin, struct output *output)
{
	output_printf(output, "%s%s=%s\n", origin->text ? "" : "#", knob->key,
		origin->text ? origin->text : knob->default_text);
}

static void print_knobs(const struct config_knob *knobs, size_t count, const void *owner,
	const struct config_origin *origins, struct output *output)
{
	for (size_t i = 0; i < count; i++) {
		if (i > 0)
			output_char(output, '\n');
		output_printf(output, "# %s\n", knobs[i].help);
		if (config_knob_is_list(&knobs[i]))
			print_list(&knobs[i], owner, output);
		else
			print_value(&knobs[i], &origins[i], output);
	}
}

static void print_example(const struct config_named *named, struct output *output)
{
	static const struct config_origin unset[CONFIG_NAMED_KNOBS_MAX];
	static const union {
		struct config_sink sink;
		struct config_metric metric;
	} none;

	output_printf(output, "\n# %s, with a name of your choice.\n#[%s example]\n",
		named->example, named->word);
	print_knobs(named->knobs, *named->knob_count, &none, unset, output);
}

static void print_named(
	const struct config_named *named, const struct config *config, struct output *output)
{
	size_t count = config_named_items(named, config);

	for (size_t i = 0; i < count; i++) {
		const void *item = config_named_item(named, config, i);

		output_printf(output, "\n[%s %s]\n", named->word, (const char *)item);
		print_knobs(named->knobs, *named->knob_count, item,
			config_named_origins(named, item), output);
	}
	if (count == 0)
		print_example(named, output);
}

void config_print(const struct config *config, struct output *output)
{
	const char *section = "";

	output_string(output, head);
	for (size_t i = 0; i < config_knob_count; i++) {
		const struct config_knob *knob = &config_knobs[i];

		if (strcmp(knob->section, section) != 0)
			output_printf(output, "\n[%s]\n", knob->section);
		else
			output_char(output, '\n');
		section = knob->section;
		output_printf(output, "# %s\n", knob->help);
		if (config_knob_is_list(knob))
			print_list(knob, config, output);
		else
			print_value(knob, &config->origins[i], output);
	}
	for (size_t i = 0; i < config_named_count; i++)
		print_named(&config_nameds[i], config, output);
}
