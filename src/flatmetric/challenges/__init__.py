"""A challenge: submissions, stored scores, program runs, and the leaderboard."""
