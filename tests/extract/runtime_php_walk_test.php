<?php
// A program whose frames are known. It tells the frames that it sees itself, innermost first, as "frame LINE NAME FILE"
// each, and then runs until it is killed. Blanks in a name are tildes.
namespace Röhre;

function name_of_script(string $file): string
{
	return '{main:' . strtr(basename($file), ' ', '~') . '}';
}

function name_of(array $entry, string $file): string
{
	if (in_array($entry['function'], ['include', 'eval'])) {
		return name_of_script($file);
	}
	// Behind a zero is the place of an anonymous class.
	$name = strtok($entry['function'], "\0");
	return isset($entry['class']) ? strtok($entry['class'], "\0") . "::$name" : $name;
}

// An entry says where its function was called, which is a place in the next one.
function report(): void
{
	$lines = '';
	$place = '0 -';
	foreach (debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS) as $entry) {
		[$line, $file] = explode(' ', $place, 2);
		$lines .= "frame $line " . name_of($entry, $file) . " $file\n";
		$place = isset($entry['file']) ? "{$entry['line']} {$entry['file']}" : '0 -';
	}
	[$line, $file] = explode(' ', $place, 2);
	// In one write: the reader of its beginning stops this process.
	echo $lines . "frame $line " . name_of_script($file) . " $file\nend\n";
	while (true) {
	}
}

class Shape
{
	public function __call(string $name, array $arguments)
	{
		return $arguments[0]();
	}

	public static function of_class(callable $next)
	{
		// A function of C between two of PHP.
		return array_map($next, [1]);
	}

	public function größe(int $depth, callable $next)
	{
		return $depth ? $this->größe($depth - 1, $next) : $next();
	}
}

class Round extends Shape implements \IteratorAggregate
{
	public $next;

	public function getIterator(): \Generator
	{
		yield 1;
		($this->next)();
	}

	public function __get(string $name)
	{
		return ($this->next)();
	}

	public function __toString(): string
	{
		($this->next)();
		return '';
	}
}

function in_generator(callable $next): void
{
	$round = new Round;
	$round->next = $next;
	foreach ($round as $number) {
	}
}

function delegating(int $depth, iterable $inner): \Generator
{
	if ($depth) {
		yield from delegating($depth - 1, $inner);
	} else {
		yield from $inner;
	}
}

function in_delegation(callable $next): void
{
	$inner = (function () use ($next) {
		yield $next();
	})();
	foreach (delegating(40, $inner) as $number) {
	}
}

// Two that delegate to the same one.
function in_common_generator(callable $next): void
{
	$inner = (function () use ($next) {
		yield 1;
		yield 2;
		$next();
	})();
	$first = delegating(0, $inner);
	$second = delegating(1, $inner);
	$first->current();
	$second->current();
	$first->next();
	$second->next();
}

class Steps implements \Iterator
{
	public $next;

	#[\ReturnTypeWillChange]
	public function current()
	{
		return ($this->next)();
	}

	#[\ReturnTypeWillChange]
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

// A generator that awaits no generator: it has no call of the loop.
function in_iterator(callable $next): void
{
	$steps = new Steps;
	$steps->next = $next;
	foreach (delegating(1, $steps) as $number) {
	}
}

function in_magic(callable $next): void
{
	$round = new Round;
	$round->next = fn() => (new Shape)->magic($next);
	$round->absent;
}

function in_string(callable $next): void
{
	$round = new Round;
	$round->next = $next;
	echo "$round";
}

function in_catch(callable $next): void
{
	try {
		throw new \Exception;
	} catch (\Exception $exception) {
		$next();
	} finally {
		$next = null;
	}
}

function long_name_of_more_characters_than_are_copied_of_any_name_which_is_why_only_its_beginning_is_shown_with_a_mark_behind_it($next)
{
	$next();
}

function in_eval(callable $next): void
{
	eval('$next();');
}

function in_file(callable $next): void
{
	$path = tempnam(sys_get_temp_dir(), 'walk');
	file_put_contents($path, "<?php\n\nunlink(\$path);\n\$next();\n");
	include $path;
}

$next = __NAMESPACE__ . '\report';
foreach (['in_generator', 'in_delegation', 'in_common_generator', 'in_iterator', 'in_magic', 'in_string', 'in_catch', 'in_eval', 'in_file',
	'long_name_of_more_characters_than_are_copied_of_any_name_which_is_why_only_its_beginning_is_shown_with_a_mark_behind_it',
	] as $name) {
	$next = function () use ($name, $next) {
		(__NAMESPACE__ . '\\' . $name)($next);
	};
}
if (($argv[1] ?? '') === 'fiber') {
	$next = function () use ($next) {
		(new \Fiber($next))->start();
	};
}
$next = fn() => (new Round)->größe(20, $next);
$next = fn() => (new class {
	public function of_anonymous_class(callable $next): void
	{
		usort($this->pair, fn($a, $b) => $next() ?? 0);
	}
	private $pair = [2, 1];
})->of_anonymous_class($next);
Shape::of_class($next);
