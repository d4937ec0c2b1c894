# SPDX-License-Identifier: GPL-2.0-or-later
"""For five seconds of CPU time, runs new functions in pairs, each once, for ten milliseconds. The sampler copies 4 KB of
the lines of each."""
import time
import types

exec("def model(inner=None):\n" + "\tnothing = 0\n" * 2000 + """
	if inner:
		inner()
	end = clock() + 0.005
	while clock() < end:
		pass
""")


def new_code(number):
	name = f"new_code_{number}"
	return types.FunctionType(model.__code__.replace(co_name=name, co_qualname=name), globals(), argdefs=(None,))


clock = time.process_time
end = clock() + 5
number = 0
while clock() < end:
	new_code(number)(new_code(number + 1))
	number += 2
