"""The score of a result: what each frame adds, the metrics, and where they come from."""
