/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/command.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/time_text.h"
#include "tools/near_word.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPTIONS_MAX = 64, /* of a command; the test of all commands fails beyond it */
	LONG_BASE = 256,  /* getopt's value of a long option: this and its row */
	HELP_COLUMN = 24,
	HELP_WIDTH = 80,
};

static const struct option_row common_json = { 0, "json", NULL, "Write JSON, for programs.",
	OPTION_SET, .offset = offsetof(struct invocation, is_json) };
static const struct option_row common_help = { 'h', "help", NULL, "Show this text.", OPTION_END,
	.offset = 0 };

/* All rows of a command, those that all commands have last. */
struct rows {
	const struct option_row *items[OPTIONS_MAX];
	size_t count;
};

static void add_row(struct rows *rows, const struct option_row *row)
{
	if (rows->count == OPTIONS_MAX)
		abort();
	rows->items[rows->count++] = row;
}

static void collect_rows(const struct command *command, struct rows *ret_rows)
{
	ret_rows->count = 0;
	for (size_t t = 0; t < COMMAND_TABLES_MAX && command->options[t]; t++)
		for (const struct option_row *row = command->options[t]; row->kind != OPTION_END;
			row++)
			add_row(ret_rows, row);
	if (command->has_json)
		add_row(ret_rows, &common_json);
	add_row(ret_rows, &common_help);
}

/* --- help ------------------------------------------------------------------------------------- */

/* A space before the name of anything but pilotlight itself. */
static const char *space_before(const struct command *command)
{
	return *command->name ? " " : "";
}

static const char *last_word(const struct command *command)
{
	const char *space = strrchr(command->name, ' ');

	return space ? space + 1 : command->name;
}

/* Fills lines with the words of a paragraph, which may be broken at will; `column` is where we are.
 */
static void print_wrapped(FILE *file, const char *text, size_t size, int indent, int column)
{
	int width = column;

	for (size_t at = 0; at < size;) {
		size_t word = strcspn(text + at, " \n");

		if (width > indent && width + 1 + (int)word > HELP_WIDTH) {
			(void)fprintf(file, "\n%*s", indent, "");
			width = indent;
		}
		width += fprintf(file, "%s%.*s", width > indent ? " " : "", (int)word, text + at);
		at += word;
		at += strspn(text + at, " \n");
	}
	(void)fputc('\n', file);
}

static void print_paragraphs(FILE *file, const char *text)
{
	for (const char *end; *text; text = end + strspn(end, "\n")) {
		end = strstr(text, "\n\n");
		if (!end)
			end = text + strlen(text);
		(void)fputc('\n', file);
		print_wrapped(file, text, (size_t)(end - text), 0, 0);
	}
}

static void print_row(FILE *file, const struct option_row *row)
{
	char left[128], letter[8] = "    ";

	if (!row->help)
		return;
	if (row->letter)
		(void)snprintf(letter, sizeof(letter), "-%c%s", row->letter, row->name ? ", " : "");
	(void)snprintf(left, sizeof(left), "  %s%s%s%s%s", letter, row->name ? "--" : "",
		row->name ? row->name : "", row->argument ? " " : "",
		row->argument ? row->argument : "");
	if (strlen(left) >= HELP_COLUMN)
		(void)fprintf(file, "%s\n%*s", left, HELP_COLUMN, "");
	else
		(void)fprintf(file, "%-*s", HELP_COLUMN, left);
	print_wrapped(file, row->help, strlen(row->help), HELP_COLUMN, HELP_COLUMN);
}

static void print_help(const struct command *command, FILE *file)
{
	struct rows rows;

	(void)fprintf(file, "usage: pilotlight%s%s %s\n", space_before(command), command->name,
		command->synopsis);
	print_paragraphs(file, command->description);
	(void)fputc('\n', file);
	if (command->commands) {
		for (size_t i = 0; command->commands[i]; i++)
			if (command->commands[i]->summary)
				(void)fprintf(file, "  %-10s  %s\n",
					last_word(command->commands[i]),
					command->commands[i]->summary);
	}
	if (command->commands && command->run)
		(void)fputc('\n', file);
	if (command->run) {
		collect_rows(command, &rows);
		for (size_t i = 0; i < rows.count; i++)
			print_row(file, rows.items[i]);
	}
	if (command->notes)
		print_paragraphs(file, command->notes);
}

int command_misuse(const struct command *command, const char *format, ...)
{
	struct fault sentence;
	va_list arguments;

	va_start(arguments, format);
	(void)vsnprintf(sentence.text, sizeof(sentence.text), format, arguments);
	va_end(arguments);
	(void)fprintf(stderr, "pilotlight: %s; see `pilotlight%s%s --help`\n", sentence.text,
		space_before(command), command->name);
	return EXIT_USAGE;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Digits at the start of *text. Returns -EINVAL where there are none, -ERANGE beyond 64 bits. */
static int parse_digits(const char **text, uint64_t *ret_number)
{
	uint64_t number = 0;

	if (**text < '0' || **text > '9')
		return -EINVAL;
	for (; **text >= '0' && **text <= '9'; (*text)++)
		if (__builtin_mul_overflow(number, 10, &number) ||
			__builtin_add_overflow(number, (uint64_t)(**text - '0'), &number))
			return -ERANGE;
	*ret_number = number;
	return 0;
}

int command_parse_number(const char *text, uint64_t min, uint64_t max, uint64_t *ret_number)
{
	uint64_t number;
	int r = parse_digits(&text, &number);

	if (r < 0 || *text)
		return r < 0 ? r : -EINVAL;
	if (number < min || number > max)
		return -ERANGE;
	*ret_number = number;
	return 0;
}

int command_parse_bytes(const char *text, uint64_t *ret_bytes)
{
	static const char units[] = "KkMmGgTt";
	unsigned shift = 0;
	uint64_t bytes;
	int r = parse_digits(&text, &bytes);

	if (r < 0)
		return r;
	if (*text) {
		const char *unit = strchr(units, *text);

		if (!unit || text[1])
			return -EINVAL;
		shift = 10 * (unsigned)((unit - units) / 2 + 1);
	}
	if (bytes << shift >> shift != bytes)
		return -ERANGE;
	*ret_bytes = bytes << shift;
	return 0;
}

/* The option as the user types it. */
static const char *shown_option(const struct option_row *row, char text[64])
{
	if (row->letter)
		(void)snprintf(text, 64, "-%c", row->letter);
	else
		(void)snprintf(text, 64, "--%s", row->name);
	return text;
}

static bool is_choice(const char *words, const char *value)
{
	size_t size = strlen(value);

	for (; size > 0 && *words; words += strcspn(words, "|"), words += *words == '|')
		if (strcspn(words, "|") == size && strncmp(words, value, size) == 0)
			return true;
	return false;
}

static int refuse_choice(
	const struct command *command, const struct option_row *row, const char *value)
{
	struct near_word near = { .word = value };
	char option[64], hint[NEAR_WORD_BYTES];

	for (const char *word = row->argument; *word;) {
		size_t size = strcspn(word, "|");

		near_word_try(&near, word, size);
		word += size + (word[size] == '|');
	}
	return command_misuse(command, "%s takes %s, not '%s'%s", shown_option(row, option),
		row->argument, value, near_word_hint(&near, "", hint));
}

static int store_number(const struct command *command, const struct option_row *row,
	const char *value, uint32_t *ret)
{
	uint64_t number;
	char option[64];

	if (command_parse_number(value, row->min, row->max, &number) < 0)
		return command_misuse(command,
			"%s takes a number from %" PRIu64 " to %" PRIu64 ", not '%s'",
			shown_option(row, option), row->min, row->max, value);
	*ret = (uint32_t)number;
	return 0;
}

static int store_bytes(const struct command *command, const struct option_row *row,
	const char *value, uint64_t *ret)
{
	uint64_t bytes;
	char option[64];

	if (command_parse_bytes(value, &bytes) < 0)
		return command_misuse(command,
			"%s takes a number of bytes, or one with K, M, G or T, not '%s'",
			shown_option(row, option), value);
	if (bytes < row->min)
		return command_misuse(command, "%s takes %" PRIu64 "M or more, not '%s'",
			shown_option(row, option), row->min >> 20, value);
	*ret = bytes;
	return 0;
}

static int store_duration(const struct command *command, const struct option_row *row,
	const char *value, uint64_t *ret)
{
	char option[64], low[TIME_TEXT_BYTES], high[TIME_TEXT_BYTES];
	struct fault fault = { 0 };
	uint64_t ns;

	(void)shown_option(row, option);
	if (time_text_parse_duration(value, &ns, &fault) < 0)
		return command_misuse(command, "%s: %s", option, fault.text);
	if (ns < row->min || ns > row->max)
		return command_misuse(command, "%s takes a duration from %s to %s, not '%s'",
			option, time_text_format_duration(row->min, low),
			time_text_format_duration(row->max, high), value);
	*ret = ns;
	return 0;
}

static int store(struct invocation *invocation, const struct option_row *row, const char *value)
{
	const struct command *command = invocation->command;
	void *place = (char *)invocation + row->offset;
	char option[64];

	switch (row->kind) {
	case OPTION_SET:
	case OPTION_CLEAR:
		*(bool *)place = row->kind == OPTION_SET;
		return 0;
	case OPTION_STRING:
		if (!*value)
			return command_misuse(command, "%s takes %s, not ''",
				shown_option(row, option), row->argument);
		*(const char **)place = value;
		return 0;
	case OPTION_CHOICE:
		if (!is_choice(row->argument, value))
			return refuse_choice(command, row, value);
		*(const char **)place = value;
		return 0;
	case OPTION_NUMBER:
		return store_number(command, row, value, place);
	case OPTION_BYTES:
		return store_bytes(command, row, value, place);
	case OPTION_DURATION:
		return store_duration(command, row, value, place);
	default:
		return row->take(invocation, row, value);
	}
}

/* --- parsing ---------------------------------------------------------------------------------- */

/* The tables for getopt_long(). */
struct grammar {
	struct rows rows;
	struct option longs[OPTIONS_MAX + 1];
	char letters[2 * OPTIONS_MAX + 3];
};

static void make_grammar(const struct command *command, struct grammar *ret)
{
	size_t longs = 0, size = 0;

	collect_rows(command, &ret->rows);
	if (command->has_own_command)
		ret->letters[size++] = '+';
	/* A missing value is reported as ':', and nothing by getopt itself. */
	ret->letters[size++] = ':';
	for (size_t i = 0; i < ret->rows.count; i++) {
		const struct option_row *row = ret->rows.items[i];

		if (row->letter) {
			ret->letters[size++] = row->letter;
			if (row->argument)
				ret->letters[size++] = ':';
		}
		if (row->name)
			ret->longs[longs++] = (struct option){ row->name,
				row->argument ? required_argument : no_argument, NULL,
				LONG_BASE + (int)i };
	}
	ret->letters[size] = '\0';
	ret->longs[longs] = (struct option){ 0 };
}

static const struct option_row *find_row(const struct grammar *grammar, int value)
{
	if (value >= LONG_BASE)
		return grammar->rows.items[value - LONG_BASE];
	for (size_t i = 0; i < grammar->rows.count; i++)
		if (grammar->rows.items[i]->letter == value)
			return grammar->rows.items[i];
	return NULL;
}

static int refuse_option(
	const struct command *command, const struct grammar *grammar, const char *typed)
{
	size_t size = strcspn(typed, "=");
	struct near_word near = { 0 };
	char word[64], hint[NEAR_WORD_BYTES];

	(void)snprintf(word, sizeof(word), "%.*s", (int)size, typed);
	near.word = word + strspn(word, "-");
	for (const struct option *option = grammar->longs; option->name; option++)
		near_word_try(&near, option->name, strlen(option->name));
	return command_misuse(
		command, "there is no option '%s'%s", typed, near_word_hint(&near, "--", hint));
}

/* Reports an unknown option, or a value that is missing or not allowed. */
static int refuse(
	const struct command *command, const struct grammar *grammar, int value, char **argv)
{
	const struct option_row *row = optopt ? find_row(grammar, optopt) : NULL;
	char option[64];

	if (row && value == ':')
		return command_misuse(
			command, "%s needs %s", shown_option(row, option), row->argument);
	if (row)
		return command_misuse(command, "--%s takes no value", row->name);
	if (optopt)
		return command_misuse(command, "there is no option '-%c'", optopt);
	return refuse_option(command, grammar, argv[optind - 1]);
}

static int check_arguments(const struct invocation *invocation)
{
	const struct command *command = invocation->command;

	if (invocation->argument_count < command->arguments_min)
		return command_misuse(command, "%s needs %s", command->name, command->argument);
	if (command->arguments_max == 0 && invocation->argument_count > 0)
		return command_misuse(command, "%s takes options alone, not '%s'", command->name,
			invocation->arguments[0]);
	if (invocation->argument_count > command->arguments_max)
		return command_misuse(command, "%s takes no further argument, such as '%s'",
			command->name, invocation->arguments[command->arguments_max]);
	return 0;
}

/* Returns 0, EXIT_USAGE, or -errno. With `ret_has_helped`, help was printed and nothing is left to
 * do. */
static int take_options(struct invocation *invocation, int argc, char **argv, bool *ret_has_helped)
{
	struct grammar grammar;
	int value, r = 0;

	*ret_has_helped = false;
	make_grammar(invocation->command, &grammar);
	/* 0: getopt begins anew. */
	optind = 0;
	while (r == 0 &&
		(value = getopt_long(argc, argv, grammar.letters, grammar.longs, NULL)) >= 0) {
		const struct option_row *row = find_row(&grammar, value);

		if (value == '?' || value == ':')
			return refuse(invocation->command, &grammar, value, argv);
		if (row == &common_help) {
			print_help(invocation->command, stdout);
			*ret_has_helped = true;
			return 0;
		}
		r = store(invocation, row, optarg);
	}
	if (r != 0)
		return r;
	invocation->argument_count = argc - optind;
	invocation->arguments = argv + optind;
	return check_arguments(invocation);
}

int command_parse(
	const struct command *command, int argc, char **argv, void *invocation, int *ret_status)
{
	struct invocation *base = invocation;
	bool has_helped;
	int r;

	memset(invocation, 0, command->bytes);
	base->command = command;
	output_init_fd(&base->output, STDOUT_FILENO);
	json_init(&base->json, &base->output);
	if (command->prepare)
		command->prepare(invocation);
	r = take_options(base, argc, argv, &has_helped);
	if (r < 0 || (r == 0 && !has_helped))
		return r;
	*ret_status = r;
	return 1;
}

/* --- running ---------------------------------------------------------------------------------- */

static const struct command *find_command(const struct command *group, const char *name)
{
	for (size_t i = 0; name && group->commands[i]; i++)
		if (strcmp(name, last_word(group->commands[i])) == 0)
			return group->commands[i];
	return NULL;
}

static int refuse_command(const struct command *group, const char *name)
{
	struct near_word near = { .word = name };
	char hint[NEAR_WORD_BYTES];

	for (size_t i = 0; group->commands[i]; i++)
		if (group->commands[i]->summary)
			near_word_try(&near, last_word(group->commands[i]),
				strlen(last_word(group->commands[i])));
	return command_misuse(group, "there is no command '%s%s%s'%s", group->name,
		space_before(group), name, near_word_hint(&near, "", hint));
}

/* `pilotlight help symbols add`; `names` ends with NULL. */
static int help(const struct command *group, char **names)
{
	const struct command *command = group;

	for (; *names; names++) {
		const struct command *next =
			command->commands ? find_command(command, *names) : NULL;

		if (!next && command->commands)
			return refuse_command(command, *names);
		if (!next)
			return command_misuse(
				group, "%s has no commands, such as '%s'", command->name, *names);
		command = next;
	}
	print_help(command, stdout);
	return EXIT_SUCCESS;
}

static int run_group(const struct command *group, int argc, char **argv)
{
	if (argc < 2) {
		print_help(group, stderr);
		return EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help(group, stdout);
		return EXIT_SUCCESS;
	}
	if (find_command(group, argv[1]))
		return command_main(find_command(group, argv[1]), argc - 1, argv + 1);
	if (strcmp(argv[1], "help") == 0)
		return help(group, argv + 2);
	return refuse_command(group, argv[1]);
}

static int report_failure(const struct command *command, const struct fault *fault, int error)
{
	if (fault->text[0])
		log_error("%s", fault->text);
	else if (error != -EPIPE)
		log_error("%s failed: %s", command->name, strerror(-error));
	return EXIT_FAILURE;
}

int command_main(const struct command *command, int argc, char **argv)
{
	_cleanup_free_ struct invocation *invocation = NULL;
	int r, status;

	if (command->commands && (!command->run || find_command(command, argv[1])))
		return run_group(command, argc, argv);
	invocation = malloc(command->bytes);
	if (!invocation)
		return report_failure(command, &(struct fault){ 0 }, -ENOMEM);
	r = command_parse(command, argc, argv, invocation, &status);
	if (r == 0)
		status = r = command->run(invocation);
	/* Before done(): a signal that record holds until then would end us first. */
	if (r < 0)
		status = report_failure(command, &invocation->fault, r);
	if (command->done)
		command->done(invocation);
	return status;
}

int command_flush(struct invocation *invocation)
{
	int r = output_finish(&invocation->output);

	if (r < 0 && r != -EPIPE)
		return fault_set(
			&invocation->fault, r, "cannot write to standard output: %s", strerror(-r));
	return r;
}
