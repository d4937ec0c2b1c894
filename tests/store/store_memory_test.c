/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The writer's memory at its worst: every table at its bound, windows of the largest, folds (I4).
 */
#include "store/store.h"
#include "tests/store/store_fixture.h"

#if defined(__SANITIZE_ADDRESS__)
#define HAS_HOOKS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_HOOKS 1
#endif
#endif

/* And of the profile that is appended a sixth, for where its ids are in the dictionary. */
enum { WORST_BYTES = 8 << 20, PROFILE_SHARE = 6 };

#ifdef HAS_HOOKS
/* Of <sanitizer/allocator_interface.h>, which not every gcc brings along. */
int __sanitizer_install_malloc_and_free_hooks(
	void (*see_malloc)(const volatile void *place, size_t size),
	void (*see_free)(const volatile void *place));
size_t __sanitizer_get_allocated_size(const volatile void *place);

/* Of all there is, shared libraries included. What the caller's profile takes is no affair of it.
 */
static struct {
	bool counts;
	size_t bytes, worst;
} heap;

static void see_malloc(const volatile void *place, size_t size)
{
	(void)place;
	if (!heap.counts)
		return;
	heap.bytes += size;
	if (heap.bytes > heap.worst)
		heap.worst = heap.bytes;
}

static void see_free(const volatile void *place)
{
	if (heap.counts && place)
		heap.bytes -= __sanitizer_get_allocated_size(place);
}

static uint64_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005U + 1442695040888963407U;
	return *state >> 20;
}

/* Everything in it is new, in such proportions that all tables come to their bounds together. */
static struct profile *make_window(uint64_t start_ns, uint32_t samples, uint64_t *random)
{
	struct profile *profile = fixture_profile(start_ns, NULL, 0);

	profile->limit_bytes = 64 << 20;
	for (uint32_t i = 0; i < samples; i++) {
		char comm[16], name[64];
		struct profile_frame frame = { .line = i };
		struct fixture_sample sample = {
			.pid = (uint32_t)draw(random) % 4000000 + 1,
			.address = draw(random),
			.count = 1,
			.comm = comm,
			.in_kernel = true,
		};
		struct profile_sample jit = { .count = 1 };
		uint32_t location;

		(void)snprintf(comm, sizeof(comm), "%x", (uint32_t)draw(random) % 500);
		(void)snprintf(
			name, sizeof(name), "function_%llx", (unsigned long long)draw(random));
		fixture_add(profile, &sample);
		assert_int_equal(fixture_thread(profile, &sample, &jit.thread), 0);
		if (i % 6 == 0)
			assert_int_equal(profile_add_string(profile, name, &frame.function), 0);
		if (profile->binaries.count == 3)
			(void)fixture_binary(profile, BINARY_JIT, "[jit]", 0);
		assert_int_equal(
			i % 6 == 0 ? profile_add_jit_location(
					     profile, 3, sample.address, &frame, &location)
				   : profile_add_location(profile, 1, sample.address, &location),
			0);
		assert_int_equal(profile_add_node(profile, PROFILE_ROOT, location, &jit.node), 0);
		assert_int_equal(profile_add_sample(profile, &jit), 0);
	}
	return profile;
}

static void maintain(struct store *store, uint64_t now_ns)
{
	struct fault fault = { 0 };
	int r;

	do {
		r = store_maintain(store, now_ns, 0, &fault);
		if (r < 0)
			fail_msg("%s", fault.text);
	} while (r == 1);
}
#endif

static void the_writer_keeps_to_its_memory(void **state)
{
#ifdef HAS_HOOKS
	static const uint32_t sizes[] = { 500, 3000, 40000 };
	struct fault fault = { 0 };
	struct store *store;
	uint64_t random = 1;
	size_t largest;
	char folder[64];

	(void)state;
	assert_int_not_equal(__sanitizer_install_malloc_and_free_hooks(see_malloc, see_free), 0);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		fixture_folder(folder);
		heap.bytes = heap.worst = largest = 0;
		heap.counts = true;
		store = fixture_open(folder);
		for (uint32_t n = 0; n < 120000 / sizes[i]; n++) {
			struct profile *profile;

			heap.counts = false;
			profile = make_window(FIXTURE_DAY_NS + SECONDS(10) * n, sizes[i], &random);
			if (profile_bytes(profile) > largest)
				largest = profile_bytes(profile);
			heap.counts = true;
			assert_int_equal(fixture_append(store, profile, false, &fault), 0);
			heap.counts = false;
			profile_free(profile);
			heap.counts = true;
		}
		print_message("windows of %u: %zu KiB at worst", sizes[i], heap.worst >> 10);
		/* Of the day that is appended to, and then of another. */
		maintain(store, FIXTURE_DAY_NS + 4 * DAY_NS);
		assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS + DAY_NS, 1, 1), 0);
		assert_int_equal(fixture_append_one(store, FIXTURE_DAY_NS, 1, 1), 0);
		maintain(store, FIXTURE_DAY_NS + 4 * DAY_NS);
		store_close(store);
		heap.counts = false;
		print_message(", %zu KiB with maintenance, for profiles of %zu KiB\n",
			heap.worst >> 10, largest >> 10);
		fixture_remove(folder);
		assert_true(heap.worst <= WORST_BYTES + largest / PROFILE_SHARE);
	}
#else
	(void)state;
	print_message("memory is counted by the address sanitizer only\n");
	skip();
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_writer_keeps_to_its_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
