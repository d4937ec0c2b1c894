/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The writer's memory at its worst: every table at its bound, windows of the largest, folds (I4).
 * Runs early: it takes minutes beside others.
 */
#include "base/array.h"
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
	profile_keep_times(profile, DAY_NS);
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
		struct profile_sample jit = {
			.count = 1,
			.first_ns = DAY_NS + draw(random) % SECONDS(10),
		};
		uint32_t location;

		(void)snprintf(comm, sizeof(comm), "%x", (uint32_t)draw(random) % 500);
		(void)snprintf(
			name, sizeof(name), "function_%llx", (unsigned long long)draw(random));
		fixture_add(profile, &sample);
		jit.last_ns = jit.first_ns;
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

/* All of one thread and one stack. */
static struct profile *make_spin_window(uint64_t start_ns, uint32_t samples, uint64_t *random)
{
	const struct fixture_sample thread = { .pid = 1, .comm = "spin" };
	struct profile *profile = fixture_profile(start_ns, NULL, 0);
	struct profile_sample sample = { .count = 1 };
	uint32_t location;

	profile_keep_times(profile, DAY_NS);
	assert_int_equal(fixture_thread(profile, &thread, &sample.thread), 0);
	assert_int_equal(profile_add_location(profile, 1, 1, &location), 0);
	assert_int_equal(profile_add_node(profile, PROFILE_ROOT, location, &sample.node), 0);
	for (uint32_t i = 0; i < samples; i++) {
		sample.first_ns = sample.last_ns = DAY_NS + draw(random) % SECONDS(10);
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	return profile;
}

/*
 * Nearly as many rows as one may have, of little that is new. Unpacked, two of them just fit into
 * what a merge may take; they have no row in common.
 */
static struct profile *make_dense_window(uint64_t start_ns, uint32_t number)
{
	struct profile *profile = fixture_profile(start_ns, NULL, 0);

	profile->limit_bytes = 64 << 20;
	for (uint32_t i = 0; i < 32; i++) {
		struct fixture_sample of = { .pid = 1 + 32 * number + i, .comm = "dense" };
		struct profile_sample sample = { .count = (uint64_t)1 << 44 };

		assert_int_equal(fixture_thread(profile, &of, &sample.thread), 0);
		for (uint32_t n = 0; n < 850; n++) {
			uint32_t location;

			assert_int_equal(profile_add_location(profile, 1, n, &location), 0);
			assert_int_equal(
				profile_add_node(profile, PROFILE_ROOT, location, &sample.node), 0);
			assert_int_equal(profile_add_sample(profile, &sample), 0);
		}
	}
	return profile;
}

static void append(struct store *store, struct profile *profile, size_t *largest)
{
	struct fault fault = { 0 };

	if (profile_bytes(profile) > *largest)
		*largest = profile_bytes(profile);
	heap.counts = true;
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	heap.counts = false;
	profile_free(profile);
}

/* There is no profile then. Returns what it came to. */
static size_t maintain_counted(struct store *store, uint64_t now_ns)
{
	size_t before = heap.worst, worst;

	heap.worst = heap.bytes;
	heap.counts = true;
	maintain(store, now_ns);
	heap.counts = false;
	worst = heap.worst;
	heap.worst = before;
	return worst;
}

static const struct filling {
	struct profile *(*make)(uint64_t start_ns, uint32_t samples, uint64_t *random);
	uint32_t samples, windows;
} fillings[] = {
	{ make_window, 500, 240 },
	{ make_window, 3000, 40 },
	{ make_window, 40000, 3 },
	{ make_spin_window, 70000, 16 },
};

/* Windows of so many samples, in a time in which what is old is made coarser all along. */
static void fill(const struct filling *filling, uint64_t *random)
{
	const uint32_t samples = filling->samples;
	size_t largest = 0, maintained = 0, worst;
	struct store *store;
	char folder[64];

	fixture_folder(folder);
	heap.bytes = heap.worst = 0;
	heap.counts = true;
	store = fixture_open(folder);
	heap.counts = false;
	for (uint32_t n = 0; n < filling->windows; n++) {
		uint64_t start_ns = FIXTURE_DAY_NS + SECONDS(10) * n;

		append(store, filling->make(start_ns, samples, random), &largest);
		for (uint32_t i = 0; i < 4 && n % 4 == 0; i++)
			append(store, make_dense_window(start_ns, i), &largest);
		/* Later by what makes minutes of windows, and also by what makes tens of these. */
		worst = maintain_counted(store, start_ns + SECONDS(3600) * (n % 8 == 7 ? 50 : 3));
		if (worst > maintained)
			maintained = worst;
	}
	/* And of another day than the one that is appended to. */
	append(store, make_window(FIXTURE_DAY_NS + DAY_NS, 1, random), &largest);
	worst = maintain_counted(store, FIXTURE_DAY_NS + 4 * DAY_NS);
	if (worst > maintained)
		maintained = worst;
	heap.counts = true;
	store_close(store);
	heap.counts = false;
	print_message("windows of %u: %zu KiB at worst for profiles of %zu KiB, "
		      "%zu KiB for maintenance\n",
		samples, heap.worst >> 10, largest >> 10, maintained >> 10);
	fixture_remove(folder);
	assert_true(heap.worst <= WORST_BYTES + largest / PROFILE_SHARE);
	assert_true(maintained <= WORST_BYTES);
}
#endif

static void the_writer_keeps_to_its_memory(void **state)
{
#ifdef HAS_HOOKS
	uint64_t random = 1;

	assert_int_not_equal(__sanitizer_install_malloc_and_free_hooks(see_malloc, see_free), 0);
	for (size_t i = 0; i < ARRAY_SIZE(fillings); i++)
		fill(&fillings[i], &random);
#else
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
