/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of owners who are not trusted, with the build-ids of others. */
#include "tests/symbolize/symbolizer_fixture.h"

/* A file that is not trusted, with the build-id of others. */
static struct symbol_binary make_forgery(const struct place *place, uint8_t id)
{
	struct symbol_binary binary = make_binary(place, "/bin/forgery", id);
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/forgery", place->root);
	binary.fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(binary.fd >= 0);
	assert_int_equal(fchmod(binary.fd, 0666), 0);
	return binary;
}

static struct symbol_identity identity_of(const struct symbol_binary *binary)
{
	struct symbol_identity identity;

	assert_int_equal(symbol_identity_of_binary(binary->fd, &binary->build_id, &identity), 0);
	return identity;
}

static void a_forgery_says_nothing_of_others(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary = make_binary(place, "/bin/works", 1);
	struct symbol_binary forgery = make_forgery(place, 1);
	struct symbol_identity owned = identity_of(&forgery), trusted = identity_of(&binary);
	struct symbolizer_outcome outcome;
	struct symbol_file *file;

	want_and_wait(symbolizer, &forgery);
	assert_int_equal(look_up(symbolizer, &forgery), 0);
	assert_int_equal(look_up(symbolizer, &binary), -ENODATA);
	assert_int_equal(symbolizer_outcome(symbolizer, &owned, &outcome), 0);
	assert_int_equal(outcome.failure, PILOTLIGHT_SYMBOL_OK);
	assert_int_equal(symbolizer_outcome(symbolizer, &trusted, &outcome), -ENOENT);
	assert_int_equal(symbol_cache_find(place->cache, &trusted, &file), -ENOENT);
	want_and_wait(symbolizer, &binary);
	assert_int_equal(look_up(symbolizer, &binary), 0);
	assert_int_equal(counters_of(symbolizer).requested, 2);
	assert_int_equal(counters_of(symbolizer).extracted, 2);
	assert_int_equal(symbol_cache_find(place->cache, &owned, &file), 0);
	symbol_file_free(file);
	symbolizer_free(symbolizer);
	(void)close(forgery.fd);
}

static void a_trusted_debug_file_names_what_is_not_trusted(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary = make_binary(place, "/bin/works", 1);
	struct symbol_binary other = make_forgery(place, 1);

	binary.debug_fd = place->fd;
	want_and_wait(symbolizer, &binary);
	assert_int_equal(rank_in_cache(place, &binary), PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE);
	want_and_wait(symbolizer, &other);
	assert_int_equal(counters_of(symbolizer).cached, 1);
	assert_int_equal(counters_of(symbolizer).extracted, 1);
	assert_int_equal(look_up(symbolizer, &other), 0);
	/* What was made of the binary alone is nothing that others vouch for. */
	(void)close(other.fd);
	other = make_forgery(place, 2);
	binary = make_binary(place, "/bin/works", 2);
	want_and_wait(symbolizer, &binary);
	assert_int_equal(look_up(symbolizer, &other), -ENODATA);
	want_and_wait(symbolizer, &other);
	assert_int_equal(counters_of(symbolizer).extracted, 3);
	assert_int_equal(look_up(symbolizer, &other), 0);
	symbolizer_free(symbolizer);
	(void)close(other.fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(a_forgery_says_nothing_of_others),
		IN_PLACE(a_trusted_debug_file_names_what_is_not_trusted),
	};

	if (argc > 1 && strcmp(argv[1], "symbol-worker") == 0)
		play_worker();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
