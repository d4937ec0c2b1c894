<?php
// Runs for so many seconds, mostly in some 20 functions and methods that call each other, every sixth through a function
// of C. The second argument says how many.
function leaf()
{
	$number = 0;
	while ($number < 2000) {
		$number += 1;
	}
	return $number;
}

class Shape
{
	public function deeper($depth)
	{
		if ($depth === 0) {
			return leaf();
		}
		if ($depth % 6 === 0) {
			return array_map(fn() => $this->deeper($depth - 1), [1]);
		}
		return $this->deeper($depth - 1);
	}
}

$stop = hrtime(true) + $argv[1] * 1e9;
while (hrtime(true) < $stop) {
	(new Shape)->deeper((int)($argv[2] ?? 16));
}
