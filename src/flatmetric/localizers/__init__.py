"""Programs that find molecules in images: a baseline of our own, and adapters to other packages."""
