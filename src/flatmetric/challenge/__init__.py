"""A challenge: submissions, scores that are kept, programs that are run, and the leaderboard."""
