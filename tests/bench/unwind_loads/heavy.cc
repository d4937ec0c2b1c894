// SPDX-License-Identifier: GPL-2.0-or-later
// Some seconds of work for a compiler.
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <string>

int main(int argc, char **argv)
{
	std::regex pattern("(a+)(b|c)*");
	std::map<std::string, std::function<int(int)>> table;
	std::smatch match;
	std::string text = argc > 1 ? argv[1] : "aab";

	table["one"] = [](int n) { return n + 1; };
	std::cout << std::regex_match(text, match, pattern) << table["one"](1) << "\n";
}
