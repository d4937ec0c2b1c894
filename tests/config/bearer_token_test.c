/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/bearer_token.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TOKEN "0123456789abcdef-._~+/=="

static char folder[64], path[80];
static char token[BEARER_TOKEN_BYTES];
static struct fault fault;

static int make_folder(void **state)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/bearer_token_test.XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	(void)snprintf(path, sizeof(path), "%s/token", folder);
	fault = (struct fault){ 0 };
	(void)strcpy(token, "untouched");
	return unsetenv("CREDENTIALS_DIRECTORY");
}

static int remove_folder(void **state)
{
	(void)unlink(path);
	return rmdir(folder);
}

static void write_file(const char *bytes, size_t size, mode_t mode)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void expect_refusal(int error, const char *words)
{
	fault = (struct fault){ 0 };
	assert_int_equal(bearer_token_read(path, token, &fault), error);
	if (!strstr(fault.text, words) || !strstr(fault.text, path))
		fail_msg("%s", fault.text);
	assert_string_equal(token, "untouched");
}

static void a_token_is_one_line(void **state)
{
	static const char *const texts[] = { TOKEN, TOKEN "\n" };

	for (size_t i = 0; i < 2; i++) {
		write_file(texts[i], strlen(texts[i]), i ? 0640 : 0400);
		(void)memset(token, 'x', sizeof(token));
		assert_int_equal(bearer_token_read(path, token, &fault), 0);
		assert_string_equal(token, TOKEN);
	}
}

static void a_credential_is_found_by_its_name(void **state)
{
	write_file(TOKEN "\n", strlen(TOKEN) + 1, 0400);
	assert_int_equal(bearer_token_read("token", token, &fault), -ENOENT);
	assert_non_null(strstr(fault.text, "LoadCredential=token:PATH"));
	assert_int_equal(setenv("CREDENTIALS_DIRECTORY", folder, 1), 0);
	assert_int_equal(bearer_token_read("token", token, &fault), 0);
	assert_string_equal(token, TOKEN);
}

static void a_file_that_others_may_read_is_refused(void **state)
{
	static const mode_t modes[] = { 0604, 0602, 0601, 0644, 0660, 0666 };

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		write_file(TOKEN, strlen(TOKEN), modes[i]);
		expect_refusal(-EPERM, "chmod o=,g-w");
	}
}

static void what_is_no_token_is_refused(void **state)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "", "fewer than 16" },
		{ "\n", "fewer than 16" },
		{ "0123456789abcde\n", "fewer than 16" },
		{ "0123456789abcdef\n\n", "one line" },
		{ "0123456789abcdef\r\n", "one line" },
		{ "0123456789 abcdef", "one line" },
		{ "0123456789=abcdef", "one line" },
		{ "================", "one line" },
		{ "0123456789abcd\xc3\xa9", "one line" },
	};
	char text[BEARER_TOKEN_BYTES + 1];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		write_file(cases[i].text, strlen(cases[i].text), 0600);
		expect_refusal(-EINVAL, cases[i].words);
	}
	write_file("0123456789abcdef\0g", 18, 0600);
	expect_refusal(-EINVAL, "openssl rand");
	memset(text, 'a', sizeof(text));
	write_file(text, BEARER_TOKEN_BYTES, 0600);
	expect_refusal(-EINVAL, "more than 512");
	write_file(text, BEARER_TOKEN_BYTES + 1, 0600);
	expect_refusal(-EINVAL, "more than 512");
	text[BEARER_TOKEN_BYTES - 1] = '\n';
	write_file(text, BEARER_TOKEN_BYTES, 0600);
	assert_int_equal(bearer_token_read(path, token, &fault), 0);
	assert_int_equal(strlen(token), BEARER_TOKEN_BYTES - 1);
}

static void what_is_no_file_is_refused(void **state)
{
	char name[5000];

	expect_refusal(-ENOENT, "cannot open");
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_refusal(-EINVAL, "not a regular file");
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink("/nowhere/at/all", path), 0);
	expect_refusal(-ENOENT, "cannot open");
	memset(name, 'a', sizeof(name));
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(bearer_token_read(name, token, NULL), -ENAMETOOLONG);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_token_is_one_line),
		TEST(a_credential_is_found_by_its_name),
		TEST(a_file_that_others_may_read_is_refused),
		TEST(what_is_no_token_is_refused),
		TEST(what_is_no_file_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
