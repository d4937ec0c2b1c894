# Inspects the files of a library again and again.
require "rubocop"

directory = File.dirname(Object.const_source_location("RuboCop::AST::Node")[0])
loop { RuboCop::CLI.new.run(["--cache", "false", "--out", "/dev/null", directory]) }
