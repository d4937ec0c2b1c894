/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Untrusted files that claim the build-id of another file. */
#include "tests/symbolize/symbolizer_fixture.h"

/* An untrusted file with the build-id of another one. */
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

static void forged_build_id_does_not_affect_other_files(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary = make_binary(place, "/bin/works", 1);
	struct symbol_binary forgery = make_forgery(place, 1);
	struct symbol_identity owned = identity_of(&forgery), trusted = identity_of(&binary);
	struct symbolizer_outcome outcome;
	struct symbol_file *file;

	request_and_wait(symbolizer, &forgery);
	assert_int_equal(look_up(symbolizer, &forgery), 0);
	assert_int_equal(look_up(symbolizer, &binary), -ENODATA);
	assert_int_equal(symbolizer_outcome(symbolizer, &owned, &outcome), 0);
	assert_int_equal(outcome.failure, PILOTLIGHT_SYMBOL_OK);
	assert_int_equal(symbolizer_outcome(symbolizer, &trusted, &outcome), -ENOENT);
	assert_int_equal(symbol_cache_find(place->cache, &trusted, &file), -ENOENT);
	request_and_wait(symbolizer, &binary);
	assert_int_equal(look_up(symbolizer, &binary), 0);
	assert_int_equal(counters_of(symbolizer).requested, 2);
	assert_int_equal(counters_of(symbolizer).extracted, 2);
	assert_int_equal(symbol_cache_find(place->cache, &owned, &file), 0);
	symbol_file_free(file);
	symbolizer_free(symbolizer);
	(void)close(forgery.fd);
}

static void trusted_debug_file_serves_untrusted_binaries(void **state)
{
	struct place *place = *state;
	struct symbolizer *symbolizer = open_symbolizer(place, place->cache);
	struct symbol_binary binary = make_binary(place, "/bin/works", 1);
	struct symbol_binary other = make_forgery(place, 1);

	binary.debug_fd = place->fd;
	request_and_wait(symbolizer, &binary);
	assert_int_equal(rank_in_cache(place, &binary), PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE);
	request_and_wait(symbolizer, &other);
	assert_int_equal(counters_of(symbolizer).cached, 1);
	assert_int_equal(counters_of(symbolizer).extracted, 1);
	assert_int_equal(look_up(symbolizer, &other), 0);
	/* Symbols of the binary alone are not used for an untrusted file. */
	(void)close(other.fd);
	other = make_forgery(place, 2);
	binary = make_binary(place, "/bin/works", 2);
	request_and_wait(symbolizer, &binary);
	assert_int_equal(look_up(symbolizer, &other), -ENODATA);
	request_and_wait(symbolizer, &other);
	assert_int_equal(counters_of(symbolizer).extracted, 3);
	assert_int_equal(look_up(symbolizer, &other), 0);
	symbolizer_free(symbolizer);
	(void)close(other.fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		IN_PLACE(forged_build_id_does_not_affect_other_files),
		IN_PLACE(trusted_debug_file_serves_untrusted_binaries),
	};

	if (argc > 1 && strcmp(argv[1], "symbol-worker") == 0)
		play_worker();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
