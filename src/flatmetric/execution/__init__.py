"""Where tasks run: threads, processes or a Dask cluster, and how they report progress."""
