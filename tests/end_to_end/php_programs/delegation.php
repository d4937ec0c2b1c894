<?php
// Runs in generators that delegate: to another one, four deep, and to an iterator.
function spin()
{
	$total = 0;
	for ($number = 0; $number < 30000; $number++) {
		$total += $number;
	}
	return $total;
}

function numbers()
{
	while (true) {
		yield spin();
	}
}

function delegate($depth)
{
	yield from $depth ? delegate($depth - 1) : numbers();
}

class Numbers implements Iterator
{
	#[ReturnTypeWillChange]
	public function current()
	{
		return spin();
	}

	#[ReturnTypeWillChange]
	public function key()
	{
		return 0;
	}

	public function next(): void
	{
	}

	public function rewind(): void
	{
	}

	public function valid(): bool
	{
		return true;
	}
}

function iterate()
{
	yield from new Numbers;
}

function main($numbers, $count)
{
	foreach ($numbers as $number) {
		if ($count-- <= 0) {
			break;
		}
	}
}

main(delegate(2), (int)$argv[1]);
main(iterate(), (int)$argv[1]);
