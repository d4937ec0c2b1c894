<?php
spin(150000000);

class Page
{
	public function render()
	{
		array_map('spin', [150000000]);
	}
}
