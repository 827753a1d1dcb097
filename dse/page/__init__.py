"""A page on which a study is explored: its equations in JavaScript, in one file, offline."""
