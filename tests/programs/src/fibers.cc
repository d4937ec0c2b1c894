/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Coroutines of boost.context, which switches stacks in assembler. */
#include <boost/context/fiber.hpp>
#include <utility>

__attribute__((noinline)) static void spin(int turns)
{
	for (volatile int i = 0; i < turns; i = i + 1)
		;
}

int main()
{
	namespace context = boost::context;
	context::fiber fiber([](context::fiber &&caller) {
		for (;;) {
			spin(20000);
			caller = std::move(caller).resume();
		}
		return std::move(caller);
	});

	for (;;) {
		spin(5000);
		fiber = std::move(fiber).resume();
	}
}
