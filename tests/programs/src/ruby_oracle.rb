# Required before a program: asks Ruby for its chains (ruby_oracle.c) from the moment that the file RUBY_BEGIN is there,
# for RUBY_SECONDS.
require ENV["RUBY_ORACLE_LIBRARY"]

# There Ruby takes any number for an instruction of the innermost function, and may crash.
has_bad_lines = RUBY_VERSION < "3.3" && defined?(RubyVM::YJIT) && RubyVM::YJIT.enabled?

Thread.new do
  sleep 0.2 until File.exist?(ENV["RUBY_BEGIN"])
  start_oracle(has_bad_lines ? 0 : 1)
  sleep ENV["RUBY_SECONDS"].to_f
  end_oracle
end
