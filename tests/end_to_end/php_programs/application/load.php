<?php
function spin($count)
{
	for ($number = 0; $number < $count; $number++) {
	}
}

spl_autoload_register(function ($class) {
	include __DIR__ . "/$class.php";
});
