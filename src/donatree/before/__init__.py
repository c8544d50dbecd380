"""The dry run: what would break if a function donated, told before the keyword is added."""
