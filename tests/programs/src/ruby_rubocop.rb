# Inspects the files of a library again and again.
require "rubocop"

loop { RuboCop::CLI.new.run(["--cache", "false", "--out", "/dev/null", File.dirname(Gem.loaded_specs["rubocop-ast"].full_require_paths[0])]) }
