"""A challenge on the web: teams upload, a queue scores, everybody sees ranks. Needs the extra `server`."""
