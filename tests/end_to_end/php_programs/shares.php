<?php
// Splits its CPU time 6 : 3 : 1 between three functions, whose callees are the same. One of them is called through a
// function of C, one in a fiber, which has a stack of its own, or before PHP 8.1 in a generator. Its chains of calls are
// known.
function spin()
{
	$total = 0;
	for ($number = 0; $number < 300; $number++) {
		$total += $number;
	}
	return $total;
}

function burn($count)
{
	while ($count-- > 0) {
		spin();
	}
}

function heavy($unit)
{
	burn(6 * $unit);
}

function light($unit)
{
	array_map(function ($number) use ($unit) {
		burn(3 * $unit);
	}, [1]);
}

class Shape
{
	public static function steps($unit)
	{
		yield burn($unit);
	}

	public function tiny($unit)
	{
		if (!class_exists('Fiber')) {
			return self::steps($unit)->current();
		}
		(new Fiber(function () use ($unit) {
			burn($unit);
		}))->start();
	}
}

function main($unit)
{
	heavy($unit);
	light($unit);
	(new Shape)->tiny($unit);
}

// In turns, so that samples that are lost at the start do not change the shares.
for ($turns = 0; $turns < 20; $turns++) {
	main((int)$argv[1]);
}
