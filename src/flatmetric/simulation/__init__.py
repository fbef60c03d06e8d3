"""Image stacks with known truth: structures, blinking, optics and camera, each a small function."""
