"""Reply text to answer letter: one pure function a named rule."""
